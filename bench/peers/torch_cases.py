"""PyTorch on our cases: the JSON of tessera_bench, by "torch".

    tessera_bench encoder train --json ours.json
    python3 bench/peers/torch_cases.py --like ours.json --json torch.json
    tessera_bench_report ours.json torch.json --readme bench/README.md
"""
import argparse
import json
import math
import os
import statistics
import sys
import time
import warnings

try:
    import torch
except ImportError:
    print("skipped: PyTorch not found; needs a python3 with torch", file=sys.stderr)
    sys.exit(0)

F = torch.nn.functional


def attention(s):
    q, k, v = (torch.rand(s["B"], s["T"], s["H"], s["d"]).mul(2).sub(1).transpose(1, 2) for _ in range(3))
    if hasattr(F, "scaled_dot_product_attention"):
        return lambda: F.scaled_dot_product_attention(q, k, v)
    return lambda: torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(s["d"]), -1) @ v


def linear(s):
    x, layer = torch.randn(s["M"], s["K"]), torch.nn.Linear(s["K"], s["N"])
    return (lambda: F.gelu(layer(x))) if s["gelu"] else (lambda: layer(x))


def softmax(s):
    x = torch.randn(s["rows"], s["cols"])
    return lambda: torch.softmax(x, -1)


def layer_norm(s):
    x, norm = torch.randn(s["rows"], s["cols"]), torch.nn.LayerNorm(s["cols"])
    return lambda: norm(x)


def stack(s, dropout):
    layer = torch.nn.TransformerEncoderLayer(s["D"], s["H"], s["F"], dropout, "gelu", batch_first=True)
    return torch.nn.TransformerEncoder(layer, s["L"]), torch.randn(s["B"], s["T"], s["D"])


def encoder(s):
    model, x = stack(s, 0.0)
    model.eval()
    return lambda: model(x)


def step(s, dropout):
    """Gradients to zero, forward, the mean of squares, backward, and a step of AdamW; the loss."""
    model, x = stack(s, dropout)
    optimizer = torch.optim.AdamW(model.parameters())

    def run():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return run


ENCODER = (["L", "D", "H", "F", "T"], {"B": 1})
ROWS = (["rows", "cols"], {})
# By kind: the sizes that a name must have, those that it may have, what makes the call, its result's shape.
KINDS = {
    "attention": (["T", "d"], {"B": 1, "H": 1}, attention, ("B", "H", "T", "d")),
    "linear": (["M", "K", "N"], {"gelu": 0}, linear, ("M", "N")),
    "softmax": (*ROWS, softmax, ("rows", "cols")),
    "layer_norm": (*ROWS, layer_norm, ("rows", "cols")),
    "encoder": (*ENCODER, encoder, ("B", "T", "D")),
    "train": (*ENCODER, lambda s: step(s, 0.0), ()),
    "dropout": (*ENCODER, lambda s: step(s, 0.1), ()),
}


def parse(name):
    """The kind and the sizes that a name has; nothing where PyTorch has no such case here."""
    kind, *parts = name.split("/")
    must, may = KINDS[kind][:2] if kind in KINDS else ([], {})
    given = dict(part.partition(":")[::2] for part in parts)
    if kind not in KINDS or not set(must) <= set(given) <= {*must, *may} or len(given) < len(parts):
        return None
    if not all(text.isascii() and text.isdigit() and int(text) >= (key != "gelu") for key, text in given.items()):
        return None
    return kind, {**may, **{key: int(text) for key, text in given.items()}}


def summary(calls):
    """What the times of all calls say, as tessera_bench says it."""
    median = statistics.median(calls)
    low, _, high = statistics.quantiles(calls, n=4, method="inclusive")
    return {"calls": len(calls), "best_s": min(calls), "median_s": median, "spread": (high - low) / median,
            "noisy": median > 1.1 * min(calls)}


def wrong(result, shape):
    """Why a result cannot be right; nothing where it has its shape and finite numbers."""
    if tuple(result.shape) != shape:
        return f"the shape of the result must be {shape}, got {tuple(result.shape)}"
    return None if torch.isfinite(result).all() else "the result must be finite, got NaN or infinities"


def measure(kind, sizes, seconds):
    make, shape = KINDS[kind][2:]
    with torch.set_grad_enabled(kind in ("train", "dropout")):
        call = make(sizes)
        failure = wrong(call(), tuple(sizes[key] for key in shape))
        if failure:
            return {"failure": failure}
        for _ in range(2):
            call()
        calls, start = [], time.perf_counter()
        while len(calls) < 5 or time.perf_counter() - start < seconds:
            begin = time.perf_counter()
            call()
            calls.append(time.perf_counter() - begin)
    return summary(calls)


def above_zero(kind):
    def read(text):
        value = kind(text)
        if not 0 < value < math.inf:
            raise ValueError
        return value

    read.__name__ = "number above 0"
    return read


def options():
    parser = argparse.ArgumentParser(description='PyTorch on our cases, as JSON by "torch".')
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases, such as train/L:2/D:128/H:2/F:512/B:8/T:128")
    parser.add_argument("--like", help="results of tessera_bench, whose cases are run if they are supported here")
    parser.add_argument("--json", help="output file; standard output if absent")
    parser.add_argument("--threads", type=above_zero(int), help="threads; those of --like if absent, or one per processor")
    parser.add_argument("--seconds", type=above_zero(float), default=0.4, help="seconds of measurement per case; 0.4 if absent")
    found = parser.parse_args()
    if not found.names and not found.like:
        parser.error("NAME or --like must be given, got neither")
    for name in found.names:
        if parse(name) is None:
            parser.error(f"NAME must be a case of {', '.join(KINDS)} without masks, in float32, got '{name}'")
    found.ours = {"machine": {}, "cases": []}
    if found.like:
        try:
            with open(found.like, encoding="utf-8") as file:
                found.ours = json.load(file)
        except (OSError, ValueError) as error:
            parser.error(f"{found.like}: {error}")
    return found


def main():
    warnings.filterwarnings("ignore")
    o = options()
    threads = o.threads or o.ours["machine"].get("threads") or os.cpu_count()
    torch.set_num_threads(threads)
    cases = [{"name": name} for name in o.names]
    cases += [c for c in o.ours["cases"] if c.get("by") == "tessera" and "failure" not in c and parse(c["name"])]
    done = []
    for case in cases:
        costs = {key: case[key] for key in ("flops", "bytes", "intensity") if key in case}
        times = measure(*parse(case["name"]), o.seconds)
        done.append({"name": case["name"], "by": "torch", "threads": threads, "dtype": "float32", **costs, **times})
        print(case["name"], times.get("failure") or f"{1e3 * times['best_s']:.4g} ms", file=sys.stderr, flush=True)
    rows = ",\n".join(json.dumps(row, allow_nan=False) for row in done)
    text = f'{{"machine":{{"torch":{json.dumps(torch.__version__)}}},"cases":[\n{rows}\n],"bandwidth":[]}}\n'
    if o.json:
        with open(o.json + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(o.json + ".new", o.json)
    else:
        sys.stdout.write(text)
    return 2 if any("failure" in row for row in done) else 0


sys.exit(main())
