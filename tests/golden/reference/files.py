"""Writes safetensors, and the texts of a folder."""

import json
import pathlib
import struct

import numpy as np
import torch

NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}


def raw(tensor):
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    return np.ascontiguousarray(tensor.numpy()).tobytes()


def write_safetensors(path, tensors):
    header, blocks, offset = {"__metadata__": {"format": "pt"}}, [], 0
    for name, tensor in tensors.items():
        block = raw(tensor)
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(block)]}
        blocks.append(block)
        offset += len(block)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def write_shards(folder, tensors, count):
    """model-0000i-of-0000n.safetensors and their index; neighbours lie in different shards."""
    names, weight_map = list(tensors), {}
    for shard in range(count):
        file = f"model-{shard + 1:05}-of-{count:05}.safetensors"
        chosen = names[shard::count]
        write_safetensors(folder / file, {name: tensors[name] for name in chosen})
        weight_map.update({name: file for name in chosen})
    total = sum(len(raw(tensor)) for tensor in tensors.values())
    write_json(folder / "model.safetensors.index.json",
               {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))})


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_expected(folder, entries):
    """expected.npz; the same bytes each time."""
    np.savez(folder / "expected.npz", **{key: np.asarray(value, order="C")
                                         for key, value in entries.items()})


def size_of(folder):
    return sum(file.stat().st_size for file in pathlib.Path(folder).rglob("*") if file.is_file())
