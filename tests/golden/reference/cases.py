"""The folders: which config, heads, tokenizer and disguise each has."""

import dataclasses

import torch

from reference import heads
from reference.vocabularies import BERT, MPNET, QWEN, ROBERTA, Vocabulary

SHORT = (7, 1, 12, 2, 19, 5)
WORD_PIECE = Vocabulary("WordPiece", BERT)
BYTE_PAIR = Vocabulary("BPE", ROBERTA)
BERT_BYTE_PAIR = Vocabulary("BPE", BERT)
UNIGRAM = Vocabulary("Unigram", ROBERTA)
BERT_UNIGRAM = Vocabulary("Unigram", BERT)
QWEN_BYTE_PAIR = Vocabulary("BPE", QWEN)
MPNET_PIECE = Vocabulary("WordPiece", MPNET)


@dataclasses.dataclass
class Case:
    """One folder. `copies` stores a tensor once more under another name, `extras` what is no weight."""
    name: str
    config: dict
    heads: dict
    vocabulary: Vocabulary
    lengths: tuple = SHORT
    prefix: str = ""
    mixed_prefix: bool = False
    gamma_beta: bool = False
    dtype: torch.dtype = torch.float32
    shards: int = 0
    feeds_types: bool = True
    max_length: int = 40
    old_tokenizer: bool = False
    trap: bool = False
    copies: dict = dataclasses.field(default_factory=dict)
    extras: dict = dataclasses.field(default_factory=dict)

    @property
    def tokenizer_files(self):
        return self.vocabulary.files(self.max_length, self.feeds_types, self.trap, self.old_tokenizer)


def labelled(config, *names):
    return dict(config, id2label={str(i): name for i, name in enumerate(names)},
                label2id={name: i for i, name in enumerate(names)})


TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


def config(architecture, model_type, vocabulary, **others):
    """BERT's keys at odd sizes."""
    found = {
        "architectures": [architecture], "model_type": model_type, "vocab_size": len(vocabulary),
        "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20,
        "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
        "max_position_embeddings": 40, "type_vocab_size": 2, "initializer_range": 0.02,
        "layer_norm_eps": 1e-12, "pad_token_id": vocabulary.id("pad"), "use_cache": True,
        "torch_dtype": "float32", "transformers_version": "4.57.1",
    }
    return dict(found, **others)


def roberta_config(architecture, model_type, vocabulary, **others):
    return config(architecture, model_type, vocabulary, layer_norm_eps=1e-5, type_vocab_size=1,
                  max_position_embeddings=42, bos_token_id=vocabulary.id("cls"),
                  eos_token_id=vocabulary.id("sep"), **others)


def distilbert_config(vocabulary):
    return {"architectures": ["DistilBertForSequenceClassification"], "model_type": "distilbert",
            "activation": "gelu", "attention_dropout": 0.1, "dim": 12, "dropout": 0.1, "hidden_dim": 20,
            "initializer_range": 0.02, "max_position_embeddings": 40, "n_heads": 3, "n_layers": 2,
            "pad_token_id": vocabulary.id("pad"), "qa_dropout": 0.1, "seq_classif_dropout": 0.2,
            "sinusoidal_pos_embds": False, "tie_weights_": True, "vocab_size": len(vocabulary)}


def modernbert_config(vocabulary, **others):
    found = {
        "architectures": ["ModernBertForMaskedLM"], "model_type": "modernbert",
        "vocab_size": len(vocabulary), "hidden_size": 12, "intermediate_size": 10,
        "num_hidden_layers": 4, "num_attention_heads": 3, "hidden_activation": "gelu",
        "max_position_embeddings": 256, "norm_eps": 1e-5, "norm_bias": False, "attention_bias": False,
        "mlp_bias": False, "decoder_bias": True, "classifier_bias": False, "classifier_activation": "gelu",
        "classifier_pooling": "mean", "local_attention": 128, "pad_token_id": vocabulary.id("pad"),
        "cls_token_id": vocabulary.id("cls"), "bos_token_id": vocabulary.id("cls"),
        "sep_token_id": vocabulary.id("sep"), "eos_token_id": vocabulary.id("sep"),
        "tie_word_embeddings": True, "attention_dropout": 0.0, "embedding_dropout": 0.0,
        "mlp_dropout": 0.0, "classifier_dropout": 0.0, "initializer_range": 0.02,
        "initializer_cutoff_factor": 2.0, "layer_norm_eps": 1e-3, "position_embedding_type": "absolute",
        "sparse_prediction": False, "sparse_pred_ignore_index": -100, "reference_compile": False,
        "deterministic_flash_attn": False,
    }
    return dict(found, **others)


