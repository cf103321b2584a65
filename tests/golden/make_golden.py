#!/usr/bin/python3
"""Writes the golden files beside it: what PyTorch computes for seeded weights and inputs.

    /usr/bin/python3 tests/golden/make_golden.py [folder]

Values are drawn with NumPy's RandomState, rounded to float32 and stored; PyTorch then runs in
float64 on exactly those values. So float64 code must agree to rounding, and float32 code can: the
script fails if PyTorch's own float32 run is not within half of the tolerance that the tests use.
Modules run in training mode without dropout: PyTorch's inference fast path writes zeros at padded
positions and takes fewer masks.
"""

import copy
import itertools
import pathlib
import sys
import zlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FLOAT32_TOLERANCE = 1e-5
SIZE_LIMIT = 2_500_000

# d_model, nhead, dim_feedforward
WIDTHS = {36: (36, 3, 52), 32: (32, 4, 40), 12: (12, 3, 20), 8: (8, 1, 16)}

# norm, activation, mask, width, B, T
LAYER_CASES = [
    ("pre", "relu", "none", 36, 1, 128),
    ("post", "gelu", "none", 32, 3, 1),
    ("pre", "gelu", "none", 8, 2, 33),
    ("post", "relu", "padding", 36, 3, 7),
    ("pre", "gelu", "padding", 32, 3, 33),
    ("post", "relu", "holes", 8, 2, 7),
    ("pre", "gelu", "holes", 8, 2, 7),
    ("post", "relu", "causal", 32, 2, 7),
    ("pre", "gelu", "causal", 8, 2, 128),
    ("post", "gelu", "causal", 36, 1, 33),
    ("pre", "relu", "additive", 32, 1, 33),
    ("post", "gelu", "additive", 36, 2, 7),
    ("pre", "relu", "per_head", 36, 2, 7),
    ("post", "gelu", "per_head", 32, 2, 7),
    ("post", "relu", "per_head", 8, 3, 7),
    ("post", "gelu", "causal_padding", 36, 3, 7),
    ("pre", "relu", "causal_padding", 32, 3, 7),
    ("post", "relu", "causal_padding", 8, 2, 128),
    ("pre", "relu", "additive_padding", 8, 2, 33),
    ("post", "gelu", "additive_padding", 32, 3, 7),
]

# The same, for gradients: all combinations, and one of several key tiles.
GRADIENT_CASES = [(*options, 12, 2, 7) for options in itertools.product(
    ("post", "pre"), ("gelu", "relu"), ("none", "padding", "causal", "additive"))]
GRADIENT_CASES.append(("pre", "gelu", "causal_padding", 8, 2, 150))

# norm, activation, mask, width, B, T, layers, final norm
ENCODER_CASES = [
    ("post", "relu", "none", 36, 1, 33, 2, False),
    ("pre", "gelu", "none", 8, 1, 7, 2, True),
    ("pre", "relu", "padding", 32, 3, 7, 2, True),
    ("post", "gelu", "causal", 8, 2, 128, 3, True),
    ("pre", "gelu", "causal_padding", 8, 3, 33, 3, False),
]

# embed_dim, nhead, B, T_q, T_k (None: self-attention), mask, and MultiheadAttention's options
MHA_CASES = {
    "self": (36, 3, 2, 7, None, "none", {}),
    "self_per_head_weights": (12, 3, 2, 7, None, "per_head", {"average": False}),
    "self_causal_padding": (8, 1, 3, 33, None, "causal_padding", {"average": False}),
    "self_no_weights": (8, 1, 2, 33, None, "causal", {"need_weights": False}),
    "self_no_bias": (32, 4, 2, 7, None, "causal", {"bias": False}),
    "self_batch_second": (8, 1, 3, 7, None, "padding", {"batch_first": False}),
    "cross": (12, 3, 3, 7, 33, "padding", {"average": False}),
    "cross_widths": (12, 3, 2, 5, 9, "additive", {"kdim": 7, "vdim": 10}),
    "cross_widths_no_bias": (8, 1, 2, 9, 4, "holes", {"kdim": 5, "vdim": 11, "bias": False}),
}


