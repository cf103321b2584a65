#!/usr/bin/python3
"""Writes the files beside it for the lessons about texts and models: 008, 009 and 010.

    /usr/bin/python3 tests/programs/notebooks/make_model_lessons.py [folder]

NumPy computes them in float64 from the formulas and from the files in examples/course/small_model;
nothing here comes from the library.
"""

import json
import math
import pathlib
import re
import struct
import sys

import numpy as np

sys.dont_write_bytecode = True
from make_cells import softmax

np.set_printoptions(precision=4, suppress=True)
HERE = pathlib.Path(__file__).parent
MODEL = HERE.parents[2] / "examples" / "course" / "small_model"


def pieces(word, vocabulary):
    """By regular expression: alternatives are tried in order, here from long to short."""
    longest = sorted(vocabulary, key=len, reverse=True)
    begins = "|".join(re.escape(t) for t in longest if not t.startswith("##"))
    goes_on = "|".join(re.escape(t[2:]) for t in longest if t.startswith("##"))
    first = re.match(begins, word)
    if not first:
        return ["[UNK]"]
    rest = [m.group() for m in re.finditer(goes_on, word[first.end():])]
    if len("".join(rest)) != len(word) - first.end():
        return ["[UNK]"]
    return [first.group()] + ["##" + piece for piece in rest]


def ids_of(words, vocabulary):
    return [vocabulary.index(t) for t in
            ["[CLS]"] + [p for word in words for p in pieces(word, vocabulary)] + ["[SEP]"]]


def words_into_numbers():
    vocabulary = ("[PAD] [UNK] [CLS] [SEP] [MASK] the cat dog mouse chase ##d play ##ed ##ing ##s un "
                  "##play ##able sleep ##e").split()
    table = np.zeros((20, 4))
    table[[0, 2, 3, 5, 6, 7, 8, 9]] = [[1, 1, 1, 3], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1],
                                       [3, 1, 1, 0], [3, 2, 0, 0], [2, 2, 0, 0], [0, 4, -1, 0]]
    table[10:] = [[0, 0, 0, 1], [0, 3, 0, 0], [0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 0, 1],
                  [0, 0, 0, -1], [0, 3, 0, 0], [0, 0, 0, 1], [0, -1, 4, 0], [0, 0, 0, 1]]
    sentences = ["the cat chased the mouse", "the mouse chased the cat", "the dogs chased the cats",
                 "the cats sleep"]
    cells = [f"{word:11} {' '.join(pieces(word, vocabulary))}" for word in
             ["cat", "cats", "chased", "playing", "unplayable", "mouses", "zebra"]]
    rows = [ids_of(sentence.split(), vocabulary) for sentence in sentences]
    cells += [f"{sentence:25} {' '.join(map(str, ids))}" for sentence, ids in zip(sentences, rows)]
    one_hot = np.eye(20)[rows[3]]
    longest = max(map(len, rows))
    means = np.array([table[ids].mean(0) for ids in rows])
    padded = np.array([table[ids + [0] * (longest - len(ids))].mean(0) for ids in rows])
    unit = means / np.linalg.norm(means, axis=1, keepdims=True)
    return cells + [table[rows[3]], one_hot, one_hot @ table, padded, means, unit @ unit.T]


