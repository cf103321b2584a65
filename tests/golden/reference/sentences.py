"""Sentence encoders: a transformer, then the modules of modules.json."""

import copy

import torch

from reference.cases import WORD_PIECE
from reference.families import FAMILIES
from reference.layers import gelu
from reference.vocabularies import encode_word_pieces

TEXTS = ["The cat sat on a mat.", "  How many people live in Paris?  ", "", "river",
         "what is a big old city, and who lives where the river runs in paris and she sat on the mat",
         "xylophone 42 !", "She runs"]
ORDER = ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens",
         "lasttoken")


def pooled(mode, h, m):
    """One vector of the columns h (T, H); m (T) is 1 for those that count."""
    places = torch.arange(1, len(m) + 1, dtype=h.dtype)
    real, count = m[:, None], m.sum()
    if mode in ("mean", "mean_sqrt_len_tokens"):
        least = count.clamp(min=1e-9)
        return (h * real).sum(0) / (least if mode == "mean" else least.sqrt())
    if mode == "weightedmean":
        return (h * real * places[:, None]).sum(0) / (m * places).sum().clamp(min=1e-9)
    chosen = h[m == 1]
    if mode == "max":
        return chosen.max(0).values
    return chosen[0 if mode == "cls" else -1]


def modes(config):
    if "pooling_mode" in config:
        mode = config["pooling_mode"]
        return [mode] if isinstance(mode, str) else mode
    short = {"cls_token": "cls", "max_tokens": "max", "mean_tokens": "mean",
             "weightedmean_tokens": "weightedmean"}
    default = {"mean_tokens": True}
    on = [short.get(key, key) for key in ORDER
          if config.get(f"pooling_mode_{key}", default.get(key, False))]
    return on or ["mean"]


DENSE = {"Tanh": torch.tanh, "Identity": lambda x: x, "ReLU": torch.relu, "GELU": gelu,
         "Sigmoid": torch.sigmoid}


def module(kind, config, w, x):
    """A module after pooling, of x (D)."""
    if kind == "Normalize":
        return x / x.norm().clamp(min=1e-12)
    if kind == "Dense":
        y = w["linear.weight"] @ x + (w["linear.bias"] if config["bias"] else 0)
        return DENSE[config["activation_function"].split(".")[-1]](y)
    if kind == "LayerNorm":
        y = (x - x.mean()) / torch.sqrt(x.var(unbiased=False) + 1e-5)
        return y * w["norm.weight"] + w["norm.bias"]
    assert kind == "Dropout", kind
    return x


