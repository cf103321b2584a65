"""The folders of sentence encoders: `sentence` with a transformer, `static` without."""

import json

import torch

from reference.cases import WORD_PIECE, config
from reference.families import FAMILIES
from reference.files import write_expected, write_json, write_safetensors
from reference.sentences import (OLD, SETTINGS, TEXTS, SentenceFolder, chain, combinations, dense, modules,
                                 old_pooling, similarities)

SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


def base_files():
    tokenizer = WORD_PIECE.files(40, feeds_types=False, trap=True)
    files = {name: json.loads(text) for name, text in tokenizer.items()}
    files.update(chain(("2_Normalize", OLD + "Normalize")))
    files.update(old_pooling("mean_tokens"))
    files.update(dense("activation.Tanh"))
    files.update(dense("activation.Tanh", False, "3_Dense"))
    files["4_LayerNorm/config.json"] = {"dimension": 12}
    files["sentence_bert_config.json"] = {"max_seq_length": 14, "do_lower_case": False}
    files["config_sentence_transformers.json"] = SETTINGS
    files["config.json"] = config("BertModel", "bert", WORD_PIECE)
    return files


def base_weights(settings, draw):
    encoder = {name: draw(name, shape) for name, shape in FAMILIES["bert"][1](settings).items()}
    return {"": encoder,
            "2_Dense": {"linear.weight": draw("linear.weight", (7, 12)),
                        "linear.bias": draw("linear.bias", (7,))},
            "3_Dense": {"linear.weight": draw("linear.weight", (5, 7))},
            "4_LayerNorm": {"norm.weight": draw("norm.weight", (12,)),
                            "norm.bias": draw("norm.bias", (12,))}}


def write(path, folder, rows):
    """The folder, the changes of each combination in cases.json, and their embeddings."""
    for name, value in folder.files.items():
        write_json(path / name, value)
    for name, tensors in folder.weights.items():
        (path / name).mkdir(parents=True, exist_ok=True)
        write_safetensors(path / name / "model.safetensors", tensors)
    entries = {}
    for name, changed, options in rows:
        combination = folder.with_files(changed)
        double = combination.embeddings(options)
        single = combination.embeddings(options, torch.float32)
        assert (double - single).abs().max() < 5e-6, name
        entries[name] = double.float()
    whole = [{"name": name, "files": changed, "options": options} for name, changed, options in rows]
    write_json(path / "cases.json", {"texts": TEXTS, "cases": whole})
    return entries


def sentence(path, draw):
    files = base_files()
    folder = SentenceFolder(files, base_weights(files["config.json"], draw))
    entries = write(path, folder, combinations(files["tokenizer.json"]))
    plain = folder.with_files(chain()).embeddings({})
    for kind in SIMILARITIES:
        entries[f"similarity.{kind}"] = similarities(kind, plain[:3], plain[2:]).float()
    entries["similarity.of"] = plain.float()
    write_expected(path, entries)


def static(path, draw):
    kind = OLD + "StaticEmbedding"
    tokenizer = json.loads(WORD_PIECE.files(40, feeds_types=False, trap=True)["tokenizer.json"])
    rows = len(WORD_PIECE)
    folder = SentenceFolder(
        {"modules.json": modules(("0_StaticEmbedding", kind), ("1_Normalize", OLD + "Normalize")),
         "0_StaticEmbedding/tokenizer.json": tokenizer, "tokenizer.json": tokenizer},
        {"0_StaticEmbedding": {"embedding.weight": draw("embeddings", (rows, 5))},
         "": {"embeddings": draw("embeddings", (rows, 7))}})
    entries = write(path, folder, [
        ("as_it_is", {}, {}),
        ("plain", {"modules.json": modules(("0_StaticEmbedding", kind))}, {}),
        ("in_the_root", {"modules.json": modules((".", kind), ("1_Normalize", OLD + "Normalize"))}, {}),
        ("prompt", {}, {"prompt": "the "}),
    ])
    write_expected(path, entries)
