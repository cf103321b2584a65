#include "tessera/models/hugging_face/multi_vector_encoder.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/sentence_files.h"
#include "tessera/models/hugging_face/detail/sentence_settings.h"
#include "tessera/models/hugging_face/detail/weight_files.h"
#include "tessera/models/hugging_face/folder.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/rearrange.h"
#include "tessera/tensor/ops/reduce.h"

namespace tessera::models {

namespace {

constexpr const char* kMultiVectorOp = "MultiVectorEncoder";
using Numbers = std::vector<index_t>;

/// For each encoding, the vectors of the tokens that `is_kept` accepts.
template <class Keep>
std::vector<Tensor> encode_rows(const MultiVectorEncoder& model,
                                const std::vector<text::Encoding>& encodings,
                                const Numbers& visible, const TaskOptions& options,
                                const Keep& is_kept) {
  std::vector<Tensor> results(encodings.size());
  const auto body = [&](Tokens tokens, std::span<const index_t> chosen) {
    if (!visible.empty()) {
      Numbers of_chosen;
      for (const index_t i : chosen) of_chosen.push_back(visible[static_cast<std::size_t>(i)]);
      tokens.visible = from_vector(of_chosen);
    }
    const Tensor all = model(tokens).to(kFloat32);
    for (std::size_t row = 0; row < chosen.size(); ++row) {
      const auto i = static_cast<std::size_t>(chosen[row]);
      Numbers kept;
      for (std::size_t t = model.multi.skips_first ? 1 : 0; t < encodings[i].ids.size(); ++t) {
        if (is_kept(encodings[i].ids[t])) kept.push_back(static_cast<index_t>(t));
      }
      const Tensor vectors = all.select(0, static_cast<index_t>(row));
      results[i] = index_select(vectors, 0, from_vector(kept, {std::ssize(kept)}));
      require_finite_outputs(results[i].to_vector<float>(), options.name, chosen[row]);
    }
  };
  model.reader.for_each_batch(encodings, options, body);
  return results;
}

}  // namespace

Tensor MultiVectorEncoder::operator()(const Tokens& tokens) const {
  Tensor x = token_encoder(tokens);
  for (const Dense& projection : projections) x = projection(x);
  return Normalize{}(x);
}

std::vector<text::Encoding> MultiVectorEncoder::tokenize(const std::vector<std::string>& texts,
                                                         bool is_query,
                                                         const TaskOptions& options) const {
  const std::optional<index_t>& prefix = is_query ? multi.query_prefix : multi.document_prefix;
  const index_t length = is_query ? multi.query_length : multi.document_length;
  require_max_length(kMultiVectorOp, options.max_length, length);
  const index_t most = options.max_length > 0 ? options.max_length : length;
  TaskOptions limited = options;
  limited.max_length = prefix ? most - 1 : most;
  if (options.report_cut) {
    limited.report_cut = [&](index_t count, index_t) { options.report_cut(count, most); };
  }
  require(limited.max_length > 0, kMultiVectorOp,
          "max_length must be at least 2 with a prefix, got ", most);
  const std::string prompt = prompt_of(kMultiVectorOp, settings, options);
  std::vector<std::string> given;
  given.reserve(texts.size());
  for (const std::string& text : texts) {
    given.push_back(cleaned(prompt + text, settings.lower_case));
  }
  auto encodings = reader.encode_batch(std::span<const std::string>(given), limited);
  for (text::Encoding& encoding : encodings) {
    if (!prefix || encoding.ids.empty()) continue;
    encoding.ids.insert(encoding.ids.begin() + 1, *prefix);
    encoding.type_ids.insert(encoding.type_ids.begin() + 1, 0);
    encoding.offsets.insert(encoding.offsets.begin() + 1, text::Span{});
    encoding.sequence_ids.insert(encoding.sequence_ids.begin() + 1, text::kNoText);
    encoding.word_ids.insert(encoding.word_ids.begin() + 1, text::kNoText);
  }
  return encodings;
}

std::vector<Tensor> MultiVectorEncoder::encode_query(const std::vector<std::string>& texts,
                                                     const TaskOptions& options) const {
  const NoGrad not_recorded;
  std::vector<text::Encoding> encodings = tokenize(texts, true, options);
  Numbers visible;
  if (multi.expansion) {
    const index_t length = options.max_length > 0 ? options.max_length : multi.query_length;
    for (std::size_t i = 0; i < encodings.size(); ++i) {
      text::Encoding& encoding = encodings[i];
      require(!encoding.ids.empty(), kMultiVectorOp,
              text_name(options.name, static_cast<index_t>(i)),
              " must have at least 1 token, got none");
      visible.push_back(std::ssize(encoding.ids));
      encoding.ids.resize(static_cast<std::size_t>(length), *multi.expansion);
      encoding.type_ids.resize(encoding.ids.size(), 0);
    }
  }
  if (multi.attend_to_expansion_tokens) visible.clear();
  return encode_rows(*this, encodings, visible, options, [](index_t) { return true; });
}

std::vector<Tensor> MultiVectorEncoder::encode_document(const std::vector<std::string>& texts,
                                                        const TaskOptions& options) const {
  const NoGrad not_recorded;
  return encode_rows(*this, tokenize(texts, false, options), {}, options,
                     [&](index_t id) { return !std::ranges::binary_search(multi.skiplist, id); });
}

Tensor max_sim(const Tensor& query, const std::vector<Tensor>& documents) {
  require(query.rank() == 2, "max_sim", "query must have shape (n, W), got ", query.shape());
  std::vector<Tensor> scores;
  for (const Tensor& document : documents) {
    require(document.rank() == 2 && document.size(1) == query.size(1), "max_sim",
            "documents must have shape (m, ", query.size(1), "), got ", document.shape());
    const bool has_pairs = document.size(0) > 0 && query.size(0) > 0;
    scores.push_back(has_pairs ? sum(max(matmul(query, document.t()), {1}))
                               : zeros({}, query.dtype()));
  }
  return scores.empty() ? zeros({0}, query.dtype()) : stack(scores);
}

Tensor MultiVectorEncoder::similarity(const Tensor& query,
                                      const std::vector<Tensor>& documents) const {
  const Tensor scores = max_sim(query, documents);
  const bool divides = multi.averages && query.size(0) > 0;
  return divides ? scores / static_cast<double>(query.size(0)) : scores;
}

void prepack(MultiVectorEncoder& encoder, const nn::PrepackOptions& options) {
  const nn::PrepackOptions all = with_kept_heads(options);
  nn::prepack(encoder.token_encoder, all);
  for (Dense& projection : encoder.projections) nn::prepack(projection.linear, all);
}

MultiVectorSettings m3_settings(index_t max_length) {
  MultiVectorSettings multi = {.query_length = max_length, .document_length = max_length};
  multi.skips_first = multi.averages = true;
  return multi;
}

namespace {

using Path = std::filesystem::path;

constexpr index_t kLongestQuery = 8192;  // short queries are filled up to query_length
constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";  // Python's

/// A file of settings, all of which have defaults.
Json settings_of(const Path& file) {
  const auto json = find_json(file, kSmallJson);
  return json ? *json : parse_json("{}", file.string());
}

/// The prefix under the key, `otherwise` if the key is absent; an empty text means none.
std::optional<index_t> prefix_of(const text::Tokenizer& tokenizer, const Json& json,
                                 const Path& file, const char* key, const char* otherwise) {
  const std::string name = json.text(key, otherwise);
  if (name.empty()) return {};
  const auto id = tokenizer.vocabulary().find(name);
  if (!id) {
    fail_file(str_cat(escaped(file.string()), ": ", key), "must be a token of the tokenizer, got ",
              printable(name));
  }
  return id;
}

/// The token that fills queries: a mask or, in a decoder, the token at the end of texts.
index_t expansion_of(const text::Tokenizer& tokenizer, const Path& file) {
  if (tokenizer.settings().padding_side != text::Side::kRight) {
    fail_file(file.string(), "padding_side must be right for query expansion, got left");
  }
  const text::SpecialTokens& special = tokenizer.special();
  for (const auto& token : {special.mask, special.sep, special.pad}) {
    if (token) return *token;
  }
  fail_file(file.string(), "tokenizer must have a mask token for query expansion, got none");
}

void read_lengths_of(const Json& json, const char* query, const char* document,
                     MultiVectorSettings& multi) {
  multi.query_length = json.integer(query, JsonRange{1, kLongestQuery}, multi.query_length);
  multi.document_length = json.integer(document, JsonRange{1, kLongestText}, multi.document_length);
}

/// The words to skip: those of the key, or the marks of Python's string.punctuation.
std::vector<std::string> skipped_words(const Json& json) {
  std::vector<std::string> words;
  if (const auto list = json.find("skiplist_words")) {
    for (const Json& word : list->as_list().items()) words.emplace_back(word.text());
  } else {
    for (const char mark : kPunctuation) words.emplace_back(1, mark);
  }
  return words;
}

/// The keys that PyLate adds to config_sentence_transformers.json.
MultiVectorSettings pylate_settings(const Path& folder, const text::Tokenizer& tokenizer) {
  MultiVectorSettings multi;
  const Path file = folder / "config_sentence_transformers.json";
  const Json json = settings_of(file);
  multi.query_prefix = prefix_of(tokenizer, json, file, "query_prefix", "[Q] ");
  multi.document_prefix = prefix_of(tokenizer, json, file, "document_prefix", "[D] ");
  read_lengths_of(json, "query_length", "document_length", multi);
  if (json.boolean("do_query_expansion", true)) multi.expansion = expansion_of(tokenizer, file);
  multi.attend_to_expansion_tokens =
      json.boolean("attend_to_expansion_tokens", false) && multi.expansion;
  for (const std::string& word : skipped_words(json)) {
    // The reference finds words as tokens, so an unknown word means the unknown token.
    const auto id = tokenizer.vocabulary().find(word);
    if (id || tokenizer.special().unknown) {
      multi.skiplist.push_back(id ? *id : *tokenizer.special().unknown);
    }
  }
  return multi;
}

/// artifact.metadata of the ColBERT library.
MultiVectorSettings stanford_settings(const Path& folder, const text::Tokenizer& tokenizer) {
  MultiVectorSettings multi;
  const Path file = folder / "artifact.metadata";
  const Json json = settings_of(file);
  multi.query_prefix = prefix_of(tokenizer, json, file, "query_token_id", "[unused0]");
  multi.document_prefix = prefix_of(tokenizer, json, file, "doc_token_id", "[unused1]");
  read_lengths_of(json, "query_maxlen", "doc_maxlen", multi);
  multi.expansion = expansion_of(tokenizer, file);
  multi.attend_to_expansion_tokens = json.boolean("attend_to_mask_tokens", false);
  config::want_text(json, "similarity", "cosine");
  if (!json.boolean("mask_punctuation", true)) return multi;
  for (const char mark : kPunctuation) {
    const text::Encoding tokens =
        tokenizer.encode(std::string_view(&mark, 1), {.add_special_tokens = false});
    if (!tokens.ids.empty()) multi.skiplist.push_back(tokens.ids.front());
  }
  return multi;
}

/// Throws if the results for expansion tokens that are not read depend on the version of
/// transformers.
void check_expansion(const MultiVectorSettings& multi, const ModelFolder& files) {
  if (!multi.expansion || multi.attend_to_expansion_tokens) return;
  for (const EncoderLayerOptions& layer : files.options.encoder.layers) {
    if (layer.disentangled) {
      files.config.at("model_type")
          .fail(
              "must not be deberta-v2 if queries are filled with tokens that are not read; set "
              "attend_to_expansion_tokens to true");
    }
    if (layer.window && multi.query_length > *layer.window) {
      files.config.fail(
          "window of layers, ", *layer.window, ", must be at least query_length, ",
          multi.query_length,
          ", if queries are filled with tokens that are not read; lower query_length");
    }
  }
}

/// The projection of the ColBERT library: linear.weight next to the encoder's tensors.
Dense stanford_projection(const Path& folder, index_t width) {
  const WeightFiles files(folder);
  const index_t rows = rows_of(files, "linear.weight", width);
  const nn::LinearOptions options = {.in_features = width, .out_features = rows, .bias = false};
  return {nn::Linear(options, files.source()["linear"]), identity};
}

}  // namespace

MultiVectorEncoder load_multi_vector_encoder(const Path& folder) {
  const std::vector<ModuleRow> rows = read_module_rows(folder);
  const ModuleRow& first = rows.front();
  if (first.kind != "Transformer") {
    fail_file(first.place, "first module must be Transformer, got ", printable(first.kind));
  }
  const ModelFolder files(first.folder);
  index_t width = files.options.encoder.width();
  std::vector<Dense> projections;
  const bool is_pylate = rows.size() > 1 && rows[1].kind == "Dense";
  std::optional<nn::Linear> m3_layer;
  if (!is_pylate) m3_layer = find_m3_layer(files.path, kM3Multi, width);
  const bool is_stanford = rows.size() == 1 && !m3_layer && is_stanford_colbert(files.config);
  if (m3_layer) {
    projections.push_back({*m3_layer, identity});
  } else if (is_stanford) {
    projections.push_back(stanford_projection(files.path, width));
  } else if (!is_pylate) {
    const ModuleRow& wrong = rows[rows.size() > 1 ? 1 : 0];
    fail_file(wrong.place,
              "modules must be a Transformer and Dense modules, or config.json must name "
              "HF_ColBERT, or the folder must have ",
              kM3Multi, ", got ", printable(wrong.kind));
  }
  for (std::size_t i = 1; i < rows.size() && is_pylate; ++i) {
    if (rows[i].kind != "Dense") {
      fail_file(rows[i].place, "must be Dense here, got ", printable(rows[i].kind));
    }
    projections.push_back(read_dense(rows[i], width, "token_embeddings"));
    width = projections.back().linear.weight.size(0);
  }
  auto [settings, max_length] =
      read_settings(folder, first.folder, m3_layer ? "SentenceTransformer" : "ColBERT");
  TokenEncoder words = load_encoder(files);
  // PyLate and ColBERT replace max_seq_length by the lengths of queries and documents.
  TextReader reader = load_reader(files, m3_layer ? max_length : files.options.max_positions);
  reader.folder = folder;
  MultiVectorSettings multi = m3_layer      ? m3_settings(reader.max_length)
                              : is_stanford ? stanford_settings(folder, *reader.tokenizer)
                                            : pylate_settings(folder, *reader.tokenizer);
  std::ranges::sort(multi.skiplist);
  multi.skiplist.erase(std::unique(multi.skiplist.begin(), multi.skiplist.end()),
                       multi.skiplist.end());
  multi.query_length = std::min(multi.query_length, reader.max_length);
  multi.document_length = std::min(multi.document_length, reader.max_length);
  check_expansion(multi, files);
  return {std::move(reader), std::move(words), std::move(settings), std::move(multi),
          std::move(projections)};
}

}  // namespace tessera::models