def random_state(name):
    """A generator of its own for each file, so that one more case changes no other."""
    return np.random.RandomState(zlib.crc32(name.encode()))


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def randomise(module, rng):
    """Gives every parameter values that differ from its default; returns the float32 state dict."""
    state = {}
    for key, value in module.state_dict().items():
        drawn = rng.standard_normal(value.shape)
        if "norm" in key and key.endswith("weight"):
            drawn = 1 + 0.25 * drawn
        elif value.dim() == 2:
            drawn = drawn / np.sqrt(value.shape[1])
        else:
            drawn = 0.25 * drawn
        state[key] = drawn.astype(np.float32)
    module.load_state_dict({key: torch.from_numpy(value) for key, value in state.items()})
    return state


def padding_mask(kind, rng, batch, tokens):
    """True where a position is no token; and the lengths, if the tokens come first."""
    if "holes" in kind:
        mask = rng.uniform(size=(batch, tokens)) < 0.4
        mask[:, tokens // 2] = False
        return mask, None
    lengths = np.linspace(tokens, max(1, tokens // 3), batch).astype(np.int64)
    return np.arange(tokens)[None, :] >= lengths[:, None], lengths


def attention_mask(kind, rng, batch, heads, queries, keys):
    if "causal" in kind:
        return np.triu(np.ones((queries, keys), bool), 1)
    shape = (batch * heads, queries, keys) if kind == "per_head" else (queries, keys)
    mask = normal(rng, *shape)
    mask[rng.uniform(size=shape) < 0.2] = -np.inf
    mask[..., 0] = rng.uniform(-1, 1, shape[:-1])  # Every row keeps a key.
    return mask


def masks(kind, rng, batch, heads, queries, keys, attention_name, padding_name):
    """The masks as PyTorch's keyword arguments, and the lengths (None without such padding)."""
    found, lengths = {}, None
    if any(word in kind for word in ("causal", "additive", "per_head")):
        found[attention_name] = attention_mask(kind, rng, batch, heads, queries, keys)
    if "padding" in kind or "holes" in kind:
        found[padding_name], lengths = padding_mask(kind, rng, batch, keys)
    return found, lengths


def tensors(arrays, dtype):
    """As tensors, the floating ones of the given type."""
    found = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return {name: t.to(dtype) if t.is_floating_point() else t for name, t in found.items()}


def run(module, inputs, **settings):
    """The module's result in float64: output, and weights if it returns them.

    Checks on the way that float32 can reach the tests' tolerance.
    """
    with torch.no_grad():
        double = copy.deepcopy(module).double()(**tensors(inputs, torch.float64), **settings)
        single = copy.deepcopy(module).float()(**tensors(inputs, torch.float32), **settings)
    if isinstance(double, torch.Tensor):
        double, single = (double, None), (single, None)
    found = {}
    for name, wide, narrow in zip(("output", "weights"), double, single):
        if wide is not None:
            assert torch.isfinite(wide).all(), "a result is not finite"
            assert (wide - narrow).abs().max() < FLOAT32_TOLERANCE / 2
            found[name] = wide.numpy()
    return found


def case(inputs, state, options, results, lengths=None):
    """The entries of one file, by name."""
    entries = {f"input.{name}": value for name, value in inputs.items()}
    if lengths is not None:
        entries["lengths"] = lengths
    entries.update({f"state.{name}": value for name, value in state.items()})
    for name, value in options.items():
        kind = np.float64 if isinstance(value, float) else np.int64
        entries[f"option.{name}"] = np.array(value, dtype=kind)
    entries.update(results)
    return entries


def make_layer(norm, activation, width, batch_first=True, eps=1e-5):
    d_model, nhead, feed_forward = WIDTHS[width]
    layer = nn.TransformerEncoderLayer(
        d_model, nhead, feed_forward, dropout=0.0, activation=activation, layer_norm_eps=eps,
        batch_first=batch_first, norm_first=norm == "pre").train()
    options = {"d_model": d_model, "nhead": nhead, "dim_feedforward": feed_forward,
               "norm_first": norm == "pre", "gelu": activation == "gelu",
               "batch_first": batch_first, "layer_norm_eps": eps}
    return layer, options


def layer_case(name, norm, activation, mask, width, batch, tokens, batch_first=True, eps=1e-5,
               scale=1.0):
    rng = random_state(name)
    layer, options = make_layer(norm, activation, width, batch_first, eps)
    state = randomise(layer, rng)
    shape = (batch, tokens) if batch_first else (tokens, batch)
    inputs = {"src": np.float32(scale) * normal(rng, *shape, width)}
    found, lengths = masks(mask, rng, batch, options["nhead"], tokens, tokens, "src_mask",
                           "src_key_padding_mask")
    inputs.update(found)
    return case(inputs, state, options, run(layer, inputs), lengths)


def gradients(module, inputs, weights, dtype):
    """The gradients of sum(output * weights) for src and each parameter."""
    module = copy.deepcopy(module).to(dtype)
    given = tensors(inputs, dtype)
    given["src"].requires_grad_()
    (module(**given) * torch.from_numpy(weights).to(dtype)).sum().backward()
    found = {"src": given["src"].grad}
    found.update({name: p.grad for name, p in module.named_parameters()})
    return found


def gradient_case(name, norm, activation, mask, width, batch, tokens):
    """A layer's case, and the gradients of a weighted sum of the positions that are no padding."""
    entries = layer_case(name, norm, activation, mask, width, batch, tokens)
    layer, _ = make_layer(norm, activation, width)
    layer.load_state_dict({key[6:]: torch.from_numpy(value) for key, value in entries.items()
                           if key.startswith("state.")})
    inputs = {key[6:]: value for key, value in entries.items() if key.startswith("input.")}
    weights = normal(random_state(name + " weights"), batch, tokens, width)
    if "src_key_padding_mask" in inputs:
        weights[inputs["src_key_padding_mask"]] = 0
    entries["loss_weights"] = weights
    double = gradients(layer, inputs, weights, torch.float64)
    single = gradients(layer, inputs, weights, torch.float32)
    for key, value in double.items():
        assert torch.isfinite(value).all() and value.abs().max() > 0, key
        strays = (single[key] - value).abs().max() / value.abs().max()
        assert strays < FLOAT32_TOLERANCE / 2, f"{name}: {key} strays by {strays}"
        entries[f"gradient.{key}"] = value.numpy()
    return entries


def encoder_case(name, norm, activation, mask, width, batch, tokens, layers, final_norm):
    rng = random_state(name)
    layer, options = make_layer(norm, activation, width)
    options.update(num_layers=layers, final_norm=final_norm)
    last = nn.LayerNorm(width) if final_norm else None
    encoder = nn.TransformerEncoder(layer, layers, last).train()
    state = randomise(encoder, rng)
    inputs = {"src": normal(rng, batch, tokens, width)}
    found, lengths = masks(mask, rng, batch, options["nhead"], tokens, tokens, "mask",
                           "src_key_padding_mask")
    inputs.update(found)
    return case(inputs, state, options, run(encoder, inputs), lengths)


def run_encoder_case(name):
    """An encoder with all that its program can be told, and the weights of each layer and head."""
    rng = random_state(name)
    batch, tokens, layers, eps = 3, 7, 2, 1e-3
    d_model, nhead, feed_forward = WIDTHS[12]
    layer = nn.TransformerEncoderLayer(
        d_model, nhead, feed_forward, dropout=0.0,
        activation=lambda x: F.gelu(x, approximate="tanh"), layer_norm_eps=eps, batch_first=True,
        norm_first=True)
    encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(d_model)).train()
    state = randomise(encoder, rng)
    inputs = {"src": normal(rng, batch, tokens, d_model)}
    inputs["mask"] = attention_mask("per_head", rng, batch, nhead, tokens, tokens)
    inputs["src_key_padding_mask"], _ = padding_mask("padding", rng, batch, tokens)
    weights = []
    for layer in encoder.layers:
        attend = layer.self_attn.forward

        def forward(*arguments, attend=attend, **named):
            named.update(need_weights=True, average_attn_weights=False)
            output, found = attend(*arguments, **named)
            weights.append(found)
            return output, found

        layer.self_attn.forward = forward
    with torch.no_grad():
        output = encoder.double()(**tensors(inputs, torch.float64))
    results = {"output": output.numpy(), "weights": torch.stack(weights).numpy()}
    options = {"d_model": d_model, "nhead": nhead, "layer_norm_eps": eps}
    return case(inputs, state, options, results)


def mha_case(name, width, heads, batch, queries, keys, mask, settings):
    rng = random_state(name)
    kdim, vdim = settings.get("kdim", width), settings.get("vdim", width)
    bias, batch_first = settings.get("bias", True), settings.get("batch_first", True)
    average, need = settings.get("average", True), settings.get("need_weights", True)
    module = nn.MultiheadAttention(width, heads, bias=bias, kdim=kdim, vdim=vdim,
                                   batch_first=batch_first).train()
    state = randomise(module, rng)

    def sequence(tokens, size):
        return normal(rng, *((batch, tokens) if batch_first else (tokens, batch)), size)

    query = sequence(queries, width)
    inputs = {"query": query, "key": query, "value": query}
    if keys is not None:
        inputs.update(key=sequence(keys, kdim), value=sequence(keys, vdim))
    found, lengths = masks(mask, rng, batch, heads, queries, keys or queries, "attn_mask",
                           "key_padding_mask")
    inputs.update(found)
    options = {"embed_dim": width, "num_heads": heads, "kdim": kdim, "vdim": vdim, "bias": bias,
               "batch_first": batch_first, "need_weights": need, "average_attn_weights": average}
    results = run(module, inputs, need_weights=need, average_attn_weights=average)
    if keys is None:
        del inputs["key"], inputs["value"]
    else:
        lengths = None
    return case(inputs, state, options, results, lengths)


def ops_case(name):
    """Operands and results of single functions, all of them float64 (operands float32 values)."""
    rng = random_state(name)
    entries = {}

    def add(op, function, **operands):
        arguments = {key: torch.from_numpy(np.array(value)) for key, value in operands.items()}
        arguments = {key: value.double() if value.is_floating_point() else value
                     for key, value in arguments.items()}
        for key, value in arguments.items():
            entries[f"{op}.{key}"] = value.numpy()
        entries[f"{op}.output"] = function(*arguments.values()).contiguous().numpy()

    add_softmax(add, rng)
    add_pointwise(add)
    add_reductions(add, rng)
    add_norms(add, rng)
    add_einsum(add, rng)
    table = normal(rng, 11, 6)
    add("embedding", lambda ids, weight: F.embedding(ids, weight, padding_idx=3),
        ids=rng.randint(0, 11, (3, 5)), weight=table)
    module = nn.Embedding(11, 6, padding_idx=3)
    with torch.no_grad():  # The module's own row 3 is zero, unlike a table that is handed in.
        module.weight[torch.arange(11) != 3] = torch.from_numpy(table[np.arange(11) != 3])
    add("embedding_padding", lambda ids: module.double()(ids).detach(),
        ids=np.array([[3, 0, 3], [10, 3, 4]]))
    return entries


def add_softmax(add, rng):
    x = 4 * normal(rng, 3, 4, 9)
    for axis in range(3):
        add(f"softmax_axis{axis}", lambda x, axis=axis: F.softmax(x, axis), input=x)
        add(f"log_softmax_axis{axis}", lambda x, axis=axis: F.log_softmax(x, axis), input=x)
        add(f"logsumexp_axis{axis}", lambda x, axis=axis: torch.logsumexp(x, axis), input=x)
    add("softmax_all", lambda x: F.softmax(x.flatten(), 0).reshape(x.shape), input=x)
    add("log_softmax_all", lambda x: F.log_softmax(x.flatten(), 0).reshape(x.shape), input=x)
    add("logsumexp_axes02", lambda x: torch.logsumexp(x, (0, 2)), input=x)
    far = 300 * normal(rng, 4, 19)
    far[:3, 5:12] = -np.inf
    far[1, :] += 1e5
    far[2, 1:] = -np.inf
    for op, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax),
                         ("logsumexp", torch.logsumexp)):
        add(f"{op}_extreme", lambda x, function=function: function(x, 1), input=far)