class SentenceFolder:
    """A folder in memory: JSON files and weights by path; encodes as the folder says."""

    def __init__(self, files, weights):
        self.files, self.weights = files, weights

    def json(self, path, otherwise=None):
        return self.files.get(path, otherwise)

    def with_files(self, changed):
        """The folder with some JSON files changed; None removes one."""
        files = dict(self.files, **changed)
        return SentenceFolder({path: value for path, value in files.items() if value is not None},
                              self.weights)

    def prompt(self, options):
        settings = self.json("config_sentence_transformers.json", {})
        prompts = settings.get("prompts", {})
        if "prompt" in options:
            return options["prompt"]
        if "prompt_name" in options:
            return prompts[options["prompt_name"]]
        name = settings.get("default_prompt_name")
        return prompts[name] if name else ""

    def most_tokens(self):
        most = self.json("sentence_bert_config.json", {}).get("max_seq_length")
        if most is None:
            most = min(self.json("config.json")["max_position_embeddings"],
                       self.json("tokenizer_config.json")["model_max_length"])
        return most

    def ids(self, text):
        text = text.strip()
        if self.json("sentence_bert_config.json", {}).get("do_lower_case"):
            text = text.lower()
        if self.json("tokenizer.json")["normalizer"]["lowercase"]:
            text = text.lower()
        pieces = [i for i, _, _ in encode_word_pieces(WORD_PIECE, text)]
        pieces = pieces[:self.most_tokens() - 2]
        return [WORD_PIECE.id("cls"), *pieces, WORD_PIECE.id("sep")]

    def transformed(self, text, prompt, dtype):
        ids = torch.tensor(self.ids(prompt + text))
        config = self.json("config.json")
        w = {name: value.to(dtype) for name, value in self.weights[""].items()}
        return FAMILIES[config["model_type"]][0](w, config, ids, torch.zeros_like(ids))

    def pooled(self, config, h, prompt):
        m = torch.ones(len(h), dtype=h.dtype)
        if prompt and not config.get("include_prompt", True):
            m[:len(self.ids(prompt)) - 1] = 0
        return torch.cat([pooled(mode, h, m) for mode in modes(config)])

    def embedding(self, text, options, dtype):
        modules = self.json("modules.json") or [
            {"path": "", "type": "Transformer"}, {"path": "no_such", "type": "Pooling"}]
        prompt = self.prompt(options)
        x = None
        for row in modules:
            kind, path = row["type"].split(".")[-1], row["path"].strip("./")
            config = self.json(f"{path}/config.json", {})
            w = {name: value.to(dtype) for name, value in self.weights.get(path, {}).items()}
            if kind == "Transformer":
                x = self.transformed(text, prompt, dtype)
            elif kind == "StaticEmbedding":
                table = w.get("embedding.weight", w.get("embeddings"))
                ids = [i for i, _, _ in encode_word_pieces(WORD_PIECE, (prompt + text).lower())]
                ids = ids[:self.json(f"{path}/tokenizer.json".strip("/"))["truncation"]["max_length"]]
                x = table[ids].mean(0) if ids else torch.zeros(table.shape[1], dtype=dtype)
            elif kind == "Pooling":
                x = self.pooled(config, x, prompt)
            else:
                x = module(kind, config, w, x)
        x = x[:options.get("truncate_dim", len(x))]
        return module("Normalize", {}, {}, x) if options.get("normalize") else x

    def embeddings(self, options, dtype=torch.float64):
        return torch.stack([self.embedding(text, options, dtype) for text in TEXTS])


def similarities(kind, left, right):
    if kind == "euclidean":
        return -(left[:, None] - right[None]).norm(dim=-1)
    if kind == "manhattan":
        return -(left[:, None] - right[None]).abs().sum(-1)
    if kind == "cosine":
        left, right = (x / x.norm(dim=1, keepdim=True).clamp(min=1e-12) for x in (left, right))
    return left @ right.T


# The combinations: (name, changed files, options of the call).

OLD, NEW = "sentence_transformers.models.", "sentence_transformers.sentence_transformer.modules."


def modules(*rows):
    return [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(rows)]


def chain(*rows):
    return {"modules.json": modules(("", OLD + "Transformer"), ("1_Pooling", OLD + "Pooling"), *rows)}


def old_pooling(*on, **others):
    keys = {f"pooling_mode_{key}": key in on for key in ORDER}
    return {"1_Pooling/config.json": dict({"word_embedding_dimension": 12}, **keys, **others)}


def new_pooling(mode, **others):
    return {"1_Pooling/config.json": dict({"embedding_dimension": 12, "pooling_mode": mode}, **others)}


def dense(activation, bias=True, path="2_Dense"):
    inputs, outputs = (12, 7) if path == "2_Dense" else (7, 5)
    return {f"{path}/config.json": {"in_features": inputs, "out_features": outputs, "bias": bias,
                                    "activation_function": f"torch.nn.modules.{activation}"}}


def cased(tokenizer):
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer["normalizer"]["lowercase"] = False
    return tokenizer


DENSE_MODULE, QUERY = ("2_Dense", OLD + "Dense"), "what is the "
SETTINGS = {"__version__": {"sentence_transformers": "5.1.0"}, "similarity_fn_name": "cosine",
            "prompts": {"query": QUERY, "document": ""}, "default_prompt_name": None}


