"""Converts the folder of a BERT sentence encoder to GGUF, with the keys and types of llama.cpp's own script."""
import argparse
import json
import re
import struct
from pathlib import Path

import numpy as np

POOLING = {"pooling_mode_mean_tokens": 1, "pooling_mode_cls_token": 2}
SPECIAL = {"bos": "[CLS]", "cls": "[CLS]", "seperator": "[SEP]", "unknown": "[UNK]", "padding": "[PAD]"}  # GGUF's spelling
TENSOR = re.compile(r"(?:bert\.)?(?:embeddings|encoder\.layer\.(\d+))\.(.+)\.(weight|bias)")  # not the pooler
MODULES = {"word_embeddings": "token_embd", "position_embeddings": "position_embd", "token_type_embeddings": "token_types",
           "LayerNorm": "token_embd_norm", "attention.self.query": "attn_q", "attention.self.key": "attn_k",
           "attention.self.value": "attn_v", "attention.output.dense": "attn_output", "intermediate.dense": "ffn_up",
           "attention.output.LayerNorm": "attn_output_norm", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}


def packed(value):
    """The type of a value, and its bytes."""
    if isinstance(value, list):
        items = [packed(item) for item in value]
        return struct.pack("<I4sQ", 9, items[0][:4], len(items)) + b"".join(item[4:] for item in items)
    if isinstance(value, str):
        return struct.pack("<IQ", 8, len(value.encode())) + value.encode()
    kind, form = {bool: (7, "?"), int: (4, "I"), np.int32: (5, "i"), float: (6, "f")}[type(value)]
    return struct.pack(f"<I{form}", kind, value)


def metadata(folder):
    config, tokenizer, pooling = (json.loads((folder / file).read_text("utf-8"))
                                  for file in ("config.json", "tokenizer.json", "1_Pooling/config.json"))
    modes = [key for key, value in pooling.items() if key.startswith("pooling_mode_") and value is True]
    kinds = [(tokenizer.get(part) or {}).get("type") for part in ("model", "normalizer")]
    allowed = [["bert", "gelu", "WordPiece", "BertNormalizer", mode] for mode in POOLING]
    if (got := [config.get("model_type"), config.get("hidden_act"), *kinds, *modes]) not in allowed:
        raise ValueError(f"type, activation, tokens, normalizer and pooling must be one of {allowed}, got {got}")
    ids = tokenizer["model"]["vocab"]
    words = sorted(ids, key=ids.get)
    control = {token["content"] for token in tokenizer["added_tokens"] if token["special"]}
    tokens = [word if word in control else word[2:] if word.startswith("##") else "\u2581" + word for word in words]
    return {"general.architecture": "bert", "bert.attention.layer_norm_epsilon": config["layer_norm_eps"],
            "bert.attention.causal": False, "bert.pooling_type": POOLING[modes[0]],
            "tokenizer.ggml.model": "bert", "tokenizer.ggml.pre": "jina-v2-en", "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": [np.int32(3 if word in control else 1) for word in words],
            "tokenizer.ggml.normalizer.lowercase": tokenizer["normalizer"]["lowercase"],
            "bert.block_count": config["num_hidden_layers"], "bert.context_length": config["max_position_embeddings"],
            "bert.embedding_length": config["hidden_size"], "bert.feed_forward_length": config["intermediate_size"],
            "bert.attention.head_count": config["num_attention_heads"], "tokenizer.ggml.token_type_count": config["type_vocab_size"],
            **{f"tokenizer.ggml.{role}_token_id": ids[word] for role, word in SPECIAL.items()}}


def tensors(file, q8_0):
    """The name, shape, type and bytes of each tensor."""
    data = np.fromfile(file, np.uint8)
    start = 8 + int(data[:8].view("<u8")[0])
    for key, info in json.loads(bytes(data[8:start])).items():
        if not (match := TENSOR.fullmatch(key)):
            continue
        if info["dtype"] != "F32":
            raise ValueError(f"{file.name}: dtype of {key} must be F32, got {info['dtype']}")
        layer, module, part = match.groups()
        name, shape, (begin, end) = MODULES[module], info["shape"], info["data_offsets"]
        values, kind = data[start + begin:start + end].view("<f4"), 0
        if q8_0 and len(shape) == 2 and name not in ("position_embd", "token_types"):
            blocks, kind = values.reshape(-1, 32), 8  # 32 numbers become a float16 scale and 32 int8
            scales = np.abs(blocks).max(1, keepdims=True) / np.float32(127)
            codes = np.rint(blocks / np.where(scales == 0, 1, scales)).astype(np.int8)
            values = np.hstack([scales.astype("<f2").view(np.uint8), codes.view(np.uint8)])
        yield f"blk.{layer}.{name}.{part}" if layer else f"{name}.{part}", shape, kind, values.tobytes()


parser = argparse.ArgumentParser(description="Converts the folder of a BERT sentence encoder to GGUF, for llama.cpp.")
parser.add_argument("folder", metavar="FOLDER", type=Path, help="Hugging Face folder, float32, mean or CLS pooling")
parser.add_argument("out", metavar="OUT.gguf", type=Path, help="output file")
parser.add_argument("--q8_0", action="store_true", help="int8 word embeddings and linear weights; float32 if absent")
o = parser.parse_args()
try:
    values = {"general.file_type": 7 if o.q8_0 else 0, **metadata(o.folder)}
    parts = [*tensors(o.folder / "model.safetensors", o.q8_0)]
except (OSError, ValueError, KeyError) as error:
    parser.exit(2, f"gguf.py: {o.folder}: {error}\n")
head, offset = struct.pack("<4sIQQ", b"GGUF", 3, len(parts), len(values)), 0
head += b"".join(packed(key)[4:] + packed(value) for key, value in values.items())
for name, shape, kind, data in parts:
    head += packed(name)[4:] + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind, offset)
    offset += len(data) + -len(data) % 32
o.out.write_bytes(b"".join(data + bytes(-len(data) % 32) for data in [head, *(data for *_, data in parts)]))
