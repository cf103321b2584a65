"""The encoders: encode(w, c, ids, types) -> (T, H), and the shapes of their weights.

c is config.json. `shapes(c)` gives {name: shape} in the order of the file.
"""

import math

import torch

from reference.layers import (ACTIVATIONS, attention, bucket, frequencies, linear, norm, rms_norm,
                              rotate, running_positions, split_heads)


class Shapes(dict):
    """{name: shape}, filled layer by layer."""

    def linear(self, name, rows, columns, bias=True):
        self[f"{name}.weight"] = (rows, columns)
        if bias:
            self[f"{name}.bias"] = (rows,)

    def norm(self, name, width, bias=True):
        self[f"{name}.weight"] = (width,)
        if bias:
            self[f"{name}.bias"] = (width,)

    def table(self, name, rows, width):
        self[f"{name}.weight"] = (rows, width)


# BERT, RoBERTa, XLM-R, ELECTRA.

def bert_embeddings(w, c, ids, types, positions):
    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][positions]
    if "embeddings.token_type_embeddings.weight" in w:
        x = x + w["embeddings.token_type_embeddings.weight"][types]
    return norm(w, "embeddings.LayerNorm", x, c.get("layer_norm_eps", 1e-12))


def bert_layer(w, c, layer, x, hidden=None):
    eps, heads = c["layer_norm_eps"], c["num_attention_heads"]
    q, k, v = (linear(w, f"{layer}.attention.self.{part}", x) for part in ("query", "key", "value"))
    mixed = linear(w, f"{layer}.attention.output.dense", attention(q, k, v, heads, hidden=hidden))
    x = norm(w, f"{layer}.attention.output.LayerNorm", x + mixed, eps)
    inner = ACTIVATIONS[c["hidden_act"]](linear(w, f"{layer}.intermediate.dense", x))
    return norm(w, f"{layer}.output.LayerNorm", x + linear(w, f"{layer}.output.dense", inner), eps)


def bert(w, c, ids, types, hidden=None):
    positions = torch.arange(len(ids))
    if c["model_type"] in ("roberta", "xlm-roberta", "camembert"):
        positions = running_positions(ids, c["pad_token_id"])
        types = torch.zeros_like(ids)
    x = bert_embeddings(w, c, ids, types, positions)
    if "embeddings_project.weight" in w:
        x = linear(w, "embeddings_project", x)
    for i in range(c["num_hidden_layers"]):
        x = bert_layer(w, c, f"encoder.layer.{i}", x, hidden)
    return x


def bert_embedding_shapes(c, width):
    shapes = Shapes()
    shapes.table("embeddings.word_embeddings", c["vocab_size"], width)
    shapes.table("embeddings.position_embeddings", c["max_position_embeddings"], width)
    if c.get("type_vocab_size", 0):
        shapes.table("embeddings.token_type_embeddings", c["type_vocab_size"], width)
    shapes.norm("embeddings.LayerNorm", width)
    return shapes


def bert_shapes(c):
    hidden, inner = c["hidden_size"], c["intermediate_size"]
    width = c.get("embedding_size", hidden)
    shapes = bert_embedding_shapes(c, width)
    if width != hidden:
        shapes.linear("embeddings_project", hidden, width)
    for i in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        for part in ("query", "key", "value"):
            shapes.linear(f"{layer}.attention.self.{part}", hidden, hidden)
        shapes.linear(f"{layer}.attention.output.dense", hidden, hidden)
        shapes.norm(f"{layer}.attention.output.LayerNorm", hidden)
        shapes.linear(f"{layer}.intermediate.dense", inner, hidden)
        shapes.linear(f"{layer}.output.dense", hidden, inner)
        shapes.norm(f"{layer}.output.LayerNorm", hidden)
    return shapes


# DistilBERT.

def distilbert(w, c, ids, types):
    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][:len(ids)]
    x = norm(w, "embeddings.LayerNorm", x, 1e-12)
    for i in range(c["n_layers"]):
        layer = f"transformer.layer.{i}"
        q, k, v = (linear(w, f"{layer}.attention.{part}_lin", x) for part in "qkv")
        mixed = linear(w, f"{layer}.attention.out_lin", attention(q, k, v, c["n_heads"]))
        x = norm(w, f"{layer}.sa_layer_norm", x + mixed, 1e-12)
        inner = ACTIVATIONS[c["activation"]](linear(w, f"{layer}.ffn.lin1", x))
        x = norm(w, f"{layer}.output_layer_norm", x + linear(w, f"{layer}.ffn.lin2", inner), 1e-12)
    return x


