#include "tessera/models/hugging_face/sparse_encoder.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/heads.h"
#include "tessera/models/hugging_face/detail/sentence_files.h"
#include "tessera/models/hugging_face/detail/sentence_settings.h"
#include "tessera/models/hugging_face/folder.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/rearrange.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera::models {

float dot(const SparseVector& a, const SparseVector& b) {
  float sum = 0;
  for (std::size_t i = 0, j = 0; i < a.ids.size() && j < b.ids.size();) {
    if (a.ids[i] == b.ids[j]) sum += a.weights[i] * b.weights[j];
    const bool next_a = a.ids[i] <= b.ids[j], next_b = b.ids[j] <= a.ids[i];
    if (next_a) ++i;
    if (next_b) ++j;
  }
  return sum;
}

SparseVector largest(const SparseVector& vector, index_t count) {
  require(count >= 0, "largest", "count must be at least 0, got ", count);
  std::vector<std::size_t> order(vector.ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return vector.weights[i]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  std::ranges::sort(order);
  SparseVector result;
  for (const std::size_t i : order) {
    result.ids.push_back(vector.ids[i]);
    result.weights.push_back(vector.weights[i]);
  }
  return result;
}

namespace {

constexpr index_t kTokensAtOnce = 64;  // each has a score for each token of the vocabulary

/// The number of tokens of each row that attention reads.
std::vector<index_t> lengths_of(const Tokens& tokens) {
  const Tensor& given = tokens.visible.defined() ? tokens.visible : tokens.lengths;
  if (given.defined()) return given.to_vector<index_t>();
  return std::vector(static_cast<std::size_t>(tokens.ids.size(0)), tokens.ids.size(1));
}

/// The weights of one text from the vectors of its tokens, (T, D) -> (V).
Tensor text_weights(const Splade& splade, const Tensor& vectors) {
  const auto weights = [&](const Tensor& scores) {
    const Tensor once = log1p(relu(scores));
    return splade.double_log ? log1p(once) : once;
  };
  std::vector<Tensor> parts;
  for (index_t t = 0; t < vectors.size(0); t += kTokensAtOnce) {
    const index_t end = std::min(t + kTokensAtOnce, vectors.size(0));
    const Tensor scores = splade.model.logits(vectors.slice(0, t, end));
    parts.push_back(splade.sum_pooling ? sum(weights(scores), {0}) : max(scores, {0}));
  }
  // The weight grows with the score, so the largest score has the largest weight.
  return splade.sum_pooling ? sum(stack(parts), {0}) : weights(max(stack(parts), {0}));
}

/// For each id of the tokens, except the `skipped` ids, the place of its largest weight; of equal
/// weights, the first. By ascending ids.
template <class T>
std::vector<index_t> largest_places(std::span<const index_t> ids, std::span<const T> weights,
                                    const std::vector<index_t>& skipped) {
  std::map<index_t, std::size_t> largest;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (std::ranges::binary_search(skipped, ids[t])) continue;
    std::size_t& place = largest.try_emplace(ids[t], t).first->second;
    if (weights[t] > weights[place]) place = t;
  }
  std::vector<index_t> places;
  for (const auto& [id, place] : largest) places.push_back(static_cast<index_t>(place));
  return places;
}

}  // namespace

Tensor Splade::operator()(const Tokens& tokens) const {
  const Tensor encoded = model.token_encoder(tokens);
  const std::vector<index_t> lengths = lengths_of(tokens);
  std::vector<Tensor> rows;
  for (index_t b = 0; b < encoded.size(0); ++b) {
    const index_t length = lengths[static_cast<std::size_t>(b)];
    rows.push_back(text_weights(*this, encoded.select(0, b).slice(0, 0, length)));
  }
  return stack(rows);
}

Tensor TokenWeights::of_tokens(const Tokens& tokens) const {
  return relu(linear(token_encoder(tokens))).squeeze(2);
}

Tensor TokenWeights::operator()(const Tokens& tokens) const {
  const Tensor weights = of_tokens(tokens);
  const std::vector<index_t> lengths = lengths_of(tokens);
  const Tensor none = zeros({token_encoder.embeddings.word.weight.size(0)}, weights.dtype());
  std::vector<Tensor> rows;
  for (index_t b = 0; b < weights.size(0); ++b) {
    const index_t length = lengths[static_cast<std::size_t>(b)];
    const Tensor ids = tokens.ids.select(0, b).slice(0, 0, length), row = weights.select(0, b);
    const auto own = ids.to_vector<index_t>();
    const auto values = row.detach().to(kFloat64).to_vector<double>();
    const auto found = largest_places<double>(own, values, skipped);
    const Tensor places = from_vector(found, {std::ssize(found)});
    rows.push_back(index_add(none, 0, index_select(ids, 0, places), index_select(row, 0, places)));
  }
  return stack(rows);
}

void prepack(SparseEncoder& encoder, const nn::PrepackOptions& options) {
  std::visit([&](auto& model) { nn::prepack(model, with_kept_heads(options)); }, encoder.model);
}

