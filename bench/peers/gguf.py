"""Turns a Hugging Face folder of a BERT sentence encoder into a GGUF file, with the keys and types of llama.cpp's own script."""
import argparse
import json
import struct
from pathlib import Path

import numpy as np

SIZES = {"bert.block_count": "num_hidden_layers", "bert.context_length": "max_position_embeddings",
         "bert.embedding_length": "hidden_size", "bert.feed_forward_length": "intermediate_size",
         "bert.attention.head_count": "num_attention_heads", "tokenizer.ggml.token_type_count": "type_vocab_size"}
POOLING = {"pooling_mode_mean_tokens": 1, "pooling_mode_cls_token": 2}
SPECIAL = {"bos": "[CLS]", "cls": "[CLS]", "seperator": "[SEP]", "unknown": "[UNK]", "padding": "[PAD]"}  # GGUF's spelling
TABLES = {"word_embeddings": "token_embd", "position_embeddings": "position_embd", "token_type_embeddings": "token_types"}
LAYER = {"attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
         "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
         "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}


def read(file, rules):
    """The object in a JSON file. The rules give the values, or the types of objects, that keys must have."""
    found = json.loads(file.read_text("utf-8"))
    for key, rule in rules.items():
        got = found[key].get("type") if isinstance(found.get(key), dict) else found.get(key)
        if got != rule:
            raise ValueError(f"{file.name}: {key} must be {rule}, got {json.dumps(got)}")
    return found


def values_of(folder):
    config = read(folder / "config.json", {"model_type": "bert", "hidden_act": "gelu"})
    tokenizer = read(folder / "tokenizer.json", {"model": "WordPiece", "normalizer": "BertNormalizer"})
    pooling = read(folder / "1_Pooling/config.json", {})
    modes = [key for key in pooling if key.startswith("pooling_mode_") and pooling[key] is True]
    if len(modes) != 1 or modes[0] not in POOLING:
        raise ValueError(f"1_Pooling/config.json: the mode must be one of {', '.join(POOLING)}, got {', '.join(modes)}")
    ids = tokenizer["model"]["vocab"]
    words = sorted(ids, key=ids.get)
    control = {token["content"] for token in tokenizer["added_tokens"] if token["special"]}
    tokens = [word if word in control else word[2:] if word.startswith("##") else "\u2581" + word for word in words]
    return {"general.architecture": "bert", "bert.attention.layer_norm_epsilon": config["layer_norm_eps"],
            "bert.attention.causal": False, "bert.pooling_type": POOLING[modes[0]],
            "tokenizer.ggml.model": "bert", "tokenizer.ggml.pre": "jina-v2-en", "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": [np.int32(3 if word in control else 1) for word in words],
            "tokenizer.ggml.normalizer.lowercase": tokenizer["normalizer"]["lowercase"],
            **{key: config[size] for key, size in SIZES.items()},
            **{f"tokenizer.ggml.{role}_token_id": ids[word] for role, word in SPECIAL.items()}}


def tensors_of(file, layers, quantize):
    """The name, the shape, the type and the bytes of each tensor."""
    names = {f"embeddings.{key}": name for key, name in {**TABLES, "LayerNorm": "token_embd_norm"}.items()}
    names |= {f"encoder.layer.{i}.{key}": f"blk.{i}.{name}" for i in range(layers) for key, name in LAYER.items()}
    data = np.fromfile(file, np.uint8)
    start = 8 + int(data[:8].view("<u8")[0])
    for key, info in json.loads(bytes(data[8:start])).items():
        module, _, part = key.removeprefix("bert.").rpartition(".")
        if module in names:  # the others are a pooler, and numbers of positions
            if info["dtype"] != "F32":
                raise ValueError(f"{file.name}: dtype of {key} must be F32, got {info['dtype']}")
            begin, end = info["data_offsets"]
            values = data[start + begin:start + end]
            q8_0 = quantize and len(info["shape"]) == 2 and names[module] not in ("position_embd", "token_types")
            yield f"{names[module]}.{part}", info["shape"], 8 if q8_0 else 0, (rounded(values) if q8_0 else values).tobytes()


def rounded(values):
    """Q8_0: blocks of 32 numbers, each a float16 scale and 32 int8."""
    blocks = values.view("<f4").reshape(-1, 32)
    scales = np.abs(blocks).max(1, keepdims=True) / np.float32(127)
    steps = np.rint(blocks / np.where(scales == 0, 1, scales)).astype(np.int8)
    return np.hstack([scales.astype("<f2").view(np.uint8), steps.view(np.uint8)])


def packed(value):
    """The type and the bytes of a value."""
    if isinstance(value, list):
        items = [packed(item) for item in value]
        return 9, struct.pack("<IQ", items[0][0], len(items)) + b"".join(data for _, data in items)
    if isinstance(value, str):
        return 8, struct.pack("<Q", len(value.encode())) + value.encode()
    kind, form = {bool: (7, "<?"), int: (4, "<I"), np.int32: (5, "<i"), float: (6, "<f")}[type(value)]
    return kind, struct.pack(form, value)


parser = argparse.ArgumentParser(description="Turns a folder of a BERT sentence encoder into a GGUF file for llama.cpp.")
parser.add_argument("folder", metavar="FOLDER", type=Path, help="Hugging Face folder, float32, mean or CLS pooling")
parser.add_argument("out", metavar="OUT.gguf", help="output file")
parser.add_argument("--q8_0", action="store_true", help="int8 word embeddings and linear weights; float32 if absent")
o = parser.parse_args()
try:
    values = {"general.file_type": 7 if o.q8_0 else 0, **values_of(o.folder)}
    tensors = [*tensors_of(o.folder / "model.safetensors", values["bert.block_count"], o.q8_0)]
except (OSError, ValueError, KeyError) as error:
    parser.exit(2, f"gguf.py: {o.folder}: {error}\n")
head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(values))
for key, value in values.items():
    kind, data = packed(value)
    head += packed(key)[1] + struct.pack("<I", kind) + data
offset = 0
for name, shape, kind, data in tensors:
    head += packed(name)[1] + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind, offset)
    offset += len(data) + -len(data) % 32
with open(o.out, "wb") as file:
    file.writelines(data + bytes(-len(data) % 32) for data in [head, *(data for *_, data in tensors)])