def distilbert_shapes(c):
    hidden, shapes = c["dim"], Shapes()
    shapes.table("embeddings.word_embeddings", c["vocab_size"], hidden)
    shapes.table("embeddings.position_embeddings", c["max_position_embeddings"], hidden)
    shapes.norm("embeddings.LayerNorm", hidden)
    for i in range(c["n_layers"]):
        layer = f"transformer.layer.{i}"
        for part in ("q_lin", "k_lin", "v_lin", "out_lin"):
            shapes.linear(f"{layer}.attention.{part}", hidden, hidden)
        shapes.norm(f"{layer}.sa_layer_norm", hidden)
        shapes.linear(f"{layer}.ffn.lin1", c["hidden_dim"], hidden)
        shapes.linear(f"{layer}.ffn.lin2", hidden, c["hidden_dim"])
        shapes.norm(f"{layer}.output_layer_norm", hidden)
    return shapes


# MPNet.

def mpnet(w, c, ids, types):
    eps = c["layer_norm_eps"]
    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][running_positions(ids, 1)]
    x = norm(w, "embeddings.LayerNorm", x, eps)
    count = len(ids)
    index = torch.tensor([[bucket(j - i) for j in range(count)] for i in range(count)])
    bias = w["encoder.relative_attention_bias.weight"][index].permute(2, 0, 1)
    for i in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        q, k, v = (linear(w, f"{layer}.attention.attn.{part}", x) for part in "qkv")
        mixed = attention(q, k, v, c["num_attention_heads"], bias=bias)
        x = norm(w, f"{layer}.attention.LayerNorm", x + linear(w, f"{layer}.attention.attn.o", mixed),
                 eps)
        inner = ACTIVATIONS[c["hidden_act"]](linear(w, f"{layer}.intermediate.dense", x))
        x = norm(w, f"{layer}.output.LayerNorm", x + linear(w, f"{layer}.output.dense", inner), eps)
    return x


def mpnet_shapes(c):
    hidden = c["hidden_size"]
    shapes = bert_embedding_shapes(c, hidden)
    for i in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        for part in "qkvo":
            shapes.linear(f"{layer}.attention.attn.{part}", hidden, hidden)
        shapes.norm(f"{layer}.attention.LayerNorm", hidden)
        shapes.linear(f"{layer}.intermediate.dense", c["intermediate_size"], hidden)
        shapes.linear(f"{layer}.output.dense", hidden, c["intermediate_size"])
        shapes.norm(f"{layer}.output.LayerNorm", hidden)
    shapes.table("encoder.relative_attention_bias", 32, c["num_attention_heads"])
    return shapes


# ALBERT.

def albert(w, c, ids, types):
    eps = c["layer_norm_eps"]
    x = bert_embeddings(w, c, ids, types, torch.arange(len(ids)))
    x = linear(w, "encoder.embedding_hidden_mapping_in", x)
    for i in range(c["num_hidden_layers"]):
        group = int(i / (c["num_hidden_layers"] / c["num_hidden_groups"]))
        for k in range(c["inner_group_num"]):
            layer = f"encoder.albert_layer_groups.{group}.albert_layers.{k}"
            q, key, v = (linear(w, f"{layer}.attention.{part}", x) for part in ("query", "key", "value"))
            mixed = linear(w, f"{layer}.attention.dense",
                           attention(q, key, v, c["num_attention_heads"]))
            x = norm(w, f"{layer}.attention.LayerNorm", x + mixed, eps)
            inner = ACTIVATIONS[c["hidden_act"]](linear(w, f"{layer}.ffn", x))
            x = norm(w, f"{layer}.full_layer_layer_norm", x + linear(w, f"{layer}.ffn_output", inner),
                     eps)
    return x


def albert_shapes(c):
    hidden = c["hidden_size"]
    shapes = bert_embedding_shapes(c, c["embedding_size"])
    shapes.linear("encoder.embedding_hidden_mapping_in", hidden, c["embedding_size"])
    for group in range(c["num_hidden_groups"]):
        for k in range(c["inner_group_num"]):
            layer = f"encoder.albert_layer_groups.{group}.albert_layers.{k}"
            for part in ("query", "key", "value", "dense"):
                shapes.linear(f"{layer}.attention.{part}", hidden, hidden)
            shapes.norm(f"{layer}.attention.LayerNorm", hidden)
            shapes.linear(f"{layer}.ffn", c["intermediate_size"], hidden)
            shapes.linear(f"{layer}.ffn_output", hidden, c["intermediate_size"])
            shapes.norm(f"{layer}.full_layer_layer_norm", hidden)
    return shapes