def add_pointwise(add):
    x = np.concatenate([np.linspace(-12, 12, 97), [-1e-3, -1e-8, 1e-8, 1e-3, -40, 40]])
    x = x.astype(np.float32)
    add("gelu", F.gelu, input=x)
    add("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), input=x)
    add("erf", torch.erf, input=x)
    add("tanh", torch.tanh, input=x)


def add_reductions(add, rng):
    x = normal(rng, 4, 3, 9)
    for axis in range(3):
        add(f"cumsum_axis{axis}", lambda x, axis=axis: torch.cumsum(x, axis), input=x)
    shifted = x + np.float32(1000)
    add("var_unbiased", lambda x: x.var(2, unbiased=True), input=shifted)
    add("var_biased", lambda x: x.var(2, unbiased=False), input=shifted)
    add("var_axes02_unbiased", lambda x: x.var((0, 2), unbiased=True), input=shifted)
    add("var_all_biased", lambda x: x.var(unbiased=False), input=shifted)
    add("norm_axis1", lambda x: torch.linalg.vector_norm(x, dim=1), input=x)
    add("norm_axes02", lambda x: torch.linalg.vector_norm(x, dim=(0, 2)), input=x)
    add("norm_all", torch.linalg.vector_norm, input=x)
    left, right = normal(rng, 4, 9), normal(rng, 4, 9)
    left[2] = 0
    for axis in (0, 1):
        add(f"cosine_similarity_axis{axis}",
            lambda a, b, axis=axis: F.cosine_similarity(a, b, axis), left=left, right=right)


def add_norms(add, rng):
    x = 3 * normal(rng, 4, 5, 9) + np.float32(2)
    x[1, 2] = 7  # A constant row: the result is the bias.
    weight, bias = 1 + 0.25 * normal(rng, 9), normal(rng, 9)
    add("layer_norm", lambda x, w, b: F.layer_norm(x, (9,), w, b), input=x, weight=weight,
        bias=bias)
    add("layer_norm_eps", lambda x, w, b: F.layer_norm(x, (9,), w, b, 1e-3), input=0.01 * x,
        weight=weight, bias=bias)
    add("layer_norm_plain", lambda x: F.layer_norm(x, (9,)), input=x)
    add("layer_norm_two_axes", lambda x, w, b: F.layer_norm(x, (5, 9), w, b), input=x,
        weight=1 + 0.25 * normal(rng, 5, 9), bias=normal(rng, 5, 9))


def add_einsum(add, rng):
    add("einsum_matmul", lambda a, b: torch.einsum("ij,jk->ik", a, b), left=normal(rng, 5, 7),
        right=normal(rng, 7, 4))
    add("einsum_scores", lambda a, b: torch.einsum("bhqd,bhkd->bhqk", a, b),
        left=normal(rng, 2, 3, 5, 6), right=normal(rng, 2, 3, 7, 6))
    add("einsum_transpose", lambda a: torch.einsum("ij->ji", a), left=normal(rng, 3, 5))
    add("einsum_diagonal", lambda a: torch.einsum("ii->i", a), left=normal(rng, 5, 5))
    add("einsum_sum", lambda a: torch.einsum("ij->", a), left=normal(rng, 3, 5))
    add("einsum_batched", lambda a, b: torch.einsum("bij,bjk->bik", a, b),
        left=normal(rng, 3, 4, 5), right=normal(rng, 3, 5, 6))
    add("einsum_outer", lambda a, b: torch.einsum("i,j->ij", a, b), left=normal(rng, 4),
        right=normal(rng, 6))


def elementwise_case(name):
    """Elementwise functions: operands (float32 values), results and gradients, all in float64.

    The gradients are those of sum(output * weights).
    """
    rng = random_state(name)
    entries = {}

    def add(op, function, **operands):
        given = {key: torch.from_numpy(np.asarray(value, np.float32)).double().requires_grad_()
                 for key, value in operands.items()}
        output = function(*given.values())
        weights = torch.from_numpy(np.linspace(0.5, 1.5, output.numel()).astype(np.float32))
        weights = weights.double().reshape(output.shape)
        (output * weights).sum().backward()
        for key, value in given.items():
            entries[f"{op}.{key}"] = value.detach().numpy()
            entries[f"{op}.d{key}"] = value.grad.numpy()
        entries[f"{op}.weights"] = weights.numpy()
        entries[f"{op}.output"] = output.detach().numpy()

    special = [0.0, -0.0, np.inf, -np.inf, np.nan]
    some = np.concatenate([np.linspace(-6, 6, 25), 3 * normal(rng, 15), special])
    angles = np.concatenate([some, [100, -1e4, 3e5, 1e10, -1e20, 3e38]])
    positive = np.concatenate([np.linspace(0.125, 6, 25), special])
    add("sin", torch.sin, input=angles)
    add("cos", torch.cos, input=angles)
    add("expm1", torch.expm1, input=some)
    add("log1p", torch.log1p, input=np.concatenate([positive, [-1, -0.75, 1e-7, -1e-7]]))
    add("rsqrt", torch.rsqrt, input=positive)
    for op in (torch.floor, torch.ceil, torch.round):
        add(op.__name__, op, input=some)
    add("sign", torch.sign, input=some[~np.isnan(some)])  # Of NaN: 0 in PyTorch, NaN in NumPy and ours.
    add("silu", F.silu, input=some[np.isfinite(some)])  # At -inf: NaN in PyTorch, 0 in ours.
    add("softplus", F.softplus, input=np.concatenate([some, [19, 21, 40]]))
    add("softplus_sharp", lambda x: F.softplus(x, 2.5, 3), input=some)
    add("leaky_relu", F.leaky_relu, input=some)
    add("leaky_relu_slope", lambda x: F.leaky_relu(x, 0.25), input=some)
    add("clamp", lambda x: torch.clamp(x, -1, 2), input=some)
    add("clamp_least", lambda x: torch.clamp(x, min=0.5), input=some)
    add("clamp_most", lambda x: torch.clamp(x, max=0.5), input=some)
    add("clamp_crossed", lambda x: torch.clamp(x, 2, -1), input=some)
    few = np.array([-1, 0, 1, np.nan, np.inf])
    add("maximum", torch.maximum, input=few[:, None], other=few)
    add("minimum", torch.minimum, input=few[:, None], other=few)
    add("pow", torch.pow, input=np.abs(normal(rng, 5, 7)) + 0.25, other=2 * normal(rng, 7))
    bases = np.array([0, 1, -1, 2, -2.5, np.inf, -np.inf, np.nan])
    exponents = np.array([0, 1, 2, 3, -1, -2, 0.5, -0.5, np.inf, -np.inf, np.nan])
    add("pow_special", torch.pow, input=np.repeat(bases, 11), other=np.tile(exponents, 8))
    return entries


def with_gradients(entries, name, function, constants=None, **operands):
    """Adds a case: operands (floating ones float64 of float32 values), then constants, each output,
    and, for the output gradient `dy`, the gradient of each floating operand."""
    rng = random_state(name)
    given = tensors({key: np.array(value) for key, value in operands.items()}, torch.float64)
    for value in given.values():
        value.requires_grad_(value.is_floating_point())
    given.update(tensors(constants or {}, torch.float64))
    found = function(*given.values())
    outputs = found if isinstance(found, dict) else {"output": found}
    for key, value in (*given.items(), *outputs.items()):
        entries[f"{name}.{key}"] = value.detach().contiguous().numpy()
    y = outputs["output"]
    if not y.requires_grad:
        return
    dy = torch.from_numpy(normal(rng, *y.shape)).double()
    y.backward(dy)
    entries[f"{name}.dy"] = dy.numpy()
    for key, value in given.items():
        if value.requires_grad:
            entries[f"{name}.d{key}"] = value.grad.contiguous().numpy()


def index_ops_case(name):
    """Ops that choose, order and move elements, with their gradients."""
    rng = random_state(name)
    entries = {}

    def add(case, function, **operands):
        with_gradients(entries, case, function, **operands)

    def ordered(function):
        def outputs(x):
            values, indices = function(x)
            return {"output": values, "indices": indices}
        return outputs

    ties = rng.randint(-3, 4, (4, 9)).astype(np.float32)
    ties[1, 3] = ties[2, 0] = ties[2, 7] = np.nan
    for word, descending in (("ascending", False), ("descending", True)):
        add(f"sort_{word}", ordered(lambda x, d=descending: torch.sort(
            x, dim=1, descending=d, stable=True)), x=ties)
        add(f"argsort_{word}_axis0",
            lambda x, d=descending: torch.sort(x.detach(), dim=0, descending=d,
                                                    stable=True)[1], x=ties)
    x = normal(rng, 3, 4, 7)
    for word, largest in (("largest", True), ("smallest", False)):
        for axis in range(3):
            add(f"topk_{word}_axis{axis}", ordered(lambda x, a=axis, most=largest: torch.topk(
                x, 2, a, most)), x=x)
    add("argmin_axis1", lambda x: torch.argmin(x.detach(), 1), x=x)
    add("argmin_all", lambda x: torch.argmin(x.detach()), x=x)
    add_scatters(add, rng)
    add_moves(add, rng)
    zeros = x.copy()
    zeros[0, 1, 2] = zeros[1, 0, 3] = zeros[1, 0, 5] = 0
    for axis in range(3):
        add(f"prod_axis{axis}", lambda x, a=axis: torch.prod(x, a), x=zeros)
    add("prod_all", torch.prod, x=zeros)
    add("outer", torch.outer, a=normal(rng, 4), b=normal(rng, 6))
    for count in (0, 1, 2, 5, 100):
        add(f"linspace_{count}", lambda n=count: torch.linspace(-0.3, 7.7, n, dtype=torch.float64))
    for diagonal in (-2, 0, 1):
        add(f"tril_{diagonal}", lambda x, d=diagonal: torch.tril(x, d), x=x)
        add(f"triu_{diagonal}", lambda x, d=diagonal: torch.triu(x, d), x=x)
    return entries


def add_scatters(add, rng):
    x, source = normal(rng, 4, 5, 3), normal(rng, 6, 5, 3)
    index = rng.randint(0, 4, (6, 5, 3))
    add("scatter_add_axis0", lambda x, index, source: torch.scatter_add(x, 0, index, source),
        x=x, index=index, source=source)
    ids = rng.randint(0, 3, 8)
    for end, alpha in (("", 1), ("_scaled", -2.5)):
        add(f"index_add{end}", lambda x, ids, source, alpha=alpha: torch.index_add(
            x, 2, ids, source, alpha=alpha), x=x, ids=ids, source=normal(rng, 4, 5, 8))
    mask = rng.uniform(size=(5, 1)) < 0.5
    add("masked_select", torch.masked_select, x=x, mask=mask)
    add("nonzero", lambda mask: torch.nonzero(mask), mask=rng.uniform(size=(3, 4, 2)) < 0.4)
    add("nonzero_scalar", lambda mask: torch.nonzero(mask), mask=np.array(True))


def add_moves(add, rng):
    x = normal(rng, 3, 4, 5)
    add("flip_02", lambda x: torch.flip(x, (0, 2)), x=x)
    add("roll_all", lambda x: torch.roll(x, 7), x=x)
    add("roll_1_2", lambda x: torch.roll(x, (-1, 13), (1, 2)), x=x)
    add("pad_last", lambda x: F.pad(x, (1, 2)), x=x)
    add("pad_two", lambda x: F.pad(x, (0, 1, 2, -1), value=1.5), x=x)
    add("pad_all", lambda x: F.pad(x, (-2, 3, 1, 0, 0, 2), value=-1), x=x)
    add("repeat", lambda x: x.repeat(2, 1, 3, 2), x=x)
    add("tile", lambda x: torch.tile(x, (2, 3)), x=x)
    add("repeat_interleave", lambda x: torch.repeat_interleave(x, 3, 1), x=x)


def composed_losses_case(name):
    """Losses that are made of ops, and smooth_l1, with gradients; classes are the last axis."""
    rng = random_state(name)
    entries = {}
    x, t = normal(rng, 4, 6), normal(rng, 4, 6)
    weight = rng.uniform(0.5, 2, 6).astype(np.float32)
    targets = rng.randint(0, 6, 4)
    targets[2] = -100
    probabilities = rng.uniform(size=(4, 6)).astype(np.float32)
    probabilities[1, 2:4] = 0

    def add(case, function, **operands):
        with_gradients(entries, case, function, **operands)

    def unit(v):
        return F.normalize(v, dim=-1)

    for reduction in ("mean", "sum", "none"):
        how = {"reduction": reduction}
        add(f"nll_{reduction}", lambda x, target, how=how: F.nll_loss(x, target, **how), x=x,
            target=targets)
        add(f"nll_weighted_{reduction}", lambda x, target, weight, how=how: F.nll_loss(
            x, target, weight, **how), x=x, target=targets, constants={"weight": weight})
        for end, beta in (("", 1), ("_narrow", 0.25)):
            add(f"smooth_l1{end}_{reduction}", lambda x, target, beta=beta, how=how:
                F.smooth_l1_loss(x, target, beta=beta, **how), x=x, target=t)
        for swap in (False, True):
            add(f"triplet_{'swap_' * swap}{reduction}", lambda a, p, n, swap=swap, how=how:
                F.triplet_margin_loss(a, p, n, margin=0.5, swap=swap, **how),
                anchor=x, positive=x + np.float32(0.8) * t, negative=normal(rng, 4, 6))
        add(f"contrastive_{reduction}", lambda queries, keys, how=how: F.cross_entropy(
            unit(queries) @ unit(keys).T / 0.07, torch.arange(4), **how), queries=x, keys=t)
        add(f"contrastive_symmetric_{reduction}", lambda queries, keys, how=how: (
            F.cross_entropy(queries @ keys.T / 2, torch.arange(4), **how)
            + F.cross_entropy((queries @ keys.T / 2).T, torch.arange(4), **how)) / 2,
            queries=x, keys=t)
    for reduction in ("mean", "batchmean", "sum", "none"):
        how = {"reduction": reduction}
        add(f"kl_{reduction}", lambda x, target, how=how: F.kl_div(x, target, **how), x=x,
            constants={"target": probabilities})
        add(f"kl_log_{reduction}", lambda x, target, how=how: F.kl_div(
            x, target, log_target=True, **how), x=x, target=t)
    return entries


def check_pairs():
    """Every value of each layer option meets every value of each other."""
    kind = {"holes": "padding", "additive_padding": "additive"}
    rows = [(norm, activation, kind.get(mask, mask), width)
            for norm, activation, mask, width, _, _ in LAYER_CASES]
    for a, b in itertools.combinations(range(4), 2):
        met = {(row[a], row[b]) for row in rows}
        wanted = set(itertools.product({row[a] for row in rows}, {row[b] for row in rows}))
        assert met == wanted, f"the layer cases lack {wanted - met}"


def all_cases():
    for norm, activation, mask, width, batch, tokens in LAYER_CASES:
        name = f"encoder_layer_{norm}_{activation}_{mask}_{width}"
        yield name, layer_case(name, norm, activation, mask, width, batch, tokens)
    for norm, activation, mask, width, batch, tokens in GRADIENT_CASES:
        name = f"gradients_{norm}_{activation}_{mask}"
        yield name, gradient_case(name, norm, activation, mask, width, batch, tokens)
    name = "encoder_layer_batch_second"
    yield name, layer_case(name, "post", "gelu", "padding", 36, 2, 7, batch_first=False)
    name = "encoder_layer_eps"
    yield name, layer_case(name, "pre", "gelu", "none", 8, 3, 7, eps=1e-3, scale=0.05)
    for norm, activation, mask, width, batch, tokens, layers, final_norm in ENCODER_CASES:
        name = f"encoder_{norm}_{activation}_{mask}_{width}"
        yield name, encoder_case(name, norm, activation, mask, width, batch, tokens, layers,
                                 final_norm)
    yield "run_encoder", run_encoder_case("run_encoder")
    for short, arguments in MHA_CASES.items():
        yield f"mha_{short}", mha_case(f"mha_{short}", *arguments)
    yield "ops", ops_case("ops")
    yield "elementwise", elementwise_case("elementwise")
    yield "index_ops", index_ops_case("index_ops")
    yield "composed_losses", composed_losses_case("composed_losses")


FAMILIES = ("encoder_layer", "gradients", "mha")  # whose cases are in one file, as "case/entry"


def all_files():
    """The entries of each file, by its name."""
    files = {}
    for name, entries in sorted(all_cases(), key=lambda case: case[0]):
        family = next((f for f in FAMILIES if name.startswith(f + "_")), None)
        case = name[len(family) + 1:] + "/" if family else ""
        files.setdefault(family or name, {}).update({case + key: value for key, value in entries.items()})
    return files


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.set_num_threads(1)
    check_pairs()
    total = 0
    for name, entries in all_files().items():
        path = folder / f"{name}.npz"
        np.savez(path, **{key: np.asarray(value, order="C") for key, value in entries.items()})
        total += path.stat().st_size
        print(f"{path.name:52}{path.stat().st_size:>8} bytes")
    print(f"{total} bytes, PyTorch {torch.__version__}, NumPy {np.__version__}")
    assert total < SIZE_LIMIT


if __name__ == "__main__":
    main()
