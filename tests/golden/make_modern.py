#!/usr/bin/python3
"""Writes the golden files of the layers of today's encoders, which PyTorch 1.13 has no modules for.

    /usr/bin/python3 tests/golden/make_modern.py [folder]

Each function below is the definition in plain torch, and writes one file. As in make_golden.py,
values are drawn by NumPy's RandomState and rounded to float32; PyTorch runs in float64 on them.
"""

import math
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


def angles(positions, width, base):
    """(..., T, width / 2), in float32 as Hugging Face computes them.

    The powers are rounded correctly: PyTorch's own, which depend on the processor, are off by a last
    bit here and there.
    """
    exponents = (torch.arange(0, width, 2).float() / width).numpy()
    powers = np.array([np.float32(math.pow(base, float(e))) for e in exponents], dtype=np.float32)
    return torch.as_tensor(positions).float()[..., None] * (1.0 / torch.tensor(powers))


def rotate(x, positions, width, base, interleaved):
    """x (B, T, H, d): the code of ModernBERT (rotate_half) and GPT-J (rotate_every_two)."""
    a = angles(positions, width, base).to(x.dtype)
    rotated, rest = x[..., :width], x[..., width:]
    if interleaved:
        a = a.repeat_interleave(2, dim=-1)
        other = torch.stack((-rotated[..., 1::2], rotated[..., ::2]), dim=-1).flatten(-2)
    else:
        a = torch.cat((a, a), dim=-1)
        other = torch.cat((-rotated[..., width // 2:], rotated[..., :width // 2]), dim=-1)
    a = a[..., None, :]
    return torch.cat((rotated * a.cos() + other * a.sin(), rest), dim=-1)


def rotary(name):
    rng = random_state(name)
    entries = {}

    def add(case, heads, positions, **options):
        x = normal(rng, 2, np.shape(positions)[-1], *heads)
        with_gradients(entries, case, lambda x: rotate(x, positions, **options), x=x)
        for key, value in {"positions": positions, **options}.items():
            entries[f"{case}.{key}"] = np.asarray(value)

    near, far = np.arange(9), [0, 1, 511, 5000, 8191]
    add("halves", (3, 16), near, width=16, base=10000.0, interleaved=False)
    add("halves_part", (2, 20), near, width=8, base=160000.0, interleaved=False)
    add("halves_far", (1, 64), far, width=64, base=160000.0, interleaved=False)
    add("interleaved", (3, 16), near, width=16, base=10000.0, interleaved=True)
    add("interleaved_part", (2, 21), near, width=6, base=1000.0, interleaved=True)
    add("interleaved_far", (1, 64), far, width=64, base=10000.0, interleaved=True)
    add("positions", (2, 8), [[0, 1, 2, 0, 1], [7, 6, 3, 3, 40]], width=8, base=10000.0,
        interleaved=False)
    return entries


def bucket(distance, bidirectional, buckets, max_distance):
    """T5's _relative_position_bucket of key - query."""
    first = torch.zeros_like(distance)
    if bidirectional:
        buckets //= 2
        first = (distance > 0).long() * buckets
        distance = distance.abs()
    else:
        distance = -torch.min(distance, torch.zeros_like(distance))
    exact = buckets // 2
    large = exact + (torch.log(distance.float() / exact) / math.log(max_distance / exact)
                     * (buckets - exact)).long()
    large = torch.min(large, torch.full_like(large, buckets - 1))
    return first + torch.where(distance < exact, distance, large)


def slopes(heads):
    """ALiBi's get_slopes."""
    if math.log2(heads).is_integer():
        start = 2 ** (-2 ** -(math.log2(heads) - 3))
        return [start * start ** i for i in range(heads)]
    power = 2 ** math.floor(math.log2(heads))
    return slopes(power) + slopes(2 * power)[0::2][:heads - power]


def relative_position(name):
    rng = random_state(name)
    entries = {}

    def distances(queries, keys):
        return torch.arange(keys)[None, :] - torch.arange(queries)[:, None]

    def bias(weight, queries, keys, bidirectional, max_distance):
        index = bucket(distances(queries, keys), bidirectional, weight.shape[0], max_distance)
        return weight[index].permute(2, 0, 1)

    def attention(q, k, v, weight):
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        return F.softmax(scores + bias(weight, q.shape[-2], k.shape[-2], True, 20), dim=-1) @ v

    line = torch.arange(-300, 301)
    for bidirectional in (True, False):
        for count, farthest in ((32, 128), (16, 64), (8, 20), (64, 256), (10, 37)):
            case = f"buckets_{int(bidirectional)}_{count}_{farthest}"
            entries[case] = bucket(line, bidirectional, count, farthest).numpy()
        with_gradients(entries, f"bias_{int(bidirectional)}",
                       lambda w, b=bidirectional: bias(w, 140, 6, b, 128), weight=normal(rng, 32, 3))
    with_gradients(entries, "attention", attention, q=normal(rng, 2, 3, 33, 8),
                   k=normal(rng, 2, 3, 40, 8), v=normal(rng, 2, 3, 40, 8), weight=normal(rng, 8, 3))
    for heads in (1, 2, 4, 5, 8, 12, 16, 20):
        entries[f"slopes_{heads}"] = np.array(slopes(heads))
    per_head = torch.tensor(slopes(6), dtype=torch.float64)[:, None, None]
    entries["alibi"] = (-per_head * distances(5, 9).abs()).numpy()
    return entries


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.set_num_threads(1)
    for make in (rms_norm, gated, rotary, relative_position):
        path = folder / f"{make.__name__}.npz"
        entries = make(make.__name__)
        np.savez(path, **{key: np.asarray(value, order="C") for key, value in entries.items()})
        print(f"{path.name:52}{path.stat().st_size:>8} bytes")


if __name__ == "__main__":
    main()