# Rotary families: one product gives q, k and v, in three blocks.

def rotary_attention(x, qkv, heads, f, hidden=None):
    q, k, v = (split_heads(part, heads) for part in qkv(x).chunk(3, -1))
    return attention(rotate(q, f), rotate(k, f), v, heads, hidden=hidden)


def modernbert_layers(c):
    """(full attention?, theta) of each layer, from either spelling of the config."""
    if "layer_types" in c:
        kinds = [kind == "full_attention" for kind in c["layer_types"]]
        thetas = {kind == "full_attention": value["rope_theta"]
                  for kind, value in c["rope_parameters"].items()}
    else:
        kinds = [i % c["global_attn_every_n_layers"] == 0 for i in range(c["num_hidden_layers"])]
        local = c["local_rope_theta"]
        thetas = {True: c["global_rope_theta"],
                  False: c["global_rope_theta"] if local is None else local}
    return [(kind, thetas[kind]) for kind in kinds]


def modernbert(w, c, ids, types):
    eps, heads = c["norm_eps"], c["num_attention_heads"]
    x = norm(w, "embeddings.norm", w["embeddings.tok_embeddings.weight"][ids], eps)
    places = torch.arange(len(ids))
    far = (places[:, None] - places[None, :]).abs() > c["local_attention"] // 2
    for i, (full, theta) in enumerate(modernbert_layers(c)):
        layer = f"layers.{i}"
        y = x if i == 0 else norm(w, f"{layer}.attn_norm", x, eps)
        mixed = rotary_attention(y, lambda z: linear(w, f"{layer}.attn.Wqkv", z), heads,
                                 frequencies(theta, c["hidden_size"] // heads), None if full else far)
        x = x + linear(w, f"{layer}.attn.Wo", mixed)
        inner, gate = linear(w, f"{layer}.mlp.Wi", norm(w, f"{layer}.mlp_norm", x, eps)).chunk(2, -1)
        act = ACTIVATIONS[c["hidden_activation"]]
        x = x + linear(w, f"{layer}.mlp.Wo", act(inner) * gate)
    return norm(w, "final_norm", x, eps)


def modernbert_shapes(c):
    hidden, inner, shapes = c["hidden_size"], c["intermediate_size"], Shapes()
    shapes.table("embeddings.tok_embeddings", c["vocab_size"], hidden)
    shapes.norm("embeddings.norm", hidden, c["norm_bias"])
    for i in range(c["num_hidden_layers"]):
        layer = f"layers.{i}"
        if i > 0:
            shapes.norm(f"{layer}.attn_norm", hidden, c["norm_bias"])
        shapes.linear(f"{layer}.attn.Wqkv", 3 * hidden, hidden, c["attention_bias"])
        shapes.linear(f"{layer}.attn.Wo", hidden, hidden, c["attention_bias"])
        shapes.norm(f"{layer}.mlp_norm", hidden, c["norm_bias"])
        shapes.linear(f"{layer}.mlp.Wi", 2 * inner, hidden, c["mlp_bias"])
        shapes.linear(f"{layer}.mlp.Wo", hidden, inner, c["mlp_bias"])
    shapes.norm("final_norm", hidden, c["norm_bias"])
    return shapes


def nomic_bert(w, c, ids, types):
    eps, heads = c["layer_norm_epsilon"], c["n_head"]
    f = frequencies(c["rotary_emb_base"], c["n_embd"] // heads)
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][types]
    x = norm(w, "emb_ln", x, eps)
    for i in range(c["n_layer"]):
        layer = f"encoder.layers.{i}"
        mixed = rotary_attention(x, lambda y: linear(w, f"{layer}.attn.Wqkv", y), heads, f)
        x = norm(w, f"{layer}.norm1", x + linear(w, f"{layer}.attn.out_proj", mixed), eps)
        gate = ACTIVATIONS["silu"](linear(w, f"{layer}.mlp.fc12", x))
        inner = linear(w, f"{layer}.mlp.fc2", linear(w, f"{layer}.mlp.fc11", x) * gate)
        x = norm(w, f"{layer}.norm2", x + inner, eps)
    return x


def rounded_up(value, multiple):
    return -(-value // multiple) * multiple


def nomic_shapes(c):
    hidden, shapes = c["n_embd"], Shapes()
    inner = rounded_up(c["n_inner"] or 8 * hidden // 3, 256)
    rows = rounded_up(c["vocab_size"], c["pad_vocab_size_multiple"])
    shapes.table("embeddings.word_embeddings", rows, hidden)
    shapes.table("embeddings.token_type_embeddings", c["type_vocab_size"], hidden)
    shapes.norm("emb_ln", hidden)
    for i in range(c["n_layer"]):
        layer = f"encoder.layers.{i}"
        shapes.linear(f"{layer}.attn.Wqkv", 3 * hidden, hidden, c["qkv_proj_bias"])
        shapes.linear(f"{layer}.attn.out_proj", hidden, hidden, c["qkv_proj_bias"])
        shapes.linear(f"{layer}.mlp.fc11", inner, hidden, c["mlp_fc1_bias"])
        shapes.linear(f"{layer}.mlp.fc12", inner, hidden, c["mlp_fc1_bias"])
        shapes.linear(f"{layer}.mlp.fc2", hidden, inner, c["mlp_fc2_bias"])
        shapes.norm(f"{layer}.norm1", hidden)
        shapes.norm(f"{layer}.norm2", hidden)
    return shapes


def gte(w, c, ids, types):
    eps, heads = c["layer_norm_eps"], c["num_attention_heads"]
    width, scaling = c["hidden_size"] // heads, c.get("rope_scaling")
    if scaling:  # NTK: the base grows, and all frequencies shrink.
        f = frequencies(c["rope_theta"] * scaling["factor"], width) / scaling["factor"] ** (2 / width)
    else:
        f = frequencies(c["rope_theta"], width)
    x = w["embeddings.word_embeddings.weight"][ids]
    if c["type_vocab_size"]:
        x = x + w["embeddings.token_type_embeddings.weight"][types]
    x = norm(w, "embeddings.LayerNorm", x, eps)
    for i in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        mixed = rotary_attention(x, lambda y: linear(w, f"{layer}.attention.qkv_proj", y), heads, f)
        x = norm(w, f"{layer}.attn_ln", x + linear(w, f"{layer}.attention.o_proj", mixed), eps)
        up, gate = linear(w, f"{layer}.mlp.up_gate_proj", x).chunk(2, -1)
        inner = linear(w, f"{layer}.mlp.down_proj", up * ACTIVATIONS[c["hidden_act"]](gate))
        x = norm(w, f"{layer}.mlp_ln", x + inner, eps)
    return x


def gte_shapes(c):
    hidden, inner, shapes = c["hidden_size"], c["intermediate_size"], Shapes()
    shapes.table("embeddings.word_embeddings", c["vocab_size"], hidden)
    if c["type_vocab_size"]:
        shapes.table("embeddings.token_type_embeddings", c["type_vocab_size"], hidden)
    shapes.norm("embeddings.LayerNorm", hidden)
    for i in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        shapes.linear(f"{layer}.attention.qkv_proj", 3 * hidden, hidden)
        shapes.linear(f"{layer}.attention.o_proj", hidden, hidden)
        shapes.norm(f"{layer}.attn_ln", hidden)
        shapes.linear(f"{layer}.mlp.up_gate_proj", 2 * inner, hidden, False)
        shapes.linear(f"{layer}.mlp.down_proj", hidden, inner)
        shapes.norm(f"{layer}.mlp_ln", hidden)
    return shapes


# DeBERTa-v2 and -v3.

def deberta_row(r, span, farthest, buckets):
    """The row of the table for i - j = r."""
    middle = buckets // 2
    if buckets > 0 and abs(r) > middle:
        part = (torch.log(torch.tensor(abs(r) / middle))
                / torch.log(torch.tensor((farthest - 1) / middle)) * (middle - 1))
        r = int(math.copysign(int(torch.ceil(part)) + middle, r))
    return min(max(r + span, 0), 2 * span - 1)


def deberta_span(c):
    """(span, farthest distance, buckets or 0)"""
    farthest = c["max_relative_positions"]
    farthest = farthest if farthest > 0 else c["max_position_embeddings"]
    buckets = max(c.get("position_buckets", -1), 0)
    return buckets or farthest, farthest, buckets


def deberta_attention(w, c, layer, x, table):
    heads, name = c["num_attention_heads"], f"{layer}.attention.self"
    q, k, v = (split_heads(linear(w, f"{name}.{part}_proj", x), heads)
               for part in ("query", "key", "value"))
    kinds = c["pos_att_type"].split("|")
    scores = q @ k.transpose(1, 2)
    own = "" if c.get("share_att_key") else "pos_"
    count = len(x)
    if c["relative_attention"]:
        rows = torch.tensor([[deberta_row(i - j, *deberta_span(c)) for j in range(count)]
                             for i in range(count)])
    for kind in kinds if c["relative_attention"] else ():
        part = "key" if kind == "c2p" else "query"
        vectors = split_heads(linear(w, f"{name}.{own}{part}_proj", table), heads)[:, rows]
        content = q[:, :, None] if kind == "c2p" else k[:, None]
        scores = scores + (content * vectors).sum(-1)
    weights = torch.softmax(scores / math.sqrt(q.shape[-1] * (1 + len(kinds))), -1)
    return (weights @ v).transpose(0, 1).reshape(count, -1)


def deberta_convolution(w, c, x, y):
    size = c["conv_kernel_size"]
    around = torch.cat([x.new_zeros(size // 2, x.shape[1]), x, x.new_zeros(size // 2, x.shape[1])])
    kernel = w["encoder.conv.conv.weight"]
    sums = sum(around[k:k + len(x)] @ kernel[:, :, k].T for k in range(size))
    sums = sums + w["encoder.conv.conv.bias"]
    return norm(w, "encoder.conv.LayerNorm", y + ACTIVATIONS[c["conv_act"]](sums), c["layer_norm_eps"])


def deberta(w, c, ids, types):
    eps = c["layer_norm_eps"]
    x = w["embeddings.word_embeddings.weight"][ids]
    if c["position_biased_input"]:
        x = x + w["embeddings.position_embeddings.weight"][:len(ids)]
    if c["type_vocab_size"]:
        x = x + w["embeddings.token_type_embeddings.weight"][types]
    x = first = norm(w, "embeddings.LayerNorm", x, eps)
    table = w.get("encoder.rel_embeddings.weight")
    if "layer_norm" in c.get("norm_rel_ebd", "none"):
        table = norm(w, "encoder.LayerNorm", table, eps)
    for i in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        mixed = linear(w, f"{layer}.attention.output.dense", deberta_attention(w, c, layer, x, table))
        x = norm(w, f"{layer}.attention.output.LayerNorm", x + mixed, eps)
        inner = ACTIVATIONS[c["hidden_act"]](linear(w, f"{layer}.intermediate.dense", x))
        x = norm(w, f"{layer}.output.LayerNorm", x + linear(w, f"{layer}.output.dense", inner), eps)
        if i == 0 and c.get("conv_kernel_size"):
            x = deberta_convolution(w, c, first, x)
    return x


def deberta_shapes(c):
    hidden, inner, shapes = c["hidden_size"], c["intermediate_size"], Shapes()
    heads = c["num_attention_heads"] * c.get("attention_head_size", hidden // c["num_attention_heads"])
    shapes.table("embeddings.word_embeddings", c["vocab_size"], hidden)
    if c["position_biased_input"]:
        shapes.table("embeddings.position_embeddings", c["max_position_embeddings"], hidden)
    if c["type_vocab_size"]:
        shapes.table("embeddings.token_type_embeddings", c["type_vocab_size"], hidden)
    shapes.norm("embeddings.LayerNorm", hidden)
    if c["relative_attention"]:
        shapes.table("encoder.rel_embeddings", 2 * deberta_span(c)[0], hidden)
    if "layer_norm" in c.get("norm_rel_ebd", "none"):
        shapes.norm("encoder.LayerNorm", hidden)
    if c.get("conv_kernel_size"):
        shapes["encoder.conv.conv.weight"] = (hidden, hidden, c["conv_kernel_size"])
        shapes["encoder.conv.conv.bias"] = (hidden,)
        shapes.norm("encoder.conv.LayerNorm", hidden)
    for i in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        parts = ["query_proj", "key_proj", "value_proj"]
        if c["relative_attention"] and not c.get("share_att_key"):
            kinds = c["pos_att_type"].split("|")
            parts += ["pos_key_proj"] * ("c2p" in kinds) + ["pos_query_proj"] * ("p2c" in kinds)
        for part in parts:
            shapes.linear(f"{layer}.attention.self.{part}", heads, hidden)
        shapes.linear(f"{layer}.attention.output.dense", hidden, heads)
        shapes.norm(f"{layer}.attention.output.LayerNorm", hidden)
        shapes.linear(f"{layer}.intermediate.dense", inner, hidden)
        shapes.linear(f"{layer}.output.dense", hidden, inner)
        shapes.norm(f"{layer}.output.LayerNorm", hidden)
    return shapes


# Qwen3 and EuroBERT: Llama's layers, whose heads read keys and values in groups.

def grouped_attention(w, c, layer, x, f):
    heads, groups, eps = c["num_attention_heads"], c["num_key_value_heads"], c["rms_norm_eps"]
    q, k, v = (split_heads(linear(w, f"{layer}.self_attn.{part}_proj", x), count)
               for part, count in (("q", heads), ("k", groups), ("v", groups)))
    if c["model_type"] == "qwen3":
        q = rms_norm(w, f"{layer}.self_attn.q_norm", q, eps)
        k = rms_norm(w, f"{layer}.self_attn.k_norm", k, eps)
    k, v = (part.repeat_interleave(heads // groups, 0) for part in (rotate(k, f), v))
    places = torch.arange(len(x))
    causal = c["model_type"] == "qwen3" and c.get("is_causal", True)
    later = places[None, :] > places[:, None] if causal else None
    return linear(w, f"{layer}.self_attn.o_proj", attention(rotate(q, f), k, v, heads, hidden=later))


def llama(w, c, ids, types):
    eps, x = c["rms_norm_eps"], w["embed_tokens.weight"][ids]
    theta = c.get("rope_parameters", c)["rope_theta"]
    f = frequencies(theta, head_width(c))
    for i in range(c["num_hidden_layers"]):
        layer = f"layers.{i}"
        x = x + grouped_attention(w, c, layer, rms_norm(w, f"{layer}.input_layernorm", x, eps), f)
        y = rms_norm(w, f"{layer}.post_attention_layernorm", x, eps)
        gate = ACTIVATIONS[c["hidden_act"]](linear(w, f"{layer}.mlp.gate_proj", y))
        x = x + linear(w, f"{layer}.mlp.down_proj", gate * linear(w, f"{layer}.mlp.up_proj", y))
    return rms_norm(w, "norm", x, eps)


def head_width(c):
    return c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]


def llama_shapes(c):
    hidden, inner, width, shapes = c["hidden_size"], c["intermediate_size"], head_width(c), Shapes()
    bias, mlp_bias = c["attention_bias"], c.get("mlp_bias", False)
    shapes.table("embed_tokens", c["vocab_size"], hidden)
    for i in range(c["num_hidden_layers"]):
        layer = f"layers.{i}"
        shapes.norm(f"{layer}.input_layernorm", hidden, False)
        shapes.linear(f"{layer}.self_attn.q_proj", c["num_attention_heads"] * width, hidden, bias)
        for part in "kv":
            shapes.linear(f"{layer}.self_attn.{part}_proj", c["num_key_value_heads"] * width, hidden,
                          bias)
        shapes.linear(f"{layer}.self_attn.o_proj", hidden, c["num_attention_heads"] * width, bias)
        if c["model_type"] == "qwen3":
            shapes.norm(f"{layer}.self_attn.q_norm", width, False)
            shapes.norm(f"{layer}.self_attn.k_norm", width, False)
        shapes.norm(f"{layer}.post_attention_layernorm", hidden, False)
        for part in ("gate", "up"):
            shapes.linear(f"{layer}.mlp.{part}_proj", inner, hidden, mlp_bias)
        shapes.linear(f"{layer}.mlp.down_proj", hidden, inner, mlp_bias)
    shapes.norm("norm", hidden, False)
    return shapes


FAMILIES = {"bert": (bert, bert_shapes), "roberta": (bert, bert_shapes), "electra": (bert, bert_shapes),
            "xlm-roberta": (bert, bert_shapes), "camembert": (bert, bert_shapes),
            "distilbert": (distilbert, distilbert_shapes),
            "mpnet": (mpnet, mpnet_shapes), "albert": (albert, albert_shapes),
            "modernbert": (modernbert, modernbert_shapes), "nomic_bert": (nomic_bert, nomic_shapes),
            "new": (gte, gte_shapes), "qwen3": (llama, llama_shapes),
            "eurobert": (llama, llama_shapes), "deberta-v2": (deberta, deberta_shapes)}
