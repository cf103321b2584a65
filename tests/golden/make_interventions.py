#!/usr/bin/python3
"""Writes interventions_*.npz: outputs and gradients of encoders whose steps are changed on the way.

    /usr/bin/python3 tests/golden/make_interventions.py [folder]

The models are those of folders/; tests/models/interventions_test.cpp makes the same changes by hooks.
An intervention is STEP/KIND, where STEP is a step's name:

    zero    the step is 0                      add    a vector is added to each row
    patch   row 1 of each text is a vector     head   head 0 of the weights is 0
    cut     in head 0 no token sees token 1
"""

import json
import math
import pathlib
import sys

import numpy as np
import torch

HERE = pathlib.Path(__file__).parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
from reference.families import FAMILIES  # noqa: E402
from reference.layers import ACTIVATIONS, frequencies, linear, norm, rotate, split_heads  # noqa: E402

ROWS = ("self_attn.q", "self_attn.k", "self_attn.v", "self_attn.heads", "self_attn", "sum1", "norm1",
        "feed_forward.activation", "feed_forward", "sum2", "norm2", "")
TEXTS = 2


def load(file):
    """The tensors of a .safetensors file in float64."""
    with open(file, "rb") as stream:
        header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
        data = stream.read()
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        raw = data[slice(*entry["data_offsets"])]
        values = np.frombuffer(raw, np.float32) if entry["dtype"] == "F32" else (
            np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        found[name] = torch.from_numpy(values.astype(np.float64).reshape(entry["shape"]))
    return found


def attention(step, path, parts, heads):
    """The heads side by side of parts (q, k, v), each (T, H)."""
    q, k, v = (split_heads(step(f"{path}.{name}", part), heads) for name, part in zip("qkv", parts))
    bias = step(f"{path}.score_bias", torch.zeros(heads, q.shape[1], q.shape[1], dtype=q.dtype))
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]) + bias
    mixed = step(f"{path}.weights", torch.softmax(scores, -1)) @ v
    return step(f"{path}.heads", mixed.transpose(0, 1).reshape(q.shape[1], -1))


def bert(w, c, ids, types, step):
    eps = c["layer_norm_eps"]
    words = step("embeddings.words", w["embeddings.word_embeddings.weight"][ids])
    others = w["embeddings.position_embeddings.weight"][:len(ids)]
    x = norm(w, "embeddings.LayerNorm",
             words + others + w["embeddings.token_type_embeddings.weight"][types], eps)
    x = step("input", step("embeddings", x))
    for i in range(c["num_hidden_layers"]):
        layer, path = f"encoder.layer.{i}", f"layers.{i}"
        parts = [linear(w, f"{layer}.attention.self.{part}", x) for part in ("query", "key", "value")]
        heads = attention(step, f"{path}.self_attn", parts, c["num_attention_heads"])
        mixed = step(f"{path}.self_attn", linear(w, f"{layer}.attention.output.dense", heads))
        x = norm(w, f"{layer}.attention.output.LayerNorm", step(f"{path}.sum1", x + mixed), eps)
        x = step(f"{path}.norm1", x)
        inner = ACTIVATIONS[c["hidden_act"]](linear(w, f"{layer}.intermediate.dense", x))
        out = linear(w, f"{layer}.output.dense", step(f"{path}.feed_forward.activation", inner))
        x = step(f"{path}.sum2", x + step(f"{path}.feed_forward", out))
        x = step(path, step(f"{path}.norm2", norm(w, f"{layer}.output.LayerNorm", x, eps)))
    return x


