"""Encoders with several vectors or a sparse vector per text: `colbert` as PyLate saves it, `stanford`
as the ColBERT library does, `splade` of sentence-transformers, and `m3` as bge-m3, which has both."""

import json
import string

import torch

from reference.cases import MPNET_PIECE, WORD_PIECE, config, roberta_config
from reference.families import FAMILIES, bert
from reference.files import write_expected, write_json, write_safetensors
from reference.heads import BERT
from reference.sentences import TEXTS, modules
from reference.vocabularies import encode_word_pieces

QUERY, DOCUMENT = "[Q] ", "[D] "
LENGTHS = {True: 11, False: 16}  # of queries and of documents


def token(name):
    return WORD_PIECE.index.get(name, WORD_PIECE.id("unk"))


def added(tokenizer, *names):
    """The tokenizer.json with further tokens, as add_tokens makes them."""
    for name in names:
        tokenizer["added_tokens"].append(
            {"id": len(WORD_PIECE) + names.index(name), "content": name, "single_word": False,
             "lstrip": False, "rstrip": False, "normalized": True, "special": False})
    return tokenizer


def frame(text, most, vocabulary=WORD_PIECE):
    pieces = [i for i, _, _ in encode_word_pieces(vocabulary, text.strip().lower())][:most - 2]
    return [vocabulary.id("cls"), *pieces, vocabulary.id("sep")]


def vectors(w, projections, settings, text, is_query, prefix, c, dtype):
    """(rows, W): what is kept of a text."""
    most = LENGTHS[is_query]
    ids = frame(text, most - 1)
    ids = [ids[0], prefix, *ids[1:]]
    own = len(ids)
    expands = is_query and settings["do_query_expansion"]
    if expands:
        ids += [WORD_PIECE.id("mask")] * (most - own)
    hidden = torch.zeros(len(ids), len(ids), dtype=torch.bool)
    if expands and not settings["attend_to_expansion_tokens"]:
        hidden[:, own:] = True
    w = {name: value.to(dtype) for name, value in w.items()}
    ids = torch.tensor(ids)
    x = bert(w, c, ids, torch.zeros_like(ids), hidden)
    for projection in projections:
        x = x @ projection.to(dtype).T
    x = x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)
    skipped = [] if is_query else [token(word) for word in settings["skiplist_words"]]
    return x[[i for i, n in enumerate(ids.tolist()) if n not in skipped]]


def max_sim(query, document):
    return sum(max(float(q @ d) for d in document) for q in query)


def multi_entries(w, projections, settings, prefixes, c):
    """The vectors of all texts as queries and as documents, one after the other, and the scores."""
    found = {True: [], False: []}
    for is_query in (True, False):
        for text in TEXTS:
            double, single = (vectors(w, projections, settings, text, is_query, prefixes[is_query], c, dtype)
                              for dtype in (torch.float64, torch.float32))
            assert (double - single).abs().max() < 5e-6
            found[is_query].append(double)
    scores = torch.tensor([[max_sim(q, d) for d in found[False]] for q in found[True]])
    return {"queries": torch.cat(found[True]).float(), "documents": torch.cat(found[False]).float(),
            "query_lengths": torch.tensor([len(x) for x in found[True]]),
            "document_lengths": torch.tensor([len(x) for x in found[False]]),
            "scores": scores.float()}


def write_folder(path, files, weights, texts=TEXTS):
    for name, value in files.items():
        write_json(path / name, value)
    for name, tensors in weights.items():
        (path / name).mkdir(parents=True, exist_ok=True)
        write_safetensors(path / name / "model.safetensors", tensors)
    write_json(path / "texts.json", texts)


def tokenizer_files(*names):
    files = WORD_PIECE.files(40, feeds_types=False)
    parsed = {name: json.loads(text) for name, text in files.items()}
    added(parsed["tokenizer.json"], *names)
    return parsed


PYLATE = {"__version__": {"sentence_transformers": "5.1.1"}, "prompts": {}, "default_prompt_name": None,
          "similarity_fn_name": "MaxSim", "query_prefix": QUERY, "document_prefix": DOCUMENT,
          "query_length": LENGTHS[True], "document_length": LENGTHS[False],
          "attend_to_expansion_tokens": False, "skiplist_words": list(string.punctuation),
          "do_query_expansion": True, "model_type": "ColBERT"}