namespace {

std::vector<SparseVector> encode_texts(const SparseEncoder& model,
                                       const std::vector<std::string>& texts,
                                       const TaskOptions& options) {
  const NoGrad not_recorded;
  const std::string prompt = prompt_of("SparseEncoder", model.settings, options);
  std::vector<std::string> given;
  given.reserve(texts.size());
  for (const std::string& text : texts) {
    given.push_back(cleaned(prompt + text, model.settings.lower_case));
  }
  const auto encodings = model.reader.encode_batch(std::span<const std::string>(given), options);
  std::vector<SparseVector> results(encodings.size());
  const auto* const token_weights = std::get_if<TokenWeights>(&model.model);
  const auto output = [&](const Tokens& tokens) {
    return (token_weights != nullptr ? token_weights->of_tokens(tokens)
                                     : std::get<Splade>(model.model)(tokens))
        .to(kFloat32);
  };
  model.reader.each_row(encodings, options, output, [&](index_t text, std::span<const float> row) {
    SparseVector& result = results[static_cast<std::size_t>(text)];
    const auto add = [&](index_t id, index_t place) {
      const float weight = row[static_cast<std::size_t>(place)];
      if (weight <= 0) return;
      result.ids.push_back(id);
      result.weights.push_back(weight);
    };
    if (token_weights != nullptr) {
      const auto& ids = encodings[static_cast<std::size_t>(text)].ids;
      for (const index_t place : largest_places<float>(ids, row, token_weights->skipped)) {
        add(ids[static_cast<std::size_t>(place)], place);
      }
    } else {
      for (index_t id = 0; id < std::ssize(row); ++id) add(id, id);
    }
    if (model.max_active_dims > 0) result = largest(result, model.max_active_dims);
  });
  return results;
}

}  // namespace

std::vector<SparseVector> SparseEncoder::encode_query(const std::vector<std::string>& texts,
                                                      const TaskOptions& options) const {
  return encode_texts(*this, texts, options_for(settings, options, {"query"}));
}

std::vector<SparseVector> SparseEncoder::encode_document(const std::vector<std::string>& texts,
                                                         const TaskOptions& options) const {
  return encode_texts(*this, texts,
                      options_for(settings, options, {"document", "passage", "corpus"}));
}

namespace {

/// "max" or "sum", and "relu" or "log1p_relu".
void read_splade_pooling(const std::filesystem::path& folder, Splade& splade) {
  const Json config = read_json(folder / "config.json", kSmallJson);
  const auto is_second = [&](const char* key, const char* first, const char* second) {
    const std::string value = config.text(key, first);
    if (value != first && value != second) {
      config.at(key).fail("must be ", first, " or ", second, ", got ", config.at(key).described());
    }
    return value == second;
  };
  splade.sum_pooling = is_second("pooling_strategy", "max", "sum");
  splade.double_log = is_second("activation_function", "relu", "log1p_relu");
}

void check_splade_rows(const std::vector<ModuleRow>& rows) {
  if (rows.size() == 1) return;
  if (rows[0].kind != "MLMTransformer") {
    fail_file(rows[0].place, "first module must be MLMTransformer, or the folder must have ",
              kM3Sparse, ", got ", printable(rows[0].kind));
  }
  if (rows[1].kind != "SpladePooling") {
    fail_file(rows[1].place, "second module must be SpladePooling, got ", printable(rows[1].kind));
  }
  if (rows.size() > 2) {
    fail_file(rows[2].place, "modules must be 2, got ", rows.size(), "; the third is ",
              printable(rows[2].kind));
  }
}

Splade load_splade(const ModelFolder& files, const std::vector<ModuleRow>& rows) {
  Splade splade = {load_model<MaskedLM>(masked_lm_options(files), files)};
  if (rows.size() > 1) read_splade_pooling(rows[1].folder, splade);
  return splade;
}

}  // namespace

std::vector<index_t> m3_skipped(const text::Tokenizer& tokenizer) {
  text::SpecialTokens special = tokenizer.special();
  special.mask.reset();  // BGEM3FlagModel gives <mask> a weight
  return special.ids();
}

SparseEncoder load_sparse_encoder(const std::filesystem::path& folder) {
  const std::vector<ModuleRow> rows = read_module_rows(folder);
  const ModuleRow& first = rows.front();
  if (first.kind != "Transformer") check_splade_rows(rows);
  const ModelFolder files(first.folder);
  std::optional<nn::Linear> layer;
  if (first.kind == "Transformer") {
    layer = find_m3_layer(files.path, kM3Sparse, files.options.encoder.width());
  }
  if (!layer) check_splade_rows(rows);
  auto [settings, max_length] =
      read_settings(folder, first.folder, layer ? "SentenceTransformer" : "SparseEncoder");
  TextReader reader = load_reader(files, max_length);
  reader.folder = folder;
  std::variant<Splade, TokenWeights> model =
      layer ? decltype(model)(TokenWeights{load_encoder(files), *std::move(layer),
                                           m3_skipped(*reader.tokenizer)})
            : load_splade(files, rows);
  SparseEncoder result = {std::move(reader), std::move(model), std::move(settings)};
  if (const auto json = find_json(folder / "config_sentence_transformers.json", kSmallJson)) {
    if (!layer) config::want_text(*json, "similarity_fn_name", "dot");
    result.max_active_dims = json->integer("max_active_dims", JsonRange{0, kLongestText}, 0);
  }
  return result;
}

}  // namespace tessera::models
