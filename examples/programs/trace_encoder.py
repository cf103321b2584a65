#!/usr/bin/env python3
"""Writes the trace of a torch.nn.TransformerEncoder, as run_encoder --trace writes ours.

    trace_encoder.py --weights encoder.safetensors --heads 8 --input x.npy --trace theirs.txt

The options are run_encoder's. Needs PyTorch (1.13 or newer) and NumPy. Most steps are taken by
forward hooks of the modules. PyTorch computes attention in one function, so the steps inside are
computed here by their formulas:

    layers.0.self_attn.q, k, v     queries, keys and values, the heads side by side
    layers.0.self_attn.score_bias  zeros, to which a hook of Tessera can add
    layers.0.self_attn.weights     softmax(Q K^T / sqrt(d) + mask)
    layers.0.self_attn.heads       what the output projection reads: the heads side by side
    layers.0.sum1, sum2            the input of a branch and its output
The encoder is in training mode with a dropout of 0: otherwise a fast path takes its place, which
calls no hook.
"""

import argparse
import json
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FIRST_VALUES = 8
DTYPES = {"F32": np.float32, "F64": np.float64}


def load_safetensors(file, prefix):
    """The tensors whose names begin with `prefix`, under the rest of their names."""
    with open(file, "rb") as stream:
        header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
        data = stream.read()
    state = {}
    for name, entry in header.items():
        if name == "__metadata__" or not name.startswith(prefix):
            continue
        begin, end = entry["data_offsets"]
        values = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        state[name[len(prefix):]] = torch.from_numpy(values.copy())
    return state


def make_encoder(state, heads, activation="relu", norm_first=False, eps=1e-5, final_eps=None):
    """The encoder with these weights, whose sizes follow from them."""
    width = state["layers.0.self_attn.in_proj_weight"].shape[1]
    layer = nn.TransformerEncoderLayer(
        width, heads, state["layers.0.linear1.weight"].shape[0], dropout=0.0, activation=activation,
        layer_norm_eps=eps, batch_first=True, norm_first=norm_first)
    norm = nn.LayerNorm(width, eps=final_eps or eps) if "norm.weight" in state else None
    count = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    encoder = nn.TransformerEncoder(layer, count, norm)
    encoder.load_state_dict(state)
    return encoder.train()