class SmallModel:
    """BERT with mean pooling, from the files."""

    def __init__(self):
        data = (MODEL / "model.safetensors").read_bytes()
        end = 8 + struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:end])
        header.pop("__metadata__", None)
        self.tensors = {
            name: np.frombuffer(data[end:], "<f4", math.prod(entry["shape"]),
                                entry["data_offsets"][0]).reshape(entry["shape"]).astype(float)
            for name, entry in header.items()}
        self.config = json.loads((MODEL / "config.json").read_text())
        vocabulary = json.loads((MODEL / "tokenizer.json").read_text())["model"]["vocab"]
        self.vocabulary = sorted(vocabulary, key=vocabulary.get)

    def read(self, reason):
        text = f"The animal didn't cross the street because it was too {reason}."
        return ids_of(re.findall(r"\w+|[^\w\s]", text.lower()), self.vocabulary)

    def affine(self, x, name):
        return x @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]

    def norm(self, x, name):
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return x * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def __call__(self, ids, without=None):
        """The tokens' vectors; for each layer the weights (H, T, T) and lengths of what is moved; steps."""
        t = self.tensors
        x = (t["embeddings.word_embeddings.weight"][ids] + t["embeddings.token_type_embeddings.weight"][0]
             + t["embeddings.position_embeddings.weight"][:len(ids)])
        x = self.norm(x, "embeddings.LayerNorm")
        steps = {"embeddings": x}
        heads, layers = self.config["num_attention_heads"], []
        split = lambda y: np.stack(np.split(y, heads, 1))
        for layer in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{layer}."
            q, k, v = (split(self.affine(x, name + "attention.self." + part))
                       for part in ("query", "key", "value"))
            weights = softmax(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2]), 2)
            out = split(t[name + "attention.output.dense.weight"])
            moved = v @ out.swapaxes(1, 2)  # (H, T, D): W_O v_j of each head
            layers.append((weights, weights * np.linalg.norm(moved, axis=2)[:, None]))
            kept = np.array([(layer, head) != without for head in range(heads)])
            steps[f"layers.{layer}.self_attn.heads"] = np.hstack(weights @ v)
            attended = ((weights @ moved) * kept[:, None, None]).sum(0)
            attended += t[name + "attention.output.dense.bias"]
            x = self.norm(x + attended, name + "attention.output.LayerNorm")
            steps[f"layers.{layer}.norm1"] = x
            hidden = self.affine(x, name + "intermediate.dense")
            hidden *= 0.5 * (1 + np.vectorize(math.erf)(hidden / np.sqrt(2)))
            x = self.norm(x + self.affine(hidden, name + "output.dense"), name + "output.LayerNorm")
            steps[f"layers.{layer}"] = x
        return x, layers, steps

    def sentence(self, ids, without=None):
        u = self(ids, without)[0].mean(0)
        return u / np.linalg.norm(u)


def minilm_by_hand():
    model = SmallModel()
    ids = model.read("tired")
    cells = [", ".join(f"{model.vocabulary[i]} {i}" for i in ids)]
    for name, x in model(ids)[2].items():
        cells.append(f"{name:26} {x[0, :4]} below 2e-5")
    return cells + [model.sentence(ids)[None, :6], model.sentence(ids)[None, :6]]


def what_heads_do():
    model = SmallModel()
    ids = {reason: model.read(reason) for reason in ("tired", "wide")}
    words = {reason: [model.vocabulary[i] for i in ids[reason]] for reason in ids}
    maps = {reason: [weights for weights, _ in model(ids[reason])[1]] for reason in ids}
    cells = []
    for layer, (weights, moved) in enumerate(model(ids["tired"])[1]):
        shares = moved / moved.sum(2, keepdims=True)
        cells.append(f"layer {layer}          {weights[:, :, 0].mean():.3f}      {shares[:, :, 0].mean():.3f}")
    it, animal = words["tired"].index("it"), words["tired"].index("animal")
    seen = np.array([weights[:, it, animal] for weights in maps["tired"]])
    layer, head = np.unravel_index(seen.argmax(), seen.shape)
    for word in "it", "was":
        cells.append(f'layer {layer}, head {head}, from "{word}":')
        for reason in ids:
            row = maps[reason][layer][head, words[reason].index(word)]
            cells.append(f"  {reason:6}" + "".join(
                f"  {to} {row[words[reason].index(to)]:.3f}"
                for to in ("[CLS]", "animal", "street", "it", reason)))
    off = [[(layer, head) for head in range(4)] for layer in range(2)]
    whole = model.sentence(ids["tired"])
    moves = np.array([[1 - whole @ model.sentence(ids["tired"], at) for at in row] for row in off])
    cells.append(moves)
    for place in np.argsort(-moves.ravel())[:3]:
        cells.append(f"without layer {place // 4}, head {place % 4}: {moves.ravel()[place]:.3f}")
    for at in [None] + off[0] + off[1]:
        means = [model.vocabulary[(model.tensors["embeddings.word_embeddings.weight"]
                                   @ model(ids[reason], at)[0][it]).argmax()] for reason in ids]
        name = f"without layer {at[0]}, head {at[1]}" if at else "with all heads"
        cells.append(f"{name:24} {means[0]:8} {means[1]}")
    return cells


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for number, lesson in {8: words_into_numbers, 9: minilm_by_hand, 10: what_heads_do}.items():
        cells = "\n\n".join(str(cell) for cell in lesson())
        (folder / f"{number:03}_{lesson.__name__}.txt").write_text(cells + "\n")


main()