def nomic_bert(w, c, ids, types, step):
    eps, heads = c["layer_norm_epsilon"], c["n_head"]
    f = frequencies(c["rotary_emb_base"], c["n_embd"] // heads)
    words = step("embeddings.words", w["embeddings.word_embeddings.weight"][ids])
    x = norm(w, "emb_ln", words + w["embeddings.token_type_embeddings.weight"][types], eps)
    x = step("input", step("embeddings", x))
    for i in range(c["n_layer"]):
        layer, path = f"encoder.layers.{i}", f"layers.{i}"
        parts = list(linear(w, f"{layer}.attn.Wqkv", x).chunk(3, -1))
        for k in range(2):
            turned = rotate(split_heads(parts[k], heads), f)
            parts[k] = turned.transpose(0, 1).reshape(len(ids), -1)
        mixed = linear(w, f"{layer}.attn.out_proj",
                       attention(step, f"{path}.self_attn", parts, heads))
        x = step(f"{path}.sum1", x + step(f"{path}.self_attn", mixed))
        x = step(f"{path}.norm1", norm(w, f"{layer}.norm1", x, eps))
        gate = ACTIVATIONS["silu"](linear(w, f"{layer}.mlp.fc12", x))
        inner = step(f"{path}.feed_forward.activation", linear(w, f"{layer}.mlp.fc11", x) * gate)
        x = step(f"{path}.sum2", x + step(f"{path}.feed_forward", linear(w, f"{layer}.mlp.fc2", inner)))
        x = step(path, step(f"{path}.norm2", norm(w, f"{layer}.norm2", x, eps)))
    return x


MODELS = {"bert": bert, "nomic_bert": nomic_bert}


def changed(kind, value, vector):
    if kind == "zero":
        return value * 0
    if kind == "add":
        return value + vector
    if kind == "patch":
        return torch.cat([value[:1], vector[None], value[2:]])
    if kind == "head":
        return torch.cat([value[:1] * 0, value[1:]])
    cut = torch.zeros_like(value)
    cut[0, :, 1] = -math.inf
    return cut


def interventions():
    steps = ["embeddings.words", "embeddings", "input", "layers.0"]
    steps += ["layers.1." + part if part else "layers.1" for part in ROWS]
    found = [f"{step}/{kind}" for step in steps for kind in ("zero", "add", "patch")]
    return found + ["layers.1.self_attn.weights/head", "layers.0.self_attn.score_bias/cut"]


def make(name, root):
    folder = HERE / "folders" / name
    c = json.loads((folder / "config.json").read_text())
    w = {key.removeprefix("bert."): value for key, value in load(folder / "model.safetensors").items()}
    expected = np.load(folder / "expected.npz")
    begins = np.concatenate([[0], np.cumsum(expected["lengths"])])
    chosen = [i for i, length in enumerate(expected["lengths"]) if length >= 3][:TEXTS]
    inputs = [(torch.from_numpy(expected["ids"][begins[i]:begins[i + 1]]),
               torch.from_numpy(expected["types"][begins[i]:begins[i + 1]])) for i in chosen]
    rng = np.random.RandomState(28)
    entries = {"texts": np.array(chosen)}
    table = w["embeddings.word_embeddings.weight"].requires_grad_()
    for ids, types in inputs:  # no change: the reference of folders/
        plain = MODELS[name](w, c, ids, types, lambda _, value: value)
        assert (plain - FAMILIES[c["model_type"]][0](w, c, ids, types)).abs().max() < 1e-12
    width = table.shape[1]
    factors = torch.from_numpy(rng.standard_normal(width).astype(np.float32).astype(np.float64))
    entries["loss_weights"] = factors
    for intervention in interventions():
        where, kind = intervention.split("/")
        outputs, loss, vector = [], 0, None
        table.grad = None

        def step(path, value):
            nonlocal vector
            if path != where:
                return value
            if vector is None:
                drawn = rng.standard_normal(value.shape[-1]).astype(np.float32).astype(np.float64)
                vector = torch.from_numpy(drawn).requires_grad_()
            return changed(kind, value, vector)

        for ids, types in inputs:
            outputs.append(MODELS[name](w, c, ids, types, step))
            loss = loss + (outputs[-1] * factors).sum()
        if loss.requires_grad:
            loss.backward()
        entries[f"{intervention}/output"] = torch.cat(outputs)
        # The rows of the table add up, to keep the file small.
        entries[f"{intervention}/gradient.words"] = (
            torch.zeros(width) if table.grad is None else table.grad.sum(0))
        if kind in ("add", "patch"):
            entries[f"{intervention}/vector"] = vector
            entries[f"{intervention}/gradient.vector"] = vector.grad
    arrays = {key: np.asarray(value.detach().float()) if torch.is_tensor(value) else value
              for key, value in entries.items()}
    np.savez(root / f"interventions_{name}.npz", **arrays)
    print(name, len(interventions()), "interventions")


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    torch.set_num_threads(1)
    for name in MODELS:
        make(name, root)


if __name__ == "__main__":
    main()
