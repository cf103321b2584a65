#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets for texts from what tests/golden has: small files of every kind.

    python3 tests/fuzz/make_text_corpus.py    # seed_* in corpus/{config,tokenizer,tokenizer_config,vocabulary}.tar
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



def write_folder(name, config, special=None, added=None, tokenizer=None, vocabulary="[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nlion\n##s\na\n"):
    """Seeds of tokenizer_config: the files in the target's order."""
    files = [compact(part) if part else "" for part in (config, special, added, tokenizer)] + [vocabulary]
    write("tokenizer_config", name, "\0".join(files))


words = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "lions": 4, "a": 5}}
token = {"content": "[MASK]", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False, "special": True}
bert = {"added_tokens": [{"id": 6, **token}], "pre_tokenizer": {"type": "Whitespace"}, "model": words}
write_folder("bert", {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 8})
write_folder("class", {"tokenizer_class": "HerbertTokenizer", "auto_map": {"AutoTokenizer": ["a.B", None]}})
write_folder("decoder", {"added_tokens_decoder": {"8": token, "9": {"content": "lion", "special": False}}, "split_special_tokens": True})
write_folder("names", {"cls_token": {"content": "[X]", "__type": "AddedToken"}, "additional_special_tokens": ["[Y]", token]})
write_folder("map", {}, {"mask_token": token, "additional_special_tokens": ["[Z]"]}, {"[Z]": 8, "[W]": 9})
write_folder("file", {"tokenizer_class": "PreTrainedTokenizerFast", "extra_special_tokens": {"a_token": "[A]"}, "padding_side": "left",
                      "truncation_side": "left", "add_prefix_space": True, "trim_offsets": False, "max_len": 9}, {"sep_token": "[SEP]"}, {"[V]": 7}, bert, "")

for target, seeds in SEEDS.items():
    save_seeds(target, seeds)
