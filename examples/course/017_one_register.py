"""Shows the register that each multiply-add of a product's register tile writes.

    gdb -q -batch -x examples/course/017_one_register.py build/release/examples/017_one_register

Runs inside gdb and needs no debug information: it finds the tile by its symbol, and the multiply-adds by
their names in the disassembly. TESSERA_ISA=avx2 or baseline, set before, chooses narrower registers.
"""
import re

import gdb

# Three rows of doubles, one vector of columns; two vectors if a register has two doubles.
TILES = r"compute_tile<double, 3, [12], .*MatrixRef<double>"
# A fused multiply-add; without one, the addition after the multiplication.
MULTIPLY_ADD = re.compile(r"v?f(?:n?madd\d+|mla)|addpd")
REGISTER = re.compile(r"\b([xyz]mm\d+|v\d+)\b")
VIEWS = {"z": "v8_double", "y": "v4_double", "x": "v2_double"}


def written(operands):
    """The register that an instruction writes: the last operand in AT&T's order, the first on Arm."""
    names = REGISTER.findall(operands)
    return names[0] if names[0][0] == "v" else names[-1]


def lanes(register):
    value = gdb.parse_and_eval("$" + register)
    doubles = value[VIEWS[register[0]]] if register[0] in VIEWS else value["d"]["f"]
    first, last = doubles.type.range()
    return " ".join("%g" % float(doubles[i]) for i in range(first, last + 1))


class Stop(gdb.Breakpoint):
    """A breakpoint that prints what the multiply-add before it wrote, and goes on."""

    running = None  # the multiply-add that the processor has just begun

    def __init__(self, address, text, is_multiply_add):
        super().__init__("*" + address, internal=True)
        self.text = text if is_multiply_add else None

    def stop(self):
        if Stop.running is not None:
            register = written(Stop.running)
            print("%-44s %s = %s" % (Stop.running, register, lanes(register)))
        Stop.running = self.text
        return False


def run():
    for setting in ("pagination off", "confirm off", "print frame-arguments none"):
        gdb.execute("set " + setting)
    if "i386" in gdb.selected_inferior().architecture().name():
        gdb.execute("set disassembly-flavor att")
    gdb.execute("rbreak " + TILES, to_string=True)
    gdb.execute("run")  # up to the tile
    if gdb.selected_inferior().pid == 0:
        raise gdb.GdbError("017_one_register.py: the program must call a tile, got its end")
    lines = re.findall(r"(0x[0-9a-f]+) <\+\d+>:\t(.*)", gdb.execute("disassemble", to_string=True))
    after = False
    for address, text in lines:
        is_multiply_add = MULTIPLY_ADD.match(text) is not None
        if is_multiply_add or after:
            Stop(address, re.sub(r"\s+", " ", text), is_multiply_add)
        after = is_multiply_add
    gdb.execute("continue")


run()
