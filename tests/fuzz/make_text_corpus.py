#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets for texts from what tests/golden has: small files of every kind.

    python3 tests/fuzz/make_text_corpus.py    # seed_* in corpus/{config,tokenizer,vocabulary}.tar
"""
import collections
import json
import pathlib

from corpus import save_seeds

SEEDS = collections.defaultdict(dict)
GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
TEXT = "The caf\u00e9, 42 [MASK] a\u0301<s>\n \u4e2d lions' ".encode()


def write(target, name, data):
    SEEDS[target][name] = data if isinstance(data, bytes) else data.encode()


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


for config in GOLDEN.glob("folders/*/config.json"):
    write("config", config.parent.name, compact(json.loads(config.read_text())))

for file in GOLDEN.glob("folders/*/tokenizer.json"):
    write("tokenizer", "folder_" + file.parent.name, compact(json.loads(file.read_text())).encode() + b"\0" + TEXT)
for file in GOLDEN.glob("tokenizers/*.json"):
    if not file.name.endswith(".cases.json"):
        write("tokenizer", file.stem, compact(json.loads(file.read_text())).encode() + b"\0" + TEXT)

tiny = {"type": "BPE", "unk_token": "u", "vocab": {"u": 0, "a": 1, "b": 2, "ab": 3}, "merges": ["a b"]}
seen = set()
for line in (GOLDEN / "tokenizers/steps.jsonl").read_text().split("\n"):
    if not line:
        continue
    step = json.loads(line)
    spec = step["spec"]
    if compact(spec) in seen or len(compact(spec)) > 600:
        continue
    seen.add(compact(spec))
    key = "normalizer" if step["kind"] == "normalizer" else "pre_tokenizer"
    text = next((t for t in step["texts"] if t), "ab")[:20]
    name = "step_%03d" % len(seen)
    write("tokenizer", name, compact({key: spec, "model": tiny}).encode() + b"\0" + text.encode())

write("vocabulary", "words", b'{"type":"words","vocab":["[PAD]","[UNK]","[CLS]","[MASK]","[SEP]","the","lions",",","42"]}\0' + TEXT)
write("vocabulary", "characters", rb'{"type":"characters","vocab":["[PAD]","[UNK]","[CLS]","[MASK]","a","\n","\\","\u00e9"]}' + b"\0" + TEXT)
write("vocabulary", "bert", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nlion\n##s\ncafe\n,\n4\n##2\n".encode() + b"\0" + TEXT)
write("vocabulary", "roberta", "<s>\n<pad>\n</s>\n<unk>\n<mask>\r\nlion\n##s\n\nlion\n".encode())

for target, seeds in SEEDS.items():
    save_seeds(target, seeds)
