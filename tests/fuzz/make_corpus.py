#!/usr/bin/env python3
"""Writes the seeds of fuzz targets: small files in the formats of tensors, and random bytes for the target api.

    python3 tests/fuzz/make_corpus.py    # seed_* in corpus/{api,npy,npz,safetensors,checkpoint}.tar
"""
import collections
import json
import random
import struct
import zlib

from corpus import save_seeds

SEEDS = collections.defaultdict(dict)


def write(target, name, data):
    SEEDS[target][name] = data


def npy(descr, shape, data, fortran=False, version=1):
    text = str({"descr": descr, "fortran_order": fortran, "shape": tuple(shape)}).encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def archive(members, zip64=False, method=0):
    data, listing = b"", b""
    for name, content in members:
        name = name.encode()
        sums = struct.pack("<IIIH", zlib.crc32(content), len(content), len(content), len(name))
        head = struct.pack("<HHHHH", 45, 0, method, 0, 0) + sums
        offset = len(data)
        data += b"PK\3\4" + head + struct.pack("<H", 0) + name + content
        extra = b""
        if zip64:
            full = struct.pack("<IIH", 0xFFFFFFFF, 0xFFFFFFFF, len(name))
            head = head[:14] + full
            extra = struct.pack("<HHQQQ", 1, 24, len(content), len(content), offset)
            offset = 0xFFFFFFFF
        listing += b"PK\1\2" + struct.pack("<H", 45) + head
        listing += struct.pack("<HHHHII", len(extra), 0, 0, 0, 0, offset) + name + extra
    count, start, size = len(members), len(data), len(listing)
    data += listing
    if zip64:
        end64 = len(data)
        data += b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, size, start)
        data += b"PK\6\7" + struct.pack("<IQI", 0, end64, 1)
        count, start, size = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF
    return data + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, count, count, size, start, 0)


def safetensors(tensors, metadata=None, pad=8):
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % pad)
    return struct.pack("<Q", len(text)) + text + data


floats = struct.pack("<6f", *range(6))
write("npy", "f4", npy("<f4", (2, 3), floats))
write("npy", "fortran", npy(">f4", (2, 3), floats, fortran=True, version=2))
write("npy", "scalar", npy("<f8", (), struct.pack("<d", 0.5), version=3))
write("npy", "empty", npy("<i8", (3, 0, 2), b""))
for code, size in [("|b1", 1), ("|i1", 1), ("|u1", 1), ("<f2", 2), ("<i2", 2), (">u2", 2),
                   ("<i4", 4), ("<u4", 4), (">i8", 8)]:
    write("npy", code[1:], npy(code, (4,), bytes(range(4 * size))))

members = [("w.npy", npy("<f4", (2, 3), floats)), ("layer/b.npy", npy("|i1", (2,), b"\1\2"))]
write("npz", "two", archive(members))
write("npz", "zip64", archive(members, zip64=True))
write("npz", "none", archive([]))
write("npz", "deflated", archive(members[:1], method=8))
write("npz", "twice", archive(members[:1] * 2))

kinds = {"I64": 8, "F64": 8, "F32": 4, "U32": 4, "I32": 4, "BF16": 2, "F16": 2, "U16": 2, "I16": 2,
         "I8": 1, "U8": 1, "BOOL": 1}
write("safetensors", "kinds", safetensors(
    {kind: (kind, [3], bytes(range(3 * size))) for kind, size in kinds.items()}))
write("safetensors", "shapes", safetensors(
    {"scalar": ("F32", [], floats[:4]), "none": ("F32", [2, 0], b""), "w": ("F32", [1, 2, 3], floats)},
    {"format": "pt", "text": "caf\u00e9 \"quoted\" \\ \n"}))
write("safetensors", "unaligned", safetensors(
    {"a": ("U8", [1], b"\1"), "b": ("F32", [2], floats[:8])}, pad=1))
write("safetensors", "empty", safetensors({}))

weights = {"weight": ("F32", [3, 2], floats), "bias": ("F32", [3], floats[:12])}
tensors = {}
for group in ("model.", "average.", "stopping."):
    tensors.update({group + name: value for name, value in weights.items()})
for kept in (".exp_avg", ".exp_avg_sq"):
    tensors.update({"optimizer." + name + kept: value for name, value in weights.items()})
optimizer = {"decoupled": "1", "beta1": "0.9", "beta2": "0.999", "eps": "1e-08", "weight.step": "3", "bias.step": "3",
             "group.0.lr": "0.001", "group.0.initial_lr": "0.001", "group.0.weight_decay": "0.01"}
values = {"tessera.checkpoint": "1", "format": "pt", "step": "3", "schedule.step": "3",
          "random.seed": "18446744073709551615", "random.stream": "7", "random.position": "-1",
          "average.updates": "3", "stopping.step": "2", "stopping.score": "nan",
          "stopping.in_vain": "1"}
values.update({"optimizer." + name: value for name, value in optimizer.items()})
write("checkpoint", "run", safetensors(tensors, values))
write("checkpoint", "none", safetensors({}, {"tessera.checkpoint": "1"}))
write("checkpoint", "version", safetensors({}, {"tessera.checkpoint": "2"}))

for seed in range(24):  # programs of random calls
    write("api", f"random_{seed:02}", random.Random(seed).randbytes(250))

for target, seeds in SEEDS.items():
    save_seeds(target, seeds)
