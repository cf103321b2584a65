#include "tessera/models/hugging_face/sparse_encoder.h"

#include <algorithm>
#include <initializer_list>
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

/// The weights of one text from the vectors of its tokens, (T, D) -> (V).
Tensor text_weights(const SparseEncoder& encoder, const Tensor& vectors) {
  const auto weights = [&](const Tensor& scores) {
    const Tensor once = log1p(relu(scores));
    return encoder.double_log ? log1p(once) : once;
  };
  std::vector<Tensor> parts;
  for (index_t t = 0; t < vectors.size(0); t += kTokensAtOnce) {
    const index_t end = std::min(t + kTokensAtOnce, vectors.size(0));
    const Tensor scores = encoder.model.logits(vectors.slice(0, t, end));
    parts.push_back(encoder.sum_pooling ? sum(weights(scores), {0}) : max(scores, {0}));
  }
  // The weight grows with the score, so the largest score has the largest weight.
  return encoder.sum_pooling ? sum(stack(parts), {0}) : weights(max(stack(parts), {0}));
}

}  // namespace

Tensor SparseEncoder::operator()(const Tokens& tokens) const {
  const Tensor encoded = model.token_encoder(tokens);
  std::vector<index_t> lengths(static_cast<std::size_t>(encoded.size(0)), encoded.size(1));
  const Tensor& given = tokens.visible.defined() ? tokens.visible : tokens.lengths;
  if (given.defined()) lengths = given.to_vector<index_t>();
  std::vector<Tensor> rows;
  for (index_t b = 0; b < encoded.size(0); ++b) {
    const Tensor vectors = encoded.select(0, b);
    rows.push_back(text_weights(*this, vectors.slice(0, 0, lengths[static_cast<std::size_t>(b)])));
  }
  return stack(rows);
}

namespace {

/// The weights above 0 of a row.
SparseVector sparse(std::span<const float> row) {
  SparseVector result;
  for (std::size_t id = 0; id < row.size(); ++id) {
    if (!(row[id] > 0)) continue;
    result.ids.push_back(static_cast<index_t>(id));
    result.weights.push_back(row[id]);
  }
  return result;
}

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
  model.reader.each_row(
      encodings, options, [&](const Tokens& tokens) { return model(tokens).to(kFloat32); },
      [&](index_t text, std::span<const float> row) {
        SparseVector& result = results[static_cast<std::size_t>(text)];
        result = sparse(row);
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
void read_splade_pooling(const std::filesystem::path& folder, SparseEncoder& model) {
  const Json config = read_json(folder / "config.json", kSmallJson);
  const auto is_second = [&](const char* key, const char* first, const char* second) {
    const std::string value = config.text(key, first);
    if (value != first && value != second) {
      config.at(key).fail("must be ", first, " or ", second, ", got ", config.at(key).described());
    }
    return value == second;
  };
  model.sum_pooling = is_second("pooling_strategy", "max", "sum");
  model.double_log = is_second("activation_function", "relu", "log1p_relu");
}

}  // namespace

SparseEncoder load_sparse_encoder(const std::filesystem::path& folder) {
  const std::vector<ModuleRow> rows = read_module_rows(folder);
  const bool has_modules = rows.size() > 1;
  if (has_modules && rows.front().kind != "MLMTransformer") {
    fail_file(rows.front().place, "first module must be MLMTransformer, got ",
              printable(rows.front().kind));
  }
  if (has_modules && rows[1].kind != "SpladePooling") {
    fail_file(rows[1].place, "second module must be SpladePooling, got ", printable(rows[1].kind));
  }
  if (rows.size() > 2) {
    fail_file(rows[2].place, "modules must be 2, got ", rows.size(), "; the third is ",
              printable(rows[2].kind));
  }
  auto [settings, max_length] = read_settings(folder, rows.front().folder, "SparseEncoder");
  const ModelFolder files(rows.front().folder);
  MaskedLM model = load_model<MaskedLM>(masked_lm_options(files), files);
  TextReader reader = load_reader(files, max_length);
  reader.folder = folder;
  SparseEncoder result = {std::move(reader), std::move(model), std::move(settings)};
  if (has_modules) read_splade_pooling(rows[1].folder, result);
  if (const auto json = find_json(folder / "config_sentence_transformers.json", kSmallJson)) {
    config::want_text(*json, "similarity_fn_name", "dot");
    result.max_active_dims = json->integer("max_active_dims", JsonRange{0, kLongestText}, 0);
  }
  return result;
}

}  // namespace tessera::models
