"""Small tokenizers for the folders: their files, and WordPiece itself for plain ASCII text."""

import json
import re

WORDS = ("the cat sat on a mat how many people live in paris is was city river big old who what where "
         "she he it runs and of to").split()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MARKS = ".,?!'-"
BERT = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
ROBERTA = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
QWEN = {"pad": "<|endoftext|>", "cls": "<|im_start|>", "sep": "<|im_end|>"}
MPNET = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "[UNK]", "mask": "<mask>"}


class Vocabulary:
    """Tokens by number, the names of the special ones, and the files to write."""

    def __init__(self, kind, names):
        self.kind, self.names = kind, names
        first = [names[key] for key in names if key != "mask" or names is BERT]
        last = [names["mask"]] if "mask" in names and names is not BERT else []
        self.tokens = first + {"WordPiece": word_pieces, "BPE": self.byte_pairs,
                               "Unigram": unigram_pieces}[kind]() + last
        self.index = {token: i for i, token in enumerate(self.tokens)}

    def __len__(self):
        return len(self.tokens)

    def id(self, name):
        return self.index[self.names[name]]

    def byte_pairs(self):
        self.merges = trained_merges(WORDS)
        return sorted(BYTES.values()) + [left + right for left, right in self.merges]

    def model(self):
        unk = self.names.get("unk")
        if self.kind == "WordPiece":
            return {"type": "WordPiece", "unk_token": unk, "continuing_subword_prefix": "##",
                    "max_input_chars_per_word": 100, "vocab": self.index}
        if self.kind == "BPE":
            return {"type": "BPE", "dropout": None, "unk_token": unk, "continuing_subword_prefix": "",
                    "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False,
                    "vocab": self.index, "merges": [" ".join(pair) for pair in self.merges]}
        scores = [0.0 if token in self.names.values() else -3.0 - 8.0 / len(token)
                  for token in self.tokens]
        return {"type": "Unigram", "unk_id": self.id("unk"),
                "vocab": [[token, score] for token, score in zip(self.tokens, scores)],
                "byte_fallback": False}

    def steps(self):
        """(normalizer, pre_tokenizer, decoder)"""
        if self.kind == "WordPiece":
            return ({"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                     "strip_accents": None, "lowercase": True}, {"type": "BertPreTokenizer"},
                    {"type": "WordPiece", "prefix": "##", "cleanup": True})
        if self.names is QWEN:
            step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False,
                    "use_regex": False}
            split = {"type": "Split", "pattern": {"Regex": QWEN_WORDS}, "behavior": "Isolated",
                     "invert": False}
            return {"type": "NFC"}, {"type": "Sequence", "pretokenizers": [split, step]}, step
        if self.kind == "BPE":
            step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                    "use_regex": True}
            return None, step, step
        step = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
        return (None, {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, step]}, step)

    def post_processor(self):
        if self.names is QWEN:
            return qwen_post_processor(self.names["pad"], self.id("pad"))
        cls, sep = ([self.names[name], self.id(name)] for name in ("cls", "sep"))
        if self.names is not BERT:
            return {"type": "RobertaProcessing", "sep": sep, "cls": cls, "trim_offsets": True,
                    "add_prefix_space": False}

        def special(token, kind):
            return {"SpecialToken": {"id": token[0], "type_id": kind}}

        def text(name, kind):
            return {"Sequence": {"id": name, "type_id": kind}}
        single = [special(cls, 0), text("A", 0), special(sep, 0)]
        return {"type": "TemplateProcessing", "single": single,
                "pair": single + [text("B", 1), special(sep, 1)],
                "special_tokens": {token: {"id": token, "ids": [i], "tokens": [token]}
                                   for token, i in (cls, sep)}}

    def tokenizer_json(self, trap=False):
        """With `trap`, blocks for truncation and padding that must be ignored."""
        normalizer, pre_tokenizer, decoder = self.steps()
        added = [{"id": self.id(name), "content": self.names[name], "single_word": False,
                  "lstrip": name == "mask" and self.names is not BERT, "rstrip": False,
                  "normalized": False, "special": True} for name in self.names]
        truncation = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
        padding = {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None,
                   "pad_id": self.id("pad"), "pad_type_id": 0, "pad_token": self.names["pad"]}
        return {"version": "1.0", "truncation": truncation if trap else None,
                "padding": padding if trap else None,
                "added_tokens": sorted(added, key=lambda token: token["id"]),
                "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
                "post_processor": self.post_processor(), "decoder": decoder, "model": self.model()}

    def tokenizer_config(self, max_length, feeds_types=True):
        if self.names is QWEN:
            return {"add_bos_token": False, "add_prefix_space": False, "bos_token": None,
                    "clean_up_tokenization_spaces": False, "eos_token": self.names["sep"],
                    "errors": "replace", "model_max_length": max_length, "padding_side": "left",
                    "pad_token": self.names["pad"], "split_special_tokens": False,
                    "tokenizer_class": "Qwen2Tokenizer", "unk_token": None}
        found = {f"{name}_token": token for name, token in self.names.items()}
        inputs = ["input_ids", "token_type_ids", "attention_mask"]
        if not feeds_types:
            inputs.remove("token_type_ids")
        return dict(found, model_max_length=max_length, model_input_names=inputs,
                    tokenizer_class="PreTrainedTokenizerFast")

    def files(self, max_length, feeds_types=True, trap=False, old=False):
        """{name: text}; old: as BERT's first folders, with vocab.txt alone."""
        config = self.tokenizer_config(max_length, feeds_types)
        if old:
            config.update(tokenizer_class="BertTokenizer", do_lower_case=True)
            vocabulary = {"vocab.txt": "".join(f"{token}\n" for token in self.tokens)}
        else:
            compact = {"ensure_ascii": False, "separators": (",", ":")}
            vocabulary = {"tokenizer.json": json.dumps(self.tokenizer_json(trap), **compact)}
        return dict(vocabulary, **{"tokenizer_config.json": json.dumps(config, indent=1) + "\n"})


