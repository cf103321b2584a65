#!/usr/bin/python3
"""Opens a folder that the library saved, and compares what it computes with what our programs print.

    tokenize --model DIR --json lines.txt > ids.jsonl
    classify_text --model DIR --json --top 1000 lines.txt > results.jsonl
    /usr/bin/python3 tests/golden/check_folder.py DIR ids.jsonl results.jsonl

results are those of classify_text, of `tag_tokens --aggregation none --json`, or the .npy file of embed.
Only the formats are known here: config.json, safetensors, the names of transformers' classes, and the
files of sentence-transformers. The computation is that of reference/, in float64; nothing but torch
and NumPy is needed. It fails where a number is not within 1e-5.
"""

import json
import pathlib
import struct
import sys

import numpy as np
import torch

sys.dont_write_bytecode = True

from reference import heads  # noqa: E402
from reference.families import FAMILIES  # noqa: E402
from reference.sentences import SentenceFolder, module  # noqa: E402

TOLERANCE = 1e-5
BERT_LIKE = {key: heads.BERT[key] for key in ("pooled", "sequence", "tokens")}
ROBERTA_LIKE = dict(heads.ROBERTA, tokens=heads.TOKENS)

# model_type: the prefix of the encoder in a model with a head, the begin of classes' names, heads.
TYPES = {
    "bert": ("bert.", "Bert", heads.BERT),
    "roberta": ("roberta.", "Roberta", ROBERTA_LIKE),
    "xlm-roberta": ("roberta.", "XLMRoberta", ROBERTA_LIKE),
    "camembert": ("roberta.", "Camembert", ROBERTA_LIKE),
    "distilbert": ("distilbert.", "DistilBert", heads.DISTILBERT),
    "mpnet": ("mpnet.", "MPNet", ROBERTA_LIKE),
    "albert": ("albert.", "Albert", heads.ALBERT),
    "electra": ("electra.", "Electra", dict(heads.ELECTRA, tokens=heads.TOKENS)),
    "modernbert": ("model.", "ModernBert", heads.MODERNBERT),
    "nomic_bert": ("bert.", "NomicBert", BERT_LIKE),
    "new": ("new.", "New", BERT_LIKE),
}


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def read_safetensors(path):
    """All must be float32, without gaps, and said to be PyTorch's."""
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    assert header.pop("__metadata__") == {"format": "pt"}, path
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", (path, name, entry)
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = np.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])
        tensors[name] = torch.from_numpy(values.astype(np.float64))
    return tensors


class Model:
    """The encoder, and the head that `architectures` names."""

    def __init__(self, folder):
        self.config = read_json(folder / "config.json")
        prefix, classes, its_heads = TYPES[self.config["model_type"]]
        (architecture,) = self.config["architectures"]
        assert architecture.startswith(classes), architecture
        tasks = {"Model": None, "ForSequenceClassification": "sequence", "ForTokenClassification": "tokens"}
        self.task = tasks[architecture[len(classes):]]
        self.weights = {}
        wanted = dict(FAMILIES[self.config["model_type"]][1](self.config))
        if self.task:
            wanted.update(its_heads[self.task][0](self.config))
        if self.task == "sequence" and "pooled" in its_heads:
            wanted.update(its_heads["pooled"][0](self.config))
        for name, value in read_safetensors(folder / "model.safetensors").items():
            inside = bool(self.task) and name.startswith(prefix)
            plain = name[len(prefix):] if inside else name
            is_of_head = plain not in FAMILIES[self.config["model_type"]][1](self.config)
            assert inside == bool(self.task and (not is_of_head or plain.startswith("pooler."))), name
            if self.task is None and plain.startswith("pooler."):
                continue
            assert tuple(wanted.pop(plain)) == tuple(value.shape), (name, value.shape)
            self.weights[plain] = value
        assert not wanted, f"tensors that are missing: {sorted(wanted)}"
        self.head = its_heads[self.task][1] if self.task else None

    def hidden(self, entry):
        encode = FAMILIES[self.config["model_type"]][0]
        return encode(self.weights, self.config, torch.tensor(entry["ids"]), torch.tensor(entry["types"]))

    def scores(self, entry):
        logits = self.head(self.weights, self.config, self.hidden(entry))
        problem = self.config.get("problem_type")
        if self.task == "sequence" and problem == "regression":
            return logits
        if self.task == "sequence" and (problem == "multi_label_classification" or logits.shape[1] == 1):
            return torch.sigmoid(logits)
        return torch.softmax(logits, -1)

    def labels(self):
        labels = self.config["id2label"]
        return [labels[str(i)] for i in range(len(labels))]


def differences_of_classes(model, entry, result):
    scores = dict(zip(model.labels(), model.scores(entry)[0].tolist()))
    assert len(result["classes"]) == len(scores), "wanted all classes: --top 1000"
    return [abs(each["score"] - scores[each["label"]]) for each in result["classes"]]


def differences_of_tags(model, entry, result):
    """The tags are those of the tokens that are no O, in their order."""
    labels, tags, found = model.labels(), list(result["tags"]), []
    for place, text, row in zip(entry["offsets"], entry["texts"], model.scores(entry).tolist()):
        best = max(range(len(row)), key=row.__getitem__)
        if text is None or labels[best] == "O":
            continue
        tag = tags.pop(0)
        assert [tag["begin"], tag["end"]] == place and tag["label"] == labels[best], (place, tag)
        found.append(abs(tag["score"] - row[best]))
    assert not tags, tags
    return found


def embedding(folder, model, entry):
    """By modules.json."""
    x = model.hidden(entry)
    for row in json.loads((folder / "modules.json").read_text()):
        kind, path = row["type"].split(".")[-1], folder / row["path"]
        config = read_json(path / "config.json")
        if kind == "Transformer":
            assert path == folder, row
        elif kind == "Pooling":
            x = SentenceFolder({}, {}).pooled(config, x, "")
        else:
            file = path / "model.safetensors"
            x = module(kind, config, read_safetensors(file) if file.exists() else {}, x)
    return x


def main():
    folder = pathlib.Path(sys.argv[1])
    entries = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
    model, found = Model(folder), []
    if sys.argv[3].endswith(".npy"):
        rows = torch.from_numpy(np.load(sys.argv[3]).astype(np.float64))
        assert len(rows) == len(entries), (rows.shape, len(entries))
        found = [(embedding(folder, model, entry) - row).abs().max().item() for entry, row in zip(entries, rows)]
    else:
        results = [json.loads(line) for line in open(sys.argv[3], encoding="utf-8")]
        assert len(results) == len(entries), (len(results), len(entries))
        compare = differences_of_classes if model.task == "sequence" else differences_of_tags
        for entry, result in zip(entries, results):
            found += compare(model, entry, result)
    print(f"{model.config['architectures'][0]}: {len(entries)} lines, {len(found)} comparisons, "
          f"largest difference {max(found):.2e}")
    return 0 if max(found) <= TOLERANCE else 1


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