def attention_steps(qkv, heads, mask):
    """The names and tensors of the steps from qkv (B, T, 3 D) to the heads side by side."""
    batch, tokens, width = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
    projected = qkv.split(width, dim=2)
    q, k, v = (part.reshape(batch, tokens, heads, width // heads).transpose(1, 2)
               for part in projected)
    bias = torch.zeros(batch, heads, tokens, tokens, dtype=qkv.dtype)
    scores = q @ k.transpose(2, 3) / math.sqrt(width // heads)
    weights = (scores if mask is None else scores + mask).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(batch, tokens, width)
    return [*zip("qkv", projected), ("score_bias", bias), ("weights", weights), ("heads", joined)]


def added_mask(attn_mask, padding, x, heads):
    """Both masks as numbers that are added to scores (B, H, T, T)."""
    def numbers(mask):
        return mask.to(x.dtype).masked_fill(mask, -math.inf) if mask.dtype == torch.bool else mask
    total = None
    if attn_mask is not None:
        total = numbers(attn_mask)
        if total.dim() == 3:
            total = total.reshape(-1, heads, *total.shape[1:])
    if padding is not None:
        keys = numbers(padding)[:, None, None, :]
        total = keys if total is None else total + keys
    return total


def trace(encoder, x, mask=None, padding=None):
    """The steps of encoder(x): a list of names and tensors, in the order of Tessera's trace."""
    steps = [("input", x)]

    def keep(name):
        return lambda module, inputs, output: steps.append((name, output))

    def watch(layer, path):
        branch = {}  # the inputs of the two residual branches

        def add_residual(name, total, key):
            def hook(module, inputs, output):
                output = output[0] if isinstance(output, tuple) else output
                steps.append((path + name, output))
                steps.append((path + total, branch[key] + output))
            return hook

        def see_attention(module, inputs):
            qkv = F.linear(inputs[0], module.in_proj_weight, module.in_proj_bias)
            added = added_mask(mask, padding, x, module.num_heads)
            for name, step in attention_steps(qkv, module.num_heads, added):
                steps.append((path + "self_attn." + name, step))

        layer.register_forward_pre_hook(lambda module, inputs: branch.update(attend=inputs[0]))
        layer.self_attn.register_forward_pre_hook(see_attention)
        layer.self_attn.register_forward_hook(add_residual("self_attn", "sum1", "attend"))
        # The feed-forward branch begins behind the first sum: norm1's output, or norm2's input.
        begins = (layer.norm2.register_forward_pre_hook if layer.norm_first else
                  layer.linear1.register_forward_pre_hook)
        begins(lambda module, inputs: branch.update(feed=inputs[0]))
        layer.norm1.register_forward_hook(keep(path + "norm1"))
        layer.dropout.register_forward_hook(keep(path + "feed_forward.activation"))
        layer.linear2.register_forward_hook(add_residual("feed_forward", "sum2", "feed"))
        layer.norm2.register_forward_hook(keep(path + "norm2"))
        layer.register_forward_hook(keep(path[:-1]))

    for number, layer in enumerate(encoder.layers):
        watch(layer, f"layers.{number}.")
    if encoder.norm is not None:
        encoder.norm.register_forward_hook(keep("norm"))
    with torch.no_grad():
        output = encoder(x, mask=mask, src_key_padding_mask=padding)
    return [*steps, ("output", output)]


def write(file, steps):
    """A line a step: name, shape, mean and deviation in double, first values."""
    rows = [("# name", "shape", "mean", "deviation", "first values")]
    for name, tensor in steps:
        values = tensor.detach().contiguous().numpy().reshape(-1)
        wide = values.astype(np.float64)
        rows.append((name, "x".join(str(size) for size in tensor.shape), repr(float(wide.mean())),
                     repr(float(wide.std())), " ".join(str(v) for v in values[:FIRST_VALUES])))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    with open(file, "w", encoding="ascii") as stream:
        for row in rows:
            stream.write("".join(row[i].ljust(widths[i] + 2) for i in range(4)) + row[4] + "\n")


def read_mask(file, dtype):
    if file is None:
        return None
    mask = torch.from_numpy(np.load(file))
    return mask if mask.dtype == torch.bool else mask.to(dtype)


def main():
    parser = argparse.ArgumentParser(description="Traces a torch.nn.TransformerEncoder.")
    add = parser.add_argument  # the options of run_encoder
    add("--weights", required=True, help="state dict, .safetensors")
    add("--input", required=True, help="input x, .npy")
    add("--trace", required=True, help="output file for mean, deviation and values of each step")
    add("--heads", type=int, required=True, help="attention heads")
    add("--prefix", default="", help="prefix of the tensors' names, such as 'encoder.'")
    add("--activation", default="relu", choices=("relu", "gelu", "gelu_tanh"),
        help="activation of the feed-forward networks; relu if absent")
    add("--norm-first", action="store_true", help="norms before attention and feed-forward networks")
    add("--eps", type=float, default=1e-5, help="eps of the norms; 1e-5 if absent")
    add("--final-eps", type=float, help="eps of the final norm; --eps if absent")
    add("--key-padding-mask", help="mask (B, T), .npy: True = padding; floats are added")
    add("--attn-mask", help="mask (T, T) or (B H, T, T), .npy: True = ignore; floats are added")
    add("--causal", action="store_true", help="causal mask")
    o = parser.parse_args()

    x = torch.from_numpy(np.load(o.input))
    x = x if x.dim() == 3 else x[None]
    activation = o.activation
    if activation == "gelu_tanh":
        activation = lambda values: F.gelu(values, approximate="tanh")
    encoder = make_encoder(load_safetensors(o.weights, o.prefix), o.heads, activation, o.norm_first,
                           o.eps, o.final_eps).to(x.dtype)
    mask = read_mask(o.attn_mask, x.dtype)
    if o.causal:
        later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        mask = later if mask is None else mask | later
    padding = read_mask(o.key_padding_mask, x.dtype)
    if padding is not None and padding.dim() == 1:
        padding = padding[None]
    steps = trace(encoder, x, mask, padding)
    write(o.trace, steps)
    print(f"{o.trace}: {len(steps)} steps")


if __name__ == "__main__":
    main()
