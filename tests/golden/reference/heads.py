"""The heads: what stands behind an encoder's vectors x (T, H), by the names of the file.

Each head is (shapes(c), forward(w, c, x)). Names here have no prefix: heads stand outside of it,
but for the pooler.
"""

import torch

from reference.families import Shapes
from reference.layers import ACTIVATIONS, linear, norm


def hidden_size(c):
    return c.get("hidden_size") or c.get("dim") or c["n_embd"]


def inner_width(c):
    return c.get("embedding_size", hidden_size(c))


def eps(c):
    return c.get("layer_norm_eps", c.get("norm_eps", 1e-12))


def labels(c):
    return len(c["id2label"])


def linears(*rows):
    """Shapes of linears: (name, outputs, inputs), each a function of the config or a number."""
    def shapes(c):
        found = Shapes()
        for name, outputs, inputs in rows:
            found.linear(name, outputs if isinstance(outputs, int) else outputs(c), inputs(c))
        return found
    return shapes


def plain(name, outputs):
    """A linear on every token."""
    return linears((name, outputs, hidden_size)), lambda w, c, x: linear(w, name, x)


# One vector of a text.

def pooler(w, c, x):
    name = "pooler.dense" if "pooler.dense.weight" in w else "pooler"
    return torch.tanh(linear(w, name, x[:1]))


BERT_POOLER = linears(("pooler.dense", hidden_size, hidden_size)), pooler
ALBERT_POOLER = linears(("pooler", hidden_size, hidden_size)), pooler


def of_pooled(name, outputs):
    return (linears((name, outputs, hidden_size)),
            lambda w, c, x: linear(w, name, pooler(w, c, x)))


def first_token(dense, activation, out):
    """out(activation(dense(x0)))"""
    return (linears((dense, hidden_size, hidden_size), (out, labels, hidden_size)),
            lambda w, c, x: linear(w, out, ACTIVATIONS[activation](linear(w, dense, x[:1]))))


# ModernBERT's: the same dense and norm before every head.

def modern_shapes(c):
    shapes = Shapes()
    shapes.linear("head.dense", c["hidden_size"], c["hidden_size"], c["classifier_bias"])
    shapes.norm("head.norm", c["hidden_size"], c["norm_bias"])
    return shapes


def modern_head(w, c, x):
    act = ACTIVATIONS[c["classifier_activation"]]
    return norm(w, "head.norm", act(linear(w, "head.dense", x)), c["norm_eps"])


def modern_classifier_shapes(c):
    shapes = modern_shapes(c)
    shapes.linear("classifier", labels(c), c["hidden_size"])
    return shapes


def modern_sequence(w, c, x):
    pooled = x[:1] if c["classifier_pooling"] == "cls" else x.mean(0, keepdim=True)
    return linear(w, "classifier", modern_head(w, c, pooled))


def modern_tokens(w, c, x):
    return linear(w, "classifier", modern_head(w, c, x))


# Masked language models: scores x E^T + bias, E the table of words.

def masked(dense, layer_norm, bias, activation, table="embeddings.word_embeddings.weight"):
    def shapes(c):
        found = Shapes()
        found.linear(dense, inner_width(c), hidden_size(c))
        found.norm(layer_norm, inner_width(c))
        found[bias] = (c["vocab_size"],)
        return found

    def forward(w, c, x):
        act = ACTIVATIONS[activation if activation in ACTIVATIONS else c[activation]]
        return norm(w, layer_norm, act(linear(w, dense, x)), eps(c)) @ w[table].T + w[bias]
    return shapes, forward


def modern_masked_shapes(c):
    shapes = modern_shapes(c)
    shapes["decoder.bias"] = (c["vocab_size"],)
    return shapes


def modern_masked(w, c, x):
    return modern_head(w, c, x) @ w["embeddings.tok_embeddings.weight"].T + w["decoder.bias"]


# EuroBERT's.

def plain_masked_shapes(c):
    shapes = Shapes()
    shapes.linear("lm_head", c["vocab_size"], c["hidden_size"], c["mlp_bias"])
    return shapes


def euro_sequence(w, c, x):
    kind = c.get("classifier_pooling", c.get("clf_pooling"))
    pooled = {"bos": x[:1], "mean": x.mean(0, keepdim=True), "late": x}[kind]
    scores = linear(w, "classifier", ACTIVATIONS["gelu"](linear(w, "dense", pooled)))
    return scores.mean(0, keepdim=True)


# ELECTRA's discriminator.

def replaced(w, c, x):
    inner = ACTIVATIONS[c["hidden_act"]](linear(w, "discriminator_predictions.dense", x))
    return linear(w, "discriminator_predictions.dense_prediction", inner)


ANSWERS = plain("qa_outputs", 2)
TOKENS = plain("classifier", labels)
LM_HEAD = masked("lm_head.dense", "lm_head.layer_norm", "lm_head.bias", "gelu")
OUT_PROJ = first_token("classifier.dense", "tanh", "classifier.out_proj")

BERT = {
    "pooled": BERT_POOLER, "sequence": of_pooled("classifier", labels), "tokens": TOKENS,
    "answers": ANSWERS, "next_sentence": of_pooled("cls.seq_relationship", 2),
    "masked": masked("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                     "cls.predictions.bias", "hidden_act"),
}
ROBERTA = {"sequence": OUT_PROJ, "answers": ANSWERS, "masked": LM_HEAD}
XLM_ROBERTA = {"tokens": TOKENS, "answers": ANSWERS, "masked": LM_HEAD}
DISTILBERT = {
    "sequence": first_token("pre_classifier", "relu", "classifier"), "tokens": TOKENS,
    "answers": ANSWERS,
    "masked": masked("vocab_transform", "vocab_layer_norm", "vocab_projector.bias", "activation"),
}
ALBERT = {
    "pooled": ALBERT_POOLER, "sequence": of_pooled("classifier", labels), "tokens": TOKENS,
    "answers": ANSWERS, "next_sentence": of_pooled("sop_classifier.classifier", 2),
    "masked": masked("predictions.dense", "predictions.LayerNorm", "predictions.bias", "hidden_act"),
}
ELECTRA = {
    "sequence": first_token("classifier.dense", "gelu", "classifier.out_proj"), "answers": ANSWERS,
    "masked": masked("generator_predictions.dense", "generator_predictions.LayerNorm",
                     "generator_lm_head.bias", "gelu"),
    "replaced": (linears(("discriminator_predictions.dense", hidden_size, hidden_size),
                         ("discriminator_predictions.dense_prediction", 1, hidden_size)), replaced),
}
MODERNBERT = {
    "sequence": (modern_classifier_shapes, modern_sequence),
    "tokens": (modern_classifier_shapes, modern_tokens),
    "answers": (modern_classifier_shapes, modern_tokens),
    "masked": (modern_masked_shapes, modern_masked),
}
EUROBERT = {
    "sequence": (linears(("dense", hidden_size, hidden_size), ("classifier", labels, hidden_size)),
                 euro_sequence),
    "tokens": TOKENS, "masked": (plain_masked_shapes, lambda w, c, x: linear(w, "lm_head", x)),
}
DEBERTA = {
    "sequence": first_token("pooler.dense", "gelu", "classifier"), "tokens": TOKENS,
    "answers": ANSWERS, "masked": BERT["masked"],
}
DEBERTA_OLD = {"masked": masked("lm_predictions.lm_head.dense", "lm_predictions.lm_head.LayerNorm",
                                "lm_predictions.lm_head.bias", "hidden_act")}
GTE = {"pooled": BERT_POOLER, "sequence": of_pooled("classifier", labels), "tokens": TOKENS}
