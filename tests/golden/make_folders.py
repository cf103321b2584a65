#!/usr/bin/python3
"""Writes folders/: pretrained models as Hugging Face's libraries save them, with random weights.

    /usr/bin/python3 tests/golden/make_folders.py [folder]

Each holds config.json, weights, a tokenizer and expected.npz: what PyTorch computes for a few
texts, in float64 from the weights as stored. Nothing but torch and NumPy is needed; reference/ is
written from the papers' and the formats' descriptions, apart from the library's own code.
The script fails where float32 is not within half of the tolerance that the tests use.
"""

import pathlib
import shutil
import sys
import zlib

import numpy as np
import torch

sys.dont_write_bytecode = True

from reference import make_outputs, make_sentences, make_tasks  # noqa: E402
from reference.cases import CASES
from reference.families import FAMILIES
from reference.files import size_of, write_expected, write_json, write_safetensors, write_shards

FLOAT32_TOLERANCE = 1e-5
SIZE_LIMIT = 3_000_000
PLACES = 12


def random_state(name):
    """A generator of its own for each folder, so that one more case changes no other."""
    return np.random.RandomState(zlib.crc32(name.encode()))


def drawn(rng, name, shape):
    value = rng.standard_normal(shape)
    if "norm" in name.lower() or name.startswith("emb_ln") or "_ln." in name:
        return 1 + 0.25 * value if name.endswith("weight") else 0.25 * value
    if len(shape) == 1:
        return 0.25 * value
    if "embeddings" in name or "relative_attention" in name:
        return 0.3 * value
    return 1.1 * value / np.sqrt(shape[1])


def weights(case, rng):
    """By the names of the file without a prefix, rounded to the type in which they are stored."""
    shapes = FAMILIES[case.config["model_type"]][1](case.config)
    for shapes_of, _ in case.heads.values():
        shapes.update(shapes_of(case.config))
    return {name: torch.from_numpy(drawn(rng, name, shape)).to(case.dtype)
            for name, shape in shapes.items()}


def texts(case, rng):
    """[(ids, types)]: [CLS] first, [SEP] last where there is room; some with padding's own number inside."""
    vocabulary, found = case.vocabulary, []
    for i, length in enumerate(case.lengths):
        ids = rng.randint(len(vocabulary.names) - 1, len(vocabulary) - 1, length)
        ids[-1] = vocabulary.id("sep")
        ids[0] = vocabulary.id("cls")
        if length > 4 and i % 2 == 0:
            ids[rng.randint(1, length - 1, 2)] = vocabulary.id("pad")
        types = (np.arange(length) >= rng.randint(1, length + 1)).astype(np.int64)
        found.append((torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(types)))
    return found


def run(case, w, inputs, dtype):
    """{entry: tensor} of expected.npz."""
    encode = FAMILIES[case.config["model_type"]][0]
    w = {name: value.to(dtype) for name, value in w.items()}
    hidden = [encode(w, case.config, ids, types) for ids, types in inputs]
    found = {"hidden": torch.cat(hidden)}
    for name, (_, forward) in case.heads.items():
        found[name] = torch.cat([forward(w, case.config, x) for x in hidden])
    if "masked" in found:
        found["masked"] = found["masked"][places(found["hidden"])]
    return found


def places(hidden):
    return torch.linspace(0, hidden.shape[0] - 1, PLACES).long()


def expected(case, w, inputs):
    double = run(case, w, inputs, torch.float64)
    single = run(case, w, inputs, torch.float32)
    for name, value in double.items():
        worst = (value - single[name]).abs().max().item()
        assert worst < FLOAT32_TOLERANCE / 2, (case.name, name, worst)
    entries = {"lengths": np.array(case.lengths), "ids": torch.cat([ids for ids, _ in inputs])}
    if case.feeds_types:
        entries["types"] = torch.cat([types for _, types in inputs])
    if "masked" in double:
        entries["places"] = places(double["hidden"])
    entries.update({name: value.float() for name, value in double.items()})
    return entries


def in_disguise(case, w):
    """The tensors by the names and in the order in which the file has them."""
    stored = {}
    for i, (name, value) in enumerate(w.items()):
        outside = any(name in shapes_of(case.config) for shapes_of, _ in case.heads.values())
        inside = not outside or name.startswith("pooler.")
        prefix = case.prefix if inside and (not case.mixed_prefix or i % 3) else ""
        if case.gamma_beta and "LayerNorm." in name:
            name = name.replace("weight", "gamma").replace("bias", "beta")
        stored[prefix + name] = value
    for name, source in case.copies.items():
        stored[name] = w[source]
    for name, value in case.extras.items():
        stored[name] = value
    return stored


def make(case, root):
    folder = root / case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rng = random_state(case.name)
    w = weights(case, rng)
    inputs = texts(case, rng)
    if not case.feeds_types:
        inputs = [(ids, torch.zeros_like(ids)) for ids, _ in inputs]
    write_json(folder / "config.json", case.config)
    for name, text in case.tokenizer_files.items():
        (folder / name).write_text(text)
    stored = in_disguise(case, w)
    if case.shards:
        write_shards(folder, stored, case.shards)
    else:
        write_safetensors(folder / "model.safetensors", stored)
    write_expected(folder, expected(case, w, inputs))
    if case.name in make_tasks.TASKS:
        make_tasks.TASKS[case.name](folder, case, w)
    print(f"{case.name:24}{size_of(folder):>8} bytes")


def make_sentence_encoders(root):
    of_vectors = {"sentence": make_sentences, "static": make_sentences, "colbert": make_outputs,
                  "stanford": make_outputs, "splade": make_outputs, "m3": make_outputs}
    for name, module in of_vectors.items():
        shutil.rmtree(root / name, ignore_errors=True)
        rng = random_state(name)
        getattr(module, name)(
            root / name, lambda key, shape: torch.from_numpy(drawn(rng, key, shape)).float())
        print(f"{name:24}{size_of(root / name):>8} bytes")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "folders")
    torch.set_num_threads(1)
    for case in [*CASES, make_tasks.RERANKER]:
        make(case, root)
    make_sentence_encoders(root)
    total = size_of(root)
    assert total < SIZE_LIMIT, total
    print(f"{'total':24}{total:>8} bytes")


if __name__ == "__main__":
    main()