def nomic_config(vocabulary):
    return {"architectures": ["NomicBertModel"], "model_type": "nomic_bert", "n_embd": 8, "n_head": 2,
            "n_layer": 2, "n_inner": 200, "n_positions": 64, "layer_norm_epsilon": 1e-12,
            "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
            "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "prenorm": False,
            "qkv_proj_bias": False, "mlp_fc1_bias": False, "mlp_fc2_bias": False,
            "activation_function": "swiglu", "type_vocab_size": 2, "vocab_size": len(vocabulary),
            "pad_vocab_size_multiple": 64, "pad_token_id": 0, "parallel_block": False,
            "use_rms_norm": False, "use_flash_attn": True, "fused_bias_fc": True, "causal": False,
            "max_trained_positions": 2048}


def qwen_config(vocabulary, **others):
    """Heads wider than hidden_size / num_attention_heads, three to each head of keys."""
    found = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "attention_bias": False,
             "attention_dropout": 0.0, "bos_token_id": vocabulary.id("pad"),
             "eos_token_id": vocabulary.id("pad"), "head_dim": 6, "hidden_act": "silu",
             "hidden_size": 16, "initializer_range": 0.02, "intermediate_size": 20,
             "max_position_embeddings": 64, "max_window_layers": 2, "num_attention_heads": 6,
             "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-6,
             "rope_scaling": None, "rope_theta": 1000000, "sliding_window": None,
             "tie_word_embeddings": True, "torch_dtype": "bfloat16", "transformers_version": "4.51.3",
             "use_cache": True, "use_sliding_window": False, "vocab_size": len(vocabulary)}
    return dict(found, **others)


def eurobert_config(vocabulary, **others):
    found = {"architectures": ["EuroBertForMaskedLM"], "model_type": "eurobert",
             "attention_bias": False, "attention_dropout": 0.0, "bos_token": "[CLS]",
             "bos_token_id": vocabulary.id("cls"), "clf_pooling": "late",
             "eos_token_id": vocabulary.id("sep"), "hidden_act": "silu", "hidden_size": 12,
             "initializer_range": 0.02, "intermediate_size": 20, "mask_token_id": vocabulary.id("mask"),
             "max_position_embeddings": 64, "mlp_bias": False, "num_attention_heads": 6,
             "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": vocabulary.id("pad"),
             "pretraining_tp": 1, "rms_norm_eps": 1e-5, "rope_scaling": None, "rope_theta": 250000,
             "tie_word_embeddings": False, "torch_dtype": "float32", "transformers_version": "4.48.0",
             "use_cache": False, "vocab_size": len(vocabulary)}
    return dict(found, **others)


def deberta_config(vocabulary, **others):
    found = config("DebertaV2ForMaskedLM", "deberta-v2", vocabulary, layer_norm_eps=1e-7,
                   type_vocab_size=0, relative_attention=True, max_relative_positions=-1,
                   position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True,
                   pos_att_type="p2c|c2p", position_biased_input=False, pooler_dropout=0,
                   pooler_hidden_act="gelu", pooler_hidden_size=12)
    return dict(found, **others)


