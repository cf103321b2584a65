#!/usr/bin/python3
"""Writes the golden files of the layers of today's encoders, which PyTorch 1.13 has no modules for.

    /usr/bin/python3 tests/golden/make_modern.py [folder]

Each function below is the definition in plain torch, and writes one file. As in make_golden.py,
values are drawn by NumPy's RandomState and rounded to float32; PyTorch runs in float64 on them.
"""

import pathlib
import sys
import zlib

import numpy as np
import torch
from torch.nn import functional as F


def random_state(name):
    """A generator of its own for each file, so that one more case changes no other."""
    return np.random.RandomState(zlib.crc32(name.encode()))


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def with_gradients(entries, case, function, **operands):
    """Adds the operands, the output, and the gradients of sum(output * dy)."""
    given = {key: torch.from_numpy(np.asarray(value, np.float32)).double().requires_grad_()
             for key, value in operands.items()}
    output = function(*given.values())
    dy = torch.from_numpy(np.linspace(0.5, 1.5, output.numel()).astype(np.float32))
    dy = dy.double().reshape(output.shape)
    (output * dy).sum().backward()
    for key, value in given.items():
        entries[f"{case}.{key}"] = value.detach().numpy()
        entries[f"{case}.d{key}"] = value.grad.numpy()
    entries[f"{case}.dy"] = dy.numpy()
    entries[f"{case}.output"] = output.detach().numpy()


def rms_norm(name):
    rng = random_state(name)
    entries = {}

    def rms(x, weight, eps, axes):
        return x * torch.rsqrt(x.square().mean(axes, keepdim=True) + eps) * weight

    x = 3 * normal(rng, 4, 5, 9) + np.float32(2)
    weight = 1 + 0.25 * normal(rng, 9)
    with_gradients(entries, "plain", lambda x: rms(x, 1, 1e-6, -1), input=x)
    with_gradients(entries, "weight", lambda x, w: rms(x, w, 1e-6, -1), input=x, weight=weight)
    with_gradients(entries, "eps", lambda x, w: rms(x, w, 1e-3, -1), input=0.01 * x, weight=weight)
    with_gradients(entries, "two_axes", lambda x, w: rms(x, w, 1e-6, (-2, -1)), input=x,
                   weight=1 + 0.25 * normal(rng, 5, 9))
    return entries


def gated(name):
    """activation(u) g of [u | g] = x W^T + b, and the whole feed-forward network around it."""
    rng = random_state(name)
    entries = {}
    activations = {"bilinear": lambda u: u, "reglu": F.relu, "geglu": F.gelu,
                   "geglu_tanh": lambda u: F.gelu(u, approximate="tanh"), "swiglu": F.silu}
    x, weight, bias = normal(rng, 3, 5, 8), normal(rng, 42, 8) / 2, normal(rng, 42)
    second, offset = normal(rng, 8, 21) / 4, normal(rng, 8)

    def gate(activation, x, weight, bias=None):
        u, g = F.linear(x, weight, bias).chunk(2, -1)
        return activation(u) * g

    for short, activation in activations.items():
        with_gradients(entries, short, lambda *given, a=activation: gate(a, *given), input=x,
                       weight=weight, bias=bias)
    with_gradients(entries, "swiglu_no_bias", lambda *given: gate(F.silu, *given), input=x,
                   weight=weight)
    for short in ("geglu", "swiglu"):
        with_gradients(
            entries, f"network_{short}", lambda x, w1, b1, w2, b2, a=activations[short]: F.linear(
                gate(a, x, w1, b1), w2, b2),
            input=x, weight1=weight, bias1=bias, weight2=second, bias2=offset)
    return entries


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.set_num_threads(1)
    for make in (rms_norm, gated):
        path = folder / f"{make.__name__}.npz"
        entries = make(make.__name__)
        np.savez(path, **{key: np.asarray(value, order="C") for key, value in entries.items()})
        print(f"{path.name:52}{path.stat().st_size:>8} bytes")


if __name__ == "__main__":
    main()