QWEN_WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
              r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def qwen_post_processor(token, number):
    """Appends one token to each text."""
    def text(name, kind):
        return {"Sequence": {"id": name, "type_id": kind}}
    end = {"SpecialToken": {"id": token, "type_id": 0}}
    return {"type": "Sequence", "processors": [
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        {"type": "TemplateProcessing", "single": [text("A", 0), end],
         "pair": [text("A", 0), end, text("B", 1), end],
         "special_tokens": {token: {"id": token, "ids": [number], "tokens": [token]}}}]}


def word_pieces():
    return (list(MARKS + LETTERS) + [word for word in WORDS if len(word) > 1]
            + ["##" + letter for letter in LETTERS] + ["##s", "##ing", "##ed"][1:])


def unigram_pieces():
    return ["\u2581"] + ["\u2581" + word for word in WORDS] + list(LETTERS + MARKS)


def byte_characters():
    """GPT-2's printable character of each byte."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    found, extra = {}, 0
    for byte in range(256):
        found[byte] = chr(byte if byte in plain else 256 + extra)
        extra += byte not in plain
    return found


BYTES = byte_characters()


def trained_merges(words, count=24):
    """The most frequent pairs of neighbours, one after another."""
    texts = [[BYTES[byte] for byte in (" " + word).encode()] for word in words if len(word) > 1]
    merges = []
    for _ in range(count):
        pairs = {}
        for text in texts:
            for pair in zip(text, text[1:]):
                pairs[pair] = pairs.get(pair, 0) + 1
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        if pairs[best] < 2:
            break
        merges.append(best)
        texts = [merged(text, best) for text in texts]
    return merges


def merged(text, pair):
    found, i = [], 0
    while i < len(text):
        if tuple(text[i:i + 2]) == pair:
            found.append("".join(pair))
            i += 2
        else:
            found.append(text[i])
            i += 1
    return found


def encode_word_pieces(vocabulary, text):
    """[(id, start, end)] of ASCII text without special tokens: WordPiece after BertPreTokenizer."""
    found = []
    for match in re.finditer(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]", text):
        word, pieces, start = match.group(), [], 0
        while start < len(word):
            end = len(word)
            while end > start:
                piece = ("##" if start else "") + word[start:end]
                if piece in vocabulary.index:
                    break
                end -= 1
            if end == start:
                pieces = [(vocabulary.id("unk"), match.start(), match.end())]
                break
            pieces.append((vocabulary.index[piece], match.start() + start, match.start() + end))
            start = end
        found += pieces
    return found
