"""What the families share: layers of a transformer for one text, in plain torch.

Weights are a dictionary w of tensors by the names of the file without its prefix. x is (T, H): no
batch and no padding, so no mask is needed to leave padding out.
"""

import math

import torch
from torch.nn import functional as F


def linear(w, name, x):
    y = x @ w[f"{name}.weight"].T
    return y + w[f"{name}.bias"] if f"{name}.bias" in w else y


def norm(w, name, x, eps):
    centred = x - x.mean(-1, keepdim=True)
    y = centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + eps) * w[f"{name}.weight"]
    return y + w[f"{name}.bias"] if f"{name}.bias" in w else y


def rms_norm(w, name, x, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * w[f"{name}.weight"]


def gelu(x):
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def gelu_new(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


ACTIVATIONS = {"gelu": gelu, "gelu_new": gelu_new, "relu": torch.relu, "silu": F.silu,
               "tanh": torch.tanh}


def split_heads(x, heads):
    """(T, H) -> (heads, T, dh)"""
    return x.reshape(x.shape[0], heads, -1).transpose(0, 1)


def attention(q, k, v, heads, bias=None, hidden=None):
    """softmax(q k^T / sqrt(dh) + bias) v of (T, H); `hidden` is true where i must not see j."""
    q, k, v = (part if part.dim() == 3 else split_heads(part, heads) for part in (q, k, v))
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    mixed = torch.softmax(scores, -1) @ v
    return mixed.transpose(0, 1).reshape(mixed.shape[1], -1)


def frequencies(theta, width):
    """f[k] = theta^(-2k/dh), in float32."""
    exponents = torch.arange(0, width, 2, dtype=torch.float32) / width
    return 1 / torch.tensor(theta, dtype=torch.float32) ** exponents


def rotate(x, f):
    """Rotary positions 0, 1, ... of (heads, T, dh), pairs (k, k + dh/2); angles are float32."""
    angles = (torch.arange(x.shape[1], dtype=torch.float32)[:, None] * f).to(x.dtype)
    c, s = torch.cos(angles), torch.sin(angles)
    first, second = x.chunk(2, -1)
    return torch.cat([first * c - second * s, second * c + first * s], -1)


def running_positions(ids, pad):
    """RoBERTa's: pad + the number of tokens so far that are no padding; pad itself for padding."""
    real = (ids != pad).long()
    return torch.cumsum(real, 0) * real + pad


def bucket(r):
    """MPNet's bucket of the distance r = j - i."""
    n = abs(r)
    if n >= 8:
        n = min(15, 8 + int(8 * math.log(n / 8) / math.log(16)))
    return n + (16 if r > 0 else 0)


assert [bucket(r) for r in (0, -1, -8, -16, -50, -90, -128, -500)] == [0, 1, 8, 10, 13, 14, 15, 15]
assert [bucket(r) for r in (1, 8, 50, 128)] == [17, 24, 29, 31]


def check_rotation():
    x = torch.arange(1, 9, dtype=torch.float64).expand(1, 5001, 8)
    for theta, p, wanted in ((160000, 3, [-1.69559252, 1.08091331, 2.94741607, 3.99699974,
                                          -4.80884266, 6.23150301, 7.02230263, 8.00149918]),
                             (10000, 3, [-1.69559252, 0.137551665, 2.78868151, 3.97598219,
                                         -4.80884266, 6.32305956, 7.08683681, 8.01196384]),
                             (160000, 5000, [5.09450054, 6.30514431, 3.45764804, -1.43692565,
                                             -0.214624405, -0.495126247, 6.78562212, 8.82809353])):
        found = rotate(x, frequencies(theta, 8))[0, p]
        assert (found - torch.tensor(wanted, dtype=torch.float64)).abs().max() < 2e-6, (theta, p)


check_rotation()