def colbert(path, draw):
    c = config("BertModel", "bert", WORD_PIECE, vocab_size=len(WORD_PIECE) + 2)
    w = {name: draw(name, shape) for name, shape in FAMILIES["bert"][1](c).items()}
    projections = [draw("linear.weight", (9, 12)), draw("linear.weight", (7, 9))]
    dense = {"bias": False, "activation_function": "torch.nn.modules.linear.Identity",
             "module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}
    files = dict(tokenizer_files(QUERY, DOCUMENT), **{
        "config.json": c, "config_sentence_transformers.json": PYLATE,
        "sentence_bert_config.json": {"max_seq_length": 10, "do_lower_case": False},
        "modules.json": modules(("", "sentence_transformers.models.Transformer"),
                                ("1_Dense", "pylate.models.Dense.Dense"),
                                ("2_Dense", "pylate.models.Dense.Dense")),
        "1_Dense/config.json": dict(dense, in_features=12, out_features=9),
        "2_Dense/config.json": dict(dense, in_features=9, out_features=7)})
    write_folder(path, files, {"": w, "1_Dense": {"linear.weight": projections[0]},
                               "2_Dense": {"linear.weight": projections[1]}})
    prefixes = {True: len(WORD_PIECE), False: len(WORD_PIECE) + 1}
    entries = {}
    for name, changes in (("", {}), ("attended.", {"attend_to_expansion_tokens": True}),
                          ("plain.", {"do_query_expansion": False, "skiplist_words": []})):
        found = multi_entries(w, projections, dict(PYLATE, **changes), prefixes, c)
        entries.update({name + key: value for key, value in found.items()})
    write_expected(path, entries)


def stanford(path, draw):
    c = config("HF_ColBERT", "bert", WORD_PIECE)
    w = {name: draw(name, shape) for name, shape in FAMILIES["bert"][1](c).items()}
    projection = draw("linear.weight", (6, 12))
    meta = {"query_token_id": "cat", "doc_token_id": "city", "query_token": "[Q]", "doc_token": "[D]",
            "attend_to_mask_tokens": False, "query_maxlen": LENGTHS[True], "doc_maxlen": LENGTHS[False],
            "mask_punctuation": True, "similarity": "cosine", "dim": 6, "checkpoint": "none"}
    stored = {"bert." + name: value for name, value in w.items()}
    write_folder(path, dict(tokenizer_files(), **{"config.json": c, "artifact.metadata": meta}),
                 {"": dict(stored, **{"linear.weight": projection})})
    settings = {"do_query_expansion": True, "attend_to_expansion_tokens": False,
                "skiplist_words": list(string.punctuation)}
    write_expected(path, multi_entries(w, [projection], settings,
                                       {True: token("cat"), False: token("city")}, c))


def splade(path, draw):
    c = config("BertForMaskedLM", "bert", WORD_PIECE)
    shapes, forward = BERT["masked"]
    w = {name: draw(name, shape) for name, shape in dict(FAMILIES["bert"][1](c), **shapes(c)).items()}
    kind = "sentence_transformers.sparse_encoder.models."
    files = dict(tokenizer_files(), **{
        "config.json": c, "sentence_bert_config.json": {"max_seq_length": 14, "do_lower_case": False},
        "config_sentence_transformers.json": {"model_type": "SparseEncoder", "prompts": {},
                                              "default_prompt_name": None, "similarity_fn_name": "dot"},
        "modules.json": modules(("", kind + "MLMTransformer"), ("1_SpladePooling", kind + "SpladePooling")),
        "1_SpladePooling/config.json": {"pooling_strategy": "max", "activation_function": "relu",
                                        "word_embedding_dimension": len(WORD_PIECE)}})
    stored = {name if name.startswith("cls.") else "bert." + name: value for name, value in w.items()}
    write_folder(path, files, {"": stored})
    entries = {}
    double = {name: value.double() for name, value in w.items()}
    for text in TEXTS:
        ids = torch.tensor(frame(text, 14))
        scores = torch.relu(forward(double, c, bert(double, c, ids, torch.zeros_like(ids))))
        for name, weights in (("once", torch.log1p(scores)), ("twice", torch.log1p(torch.log1p(scores)))):
            entries.setdefault(f"max.{name}", []).append(weights.max(0).values)
            entries.setdefault(f"sum.{name}", []).append(weights.sum(0))
    write_expected(path, {name: torch.stack(rows).float() for name, rows in entries.items()})


def m3(path, draw):
    c = roberta_config("XLMRobertaModel", "xlm-roberta", MPNET_PIECE)
    w = {name: draw(name, shape) for name, shape in FAMILIES["xlm-roberta"][1](c).items()}
    sparse = {"weight": draw("linear.weight", (1, 12)), "bias": draw("linear.bias", (1,)) - 1.75}
    multi = {"weight": draw("linear.weight", (9, 12)), "bias": draw("linear.bias", (9,))}
    kind = "sentence_transformers.models."
    files = {name: json.loads(text) for name, text in MPNET_PIECE.files(40, feeds_types=False).items()}
    write_folder(path, dict(files, **{
        "config.json": c, "sentence_bert_config.json": {"max_seq_length": 20, "do_lower_case": False},
        "config_sentence_transformers.json": {"__version__": {"sentence_transformers": "2.2.2"}},
        "modules.json": modules(("", kind + "Transformer"), ("1_Pooling", kind + "Pooling"),
                                ("2_Normalize", kind + "Normalize")),
        "1_Pooling/config.json": {"word_embedding_dimension": 12, "pooling_mode_cls_token": True,
                                  "pooling_mode_mean_tokens": False}}), {"": w})
    write_safetensors(path / "sparse_linear.safetensors", sparse)
    write_safetensors(path / "colbert_linear.safetensors", multi)
    double, sparse, multi = ({name: value.double() for name, value in each.items()}
                             for each in (w, sparse, multi))
    unused = [MPNET_PIECE.id(name) for name in ("cls", "sep", "pad", "unk")]
    vectors, weights, single = [], [], []
    for text in TEXTS:
        ids = frame(text, 20, MPNET_PIECE)
        x = bert(double, c, torch.tensor(ids), torch.zeros(len(ids), dtype=torch.long))
        row = torch.zeros(len(MPNET_PIECE), dtype=torch.float64)
        for i, h in zip(ids, x):
            if i not in unused:
                row[i] = max(row[i], torch.relu(sparse["weight"][0] @ h + sparse["bias"][0]))
        y = x[1:] @ multi["weight"].T + multi["bias"]
        weights.append(row)
        vectors.append(y / y.norm(dim=1, keepdim=True))
        single.append(x[0] / x[0].norm())
    scores = torch.tensor([[max_sim(q, d) / len(q) for d in vectors] for q in vectors])
    write_expected(path, {"vectors": torch.cat(vectors).float(), "scores": scores.float(),
                          "rows": torch.tensor([len(x) for x in vectors]),
                          "weights": torch.stack(weights).float(), "single": torch.stack(single).float()})