def combinations(tokenizer):
    cut = {"sentence_bert_config.json": {"max_seq_length": 9, "do_lower_case": False}}
    no_limit = {"sentence_bert_config.json": {"max_seq_length": None, "do_lower_case": False}}
    lower = {"sentence_bert_config.json": {"max_seq_length": 14, "do_lower_case": True}}
    prompted = dict(SETTINGS, default_prompt_name="query")
    rows = [(key, dict(chain(), **old_pooling(key)), {}) for key in ORDER]
    rows += [
        ("as_it_is", {}, {}),
        ("all_modes", dict(chain(), **old_pooling(*ORDER)), {}),
        ("two_modes", dict(chain(), **old_pooling("mean_tokens", "cls_token")), {}),
        ("no_mode", dict(chain(), **old_pooling()), {}),
        ("mode_by_default", dict(chain(), **{"1_Pooling/config.json": {"word_embedding_dimension": 12}}), {}),
        ("new_mode", dict(chain(), **new_pooling("lasttoken")), {}),
        ("new_wins", dict(chain(), **new_pooling("max", pooling_mode_cls_token=True)), {}),
        ("new_modes_in_order", dict(chain(), **new_pooling(["lasttoken", "mean", "cls"])), {}),
        ("no_modules", {"modules.json": None}, {}),
        ("new_names", {"modules.json": modules(
            ("", "sentence_transformers.base.modules.transformer.Transformer"),
            ("1_Pooling", NEW + "pooling.Pooling"), ("2_Normalize", NEW + "normalize.Normalize"))}, {}),
        ("dense_tanh", dict(chain(DENSE_MODULE), **dense("activation.Tanh")), {}),
        ("dense_identity", dict(chain(DENSE_MODULE), **dense("linear.Identity")), {}),
        ("dense_relu", dict(chain(DENSE_MODULE), **dense("activation.ReLU")), {}),
        ("dense_gelu", dict(chain(DENSE_MODULE), **dense("activation.GELU")), {}),
        ("dense_sigmoid", dict(chain(DENSE_MODULE), **dense("activation.Sigmoid")), {}),
        ("two_dense", dict(chain(DENSE_MODULE, ("3_Dense", OLD + "Dense"), ("", OLD + "Normalize")),
                           **dense("activation.Tanh"), **dense("activation.Tanh", False, "3_Dense")), {}),
        ("layer_norm", chain(("4_LayerNorm", OLD + "LayerNorm"), ("5_Dropout", OLD + "Dropout")), {}),
        ("prompt", {}, {"prompt": "where is "}),
        ("prompt_name", {}, {"prompt_name": "query"}),
        ("default_prompt", {"config_sentence_transformers.json": prompted}, {}),
        ("prompt_wins", {"config_sentence_transformers.json": prompted}, {"prompt": "who "}),
        ("prompt_left_out", dict(chain(), **old_pooling("mean_tokens", "cls_token", "weightedmean_tokens",
                                                        include_prompt=False)), {"prompt_name": "query"}),
        ("no_prompt_to_leave_out", dict(chain(), **old_pooling("mean_tokens", include_prompt=False)), {}),
        ("truncated", {}, {"truncate_dim": 5}),
        ("truncated_normalized", {}, {"truncate_dim": 5, "normalize": True}),
        ("normalized", chain(), {"normalize": True}),
        ("nine_tokens", dict(chain(), **old_pooling("lasttoken"), **cut), {}),
        ("no_limit", no_limit, {}),
        ("no_sentence_config", {"sentence_bert_config.json": None}, {}),
        ("lower_case", dict(lower, **{"tokenizer.json": cased(tokenizer)}), {}),
        ("cased", {"tokenizer.json": cased(tokenizer)}, {}),
    ]
    return rows