CASES = [
    # vocab.txt alone; every head in one file, under the prefix of the family.
    Case("bert", labelled(config("BertForTokenClassification", "bert", WORD_PIECE), *TAGS), heads.BERT,
         WORD_PIECE, prefix="bert.", old_tokenizer=True),
    # An old upload: gamma and beta, only some names with the prefix, float16, the tied table under both
    # names, numbers that are no weights, no pooler; its tokenizer is multilingual.
    Case("bert_old", config("BertForMaskedLM", "bert", BERT_UNIGRAM, hidden_act="gelu_new",
                            gradient_checkpointing=False, position_embedding_type="absolute"),
         {"masked": heads.BERT["masked"]}, BERT_UNIGRAM, prefix="bert.", mixed_prefix=True, gamma_beta=True,
         dtype=torch.float16, trap=True,
         copies={"cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
                 "cls.predictions.decoder.bias": "cls.predictions.bias"},
         extras={"bert.embeddings.position_ids": torch.arange(40)[None]}),
    Case("roberta", labelled(roberta_config("RobertaForSequenceClassification", "roberta", BYTE_PAIR),
                             "negative", "neutral", "positive"),
         heads.ROBERTA, BYTE_PAIR, prefix="roberta.", feeds_types=False,
         copies={"lm_head.decoder.weight": "embeddings.word_embeddings.weight",
                 "lm_head.decoder.bias": "lm_head.bias"}),
    # Without a prefix.
    Case("xlm_roberta", labelled(roberta_config("XLMRobertaForTokenClassification", "xlm-roberta", UNIGRAM),
                                 *TAGS), heads.XLM_ROBERTA, UNIGRAM, feeds_types=False),
    Case("distilbert", labelled(distilbert_config(WORD_PIECE), "NEGATIVE", "POSITIVE"), heads.DISTILBERT,
         WORD_PIECE, prefix="distilbert.", shards=2, feeds_types=False),
    # Long enough for every bucket of distances.
    Case("mpnet", labelled(config("MPNetForSequenceClassification", "mpnet", MPNET_PIECE, type_vocab_size=0,
                                  layer_norm_eps=1e-5, max_position_embeddings=162, bos_token_id=0,
                                  eos_token_id=2, relative_attention_num_buckets=32), "no", "yes"),
         heads.ROBERTA, MPNET_PIECE, lengths=(7, 1, 150, 2, 19), prefix="mpnet.", feeds_types=False,
         max_length=160),
    Case("albert", labelled(config("AlbertForSequenceClassification", "albert", BERT_UNIGRAM,
                                   hidden_act="gelu_new", embedding_size=6, num_hidden_layers=4,
                                   num_hidden_groups=2, inner_group_num=2, classifier_dropout_prob=0.1),
                            "a", "b", "c"), heads.ALBERT, BERT_UNIGRAM, prefix="albert."),
    Case("electra", labelled(config("ElectraForPreTraining", "electra", WORD_PIECE, embedding_size=8,
                                    summary_type="first", summary_use_proj=True,
                                    summary_activation="gelu"), "a", "b", "c"),
         heads.ELECTRA, WORD_PIECE, prefix="electra."),
    # As wide inside as its embedding: no projection.
    Case("electra_even", config("ElectraModel", "electra", WORD_PIECE, embedding_size=12,
                                num_hidden_layers=1), {}, WORD_PIECE, lengths=(5, 9)),
    # Both sides of the window of 64 tokens each way.
    Case("modernbert", labelled(modernbert_config(BERT_BYTE_PAIR, global_attn_every_n_layers=3,
                                                  global_rope_theta=160000.0, local_rope_theta=10000.0),
                                "start", "end"), heads.MODERNBERT, BERT_BYTE_PAIR,
         lengths=(64, 1, 65, 66, 129, 130, 200), prefix="model.", feeds_types=False, max_length=256),
    # The newer spelling of the config, biases everywhere, a narrow window, no prefix.
    Case("modernbert_new",
         labelled(modernbert_config(WORD_PIECE, num_hidden_layers=3, local_attention=6, norm_bias=True,
                                    attention_bias=True, mlp_bias=True, classifier_bias=True,
                                    classifier_pooling="cls", layer_types=[
                                        "full_attention", "sliding_attention", "full_attention"],
                                    rope_parameters={
                                        "full_attention": {"rope_type": "default", "rope_theta": 80000.0},
                                        "sliding_attention": {"rope_type": "default",
                                                              "rope_theta": 500.0}}), "no", "yes"),
         heads.MODERNBERT, WORD_PIECE, feeds_types=False,
         copies={"decoder.weight": "embeddings.tok_embeddings.weight"}),
    # bfloat16; tables and inner sizes larger than the config's, rounded up.
    Case("nomic_bert", nomic_config(WORD_PIECE), {}, WORD_PIECE, dtype=torch.bfloat16),
    # A longer reach by NTK's rule.
    Case("gte", labelled(config("NewForSequenceClassification", "new", WORD_PIECE, type_vocab_size=1,
                                rope_theta=20000.0, rope_scaling={"type": "ntk", "factor": 8.0},
                                position_embedding_type="rope", pack_qkv=True, unpad_inputs=False,
                                use_memory_efficient_attention=False, logn_attention_scale=False,
                                logn_attention_clip1=False, layer_norm_type="layer_norm"), "a", "b", "c"),
         heads.GTE, WORD_PIECE, prefix="new.", feeds_types=False),
    Case("gte_plain", config("NewModel", "new", WORD_PIECE, type_vocab_size=0, rope_theta=500000.0,
                             rope_scaling=None, position_embedding_type="rope", pack_qkv=True,
                             num_hidden_layers=1, logn_attention_scale=False), {}, WORD_PIECE,
         lengths=(5, 9), feeds_types=False),
    # Without a prefix, as the embedding models are stored; bfloat16.
    Case("qwen3", qwen_config(QWEN_BYTE_PAIR), {}, QWEN_BYTE_PAIR, dtype=torch.bfloat16,
         feeds_types=False, max_length=64),
    # Newer spelling of the config; biases; one head of keys; the language model's prefix and table.
    Case("qwen3_new", qwen_config(QWEN_BYTE_PAIR, attention_bias=True, num_key_value_heads=1,
                                  head_dim=4, rope_parameters={"rope_theta": 500.0,
                                                               "rope_type": "default"},
                                  layer_types=["full_attention"] * 2, is_causal=False),
         {}, QWEN_BYTE_PAIR, prefix="model.", feeds_types=False, max_length=64,
         copies={"lm_head.weight": "embed_tokens.weight"}),
    Case("eurobert", labelled(eurobert_config(BERT_BYTE_PAIR), "a", "b", "c"), heads.EUROBERT,
         BERT_BYTE_PAIR, prefix="model.", feeds_types=False, max_length=64),
    # Newer keys, biases, ordinary heads.
    Case("eurobert_new",
         labelled(eurobert_config(BERT_BYTE_PAIR, attention_bias=True, mlp_bias=True,
                                  num_key_value_heads=6, head_dim=2, clf_pooling=None,
                                  classifier_pooling="bos", rope_scaling=None,
                                  rope_parameters={"rope_theta": 80000.0, "rope_type": "default"}),
                  "no", "yes"), heads.EUROBERT, BERT_BYTE_PAIR, feeds_types=False, max_length=64),
    # As v3: buckets of distances, shared projections; texts beyond the farthest bucket.
    Case("deberta", labelled(deberta_config(BERT_UNIGRAM, max_position_embeddings=24), "a", "b", "c"),
         heads.DEBERTA, BERT_UNIGRAM, lengths=(7, 1, 40, 2, 19), prefix="deberta.",
         feeds_types=False, max_length=48),
    # As v2's largest: a convolution, wider heads, projections of their own, the older names of a head.
    Case("deberta_convolution",
         deberta_config(BERT_UNIGRAM, position_buckets=-1, max_relative_positions=5,
                        norm_rel_ebd="none", share_att_key=False, pos_att_type="c2p|p2c",
                        attention_head_size=6, conv_kernel_size=3, conv_act="gelu",
                        type_vocab_size=2, position_biased_input=True),
         heads.DEBERTA_OLD, BERT_UNIGRAM, prefix="deberta."),
    # Without relative attention, and with one term of it and a convolution's tanh.
    Case("deberta_plain", deberta_config(BERT_UNIGRAM, relative_attention=False, norm_rel_ebd="none",
                                         num_hidden_layers=1, position_biased_input=True),
         {}, BERT_UNIGRAM, lengths=(5, 9), feeds_types=False),
    Case("deberta_one_term", deberta_config(BERT_UNIGRAM, pos_att_type="p2c", conv_kernel_size=5,
                                            conv_act="tanh", num_hidden_layers=1),
         {}, BERT_UNIGRAM, lengths=(5, 30), feeds_types=False),
]
