#include "tessera/models/hugging_face/sentence_encoder.h"

#include <algorithm>
#include <initializer_list>
#include <mutex>
#include <span>
#include <utility>

#include "tessera/models/hugging_face/detail/sentence_files.h"
#include "tessera/models/hugging_face/detail/sentence_settings.h"
#include "tessera/models/hugging_face/folder.h"
#include "tessera/models/text/detail/unicode.h"
#include "tessera/models/text/utf8.h"
#include "tessera/nn/hook.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/rearrange.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera::models {

Tensor pool_sentences(const Tensor& x, const Tokens& tokens, const std::vector<Pooling>& poolings,
                      index_t ignored) {
  const auto pooled = [&](const Tensor& vectors, const Tokens& of) {
    std::vector<Tensor> parts;
    for (const Pooling& pooling : poolings) parts.push_back(pooling(vectors, of));
    return parts.size() == 1 ? parts.front() : concat(parts, 1);
  };
  const index_t rows = x.size(0);
  const index_t count = x.size(1);
  if (ignored == 0) return pooled(x, {.lengths = tokens.lengths});
  if (ignored >= count) return zeros({rows, std::ssize(poolings) * x.size(2)}, x.dtype());
  const Tensor lengths =
      (tokens.lengths.defined() ? tokens.lengths
                                : full({rows}, static_cast<double>(count), kInt64)) -
      ignored;
  const Tensor y = pooled(x.slice(1, ignored), {.lengths = maximum(lengths, 1),
                                                .positions = arange(count).slice(0, ignored)});
  return where(gt(lengths, 0).unsqueeze(1), y, 0);
}

Tensor Normalize::operator()(const Tensor& x) const {
  return x / maximum(norm(x, {-1}, true), 1e-12);
}

namespace {

/// The distances between a row and all rows of b, (M).
Tensor distances(Similarity kind, const Tensor& row, const Tensor& b) {
  const Tensor difference = b - row;
  return kind == Similarity::kEuclidean ? norm(difference, {1}) : sum(abs(difference), {1});
}

}  // namespace

Tensor similarity(Similarity kind, const Tensor& a, const Tensor& b) {
  require(a.rank() == 2 && b.rank() == 2 && a.size(1) == b.size(1), "similarity",
          "shapes must be (N, D) and (M, D), got ", a.shape(), " and ", b.shape());
  constexpr Normalize kUnit;
  if (kind == Similarity::kDot) return matmul(a, b.t());
  if (kind == Similarity::kCosine) return matmul(kUnit(a), kUnit(b).t());
  if (a.size(0) == 0) return matmul(a, b.t());
  std::vector<Tensor> rows;
  for (index_t i = 0; i < a.size(0); ++i) rows.push_back(-distances(kind, a.select(0, i), b));
  return stack(rows);
}

namespace {

bool is_python_space(char32_t code) {
  return text::is_space(code) || (code >= 0x1c && code <= 0x1f);
}

}  // namespace

std::string cleaned(std::string_view text, bool lower_case) {
  if (text::find_invalid_utf8(text) != std::string_view::npos) return std::string(text);
  std::size_t begin = 0;
  std::size_t end = 0;  // after the last character that is not a space
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = text::utf8_size(text[at]);
    const bool space = is_python_space(text::code_point_at(text, at));
    if (!space && !inside) begin = at;
    inside = inside || !space;
    at += size;
    if (!space) end = at;
  }
  const std::string_view stripped = text.substr(begin, inside ? end - begin : 0);
  if (!lower_case) return std::string(stripped);
  std::string result;
  for (std::size_t at = 0; at < stripped.size(); at += text::utf8_size(stripped[at])) {
    for (const char32_t code : text::lower_case(text::code_point_at(stripped, at))) {
      text::append_utf8(code, result);
    }
  }
  return result;
}

namespace {

constexpr const char* kSentenceEncoderOp = "SentenceEncoder";

/// The text that the tokenizer gets: static embeddings read the text as it is.
std::string given_text(const SentenceEncoder& model, const std::string& text) {
  const bool is_static = std::holds_alternative<nn::Embedding>(model.token_encoder);
  return is_static ? text : cleaned(text, model.settings.lower_case);
}

/// Throws NotFinite about the first text whose row of `y` is not finite.
void require_finite_rows(const Tensor& y, const TextName& name) {
  const Tensor rows = y.contiguous();
  const auto columns = static_cast<std::size_t>(y.size(1));
  for (index_t i = 0; i < y.size(0); ++i) {
    require_finite_outputs({rows.data<float>() + i * y.size(1), columns}, name, i);
  }
}

/// One vector per row of tokens, with as many columns as the pooling gives.
Tensor pooled(const SentenceEncoder& model, const Tokens& tokens, index_t prompt) {
  const auto* const encoder = std::get_if<TokenEncoder>(&model.token_encoder);
  const Tensor x =
      encoder ? (*encoder)(tokens) : std::get<nn::Embedding>(model.token_encoder)(tokens.ids);
  return nn::hooked("pooled",
                    pool_sentences(x, tokens, model.poolings, model.pools_prompt ? 0 : prompt));
}

/// The pooled vectors after all modules.
Tensor apply_modules(const std::vector<SentenceModule>& modules, Tensor x) {
  for (const SentenceModule& module : modules) {
    x = std::visit([&](const auto& part) { return part(x); }, module);
  }
  return x;
}

/// The same for all texts, in float32.
Tensor pooled_texts(const SentenceEncoder& model, const std::vector<text::Encoding>& encodings,
                    index_t prompt, const TaskOptions& options) {
  Tensor result;
  float* rows = nullptr;
  std::once_flag is_made;  // by the first row; all rows have its width
  model.reader.each_row(
      encodings, options,
      [&](const Tokens& tokens) { return pooled(model, tokens, prompt).to(kFloat32); },
      [&](index_t text, std::span<const float> row) {
        std::call_once(is_made, [&] {
          result = Tensor::empty({std::ssize(encodings), std::ssize(row)}, kFloat32);
          rows = result.mutable_data<float>();
        });
        std::ranges::copy(row, rows + text * std::ssize(row));
      });
  return result;
}

}  // namespace

Tensor SentenceEncoder::operator()(const Tokens& tokens, index_t prompt) const {
  return apply_modules(modules, pooled(*this, tokens, prompt));
}

Tensor SentenceEncoder::encode(const std::vector<std::string>& texts,
                               const TaskOptions& options) const {
  require(options.truncate_dim >= 0 && options.truncate_dim <= width, kSentenceEncoderOp,
          "truncate_dim must be from 0 to ", width, ", got ", options.truncate_dim);
  const NoGrad not_recorded;
  const std::string prompt = prompt_of(kSentenceEncoderOp, settings, options);
  std::vector<std::string> given;
  given.reserve(texts.size());
  for (const std::string& text : texts) given.push_back(given_text(*this, prompt + text));
  std::vector<text::Encoding> encodings =
      reader.encode_batch(std::span<const std::string>(given), options);
  const index_t default_columns =
      settings.truncate_dim > 0 ? std::min(settings.truncate_dim, width) : width;
  const index_t columns = options.truncate_dim > 0 ? options.truncate_dim : default_columns;
  if (encodings.empty()) return zeros({0, columns});

  // Static embeddings can give a text without tokens, which no batch accepts. Such a text is
  // encoded as token 0, and its vector is set to 0 afterwards.
  std::vector<index_t> empty;
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    if (!encodings[i].ids.empty()) continue;
    empty.push_back(static_cast<index_t>(i));
    encodings[i].ids = {0};
    encodings[i].type_ids = {0};
  }
  Tensor y = pooled_texts(*this, encodings, prompt_tokens(options), options);
  for (const index_t i : empty) y.select(0, i).fill(0);
  encodings = {};
  y = apply_modules(modules, std::move(y));
  if (columns < width) y = y.slice(1, 0, columns).contiguous();
  if (options.normalize_embeddings) y = Normalize{}(y);
  if (!modules.empty()) {  // otherwise pooled_texts has checked the rows
    reader.with_finite_outputs([&] { require_finite_rows(y, options.name); });
  }
  return y;
}

Tensor SentenceEncoder::encode_query(const std::vector<std::string>& texts,
                                     const TaskOptions& options) const {
  return encode(texts, options_for(settings, options, {"query"}));
}

Tensor SentenceEncoder::encode_document(const std::vector<std::string>& texts,
                                        const TaskOptions& options) const {
  return encode(texts, for_documents(options));
}

TaskOptions SentenceEncoder::for_documents(const TaskOptions& options) const {
  return options_for(settings, options, {"document", "passage", "corpus"});
}

text::Encoding SentenceEncoder::tokenize(const std::string& text,
                                         const TaskOptions& options) const {
  const text::EncodeOptions encode = reader.encode_options(options);
  return reader.tokenizer->encode(
      given_text(*this, prompt_of(kSentenceEncoderOp, settings, options) + text), encode);
}

index_t SentenceEncoder::prompt_tokens(const TaskOptions& options) const {
  const std::string prompt = prompt_of(kSentenceEncoderOp, settings, options);
  if (prompt.empty() || pools_prompt) return 0;
  const text::EncodeOptions encode = reader.encode_options(options);
  const text::Encoding encoding = reader.tokenizer->encode(given_text(*this, prompt), encode);
  const bool ends = !encoding.sequence_ids.empty() && encoding.sequence_ids.back() == text::kNoText;
  return std::ssize(encoding.ids) - (ends ? 1 : 0);
}

namespace {

/// Values that may throw are computed before the braces: GCC 12 frees members twice if a later one
/// throws.
SentenceEncoder static_encoder(const ModuleRow& row, SentenceSettings settings) {
  nn::Embedding words = read_static_embedding(row.folder);
  const index_t width = words.weight.size(1);
  TextReader reader = read_static_reader(row.folder, words.weight.size(0));
  return {std::move(reader), std::move(words), std::move(settings), width};
}

/// `is_only`: there is no other module.
SentenceEncoder load_transformer(const ModuleRow& row, SentenceSettings settings,
                                 index_t max_length, bool is_only) {
  const ModelFolder folder(row.folder);
  if (is_only && is_stanford_colbert(folder.config)) {
    folder.config.at("architectures")
        .fail("must be of one vector per text, got HF_ColBERT; call load_multi_vector_encoder()");
  }
  TokenEncoder words = load_encoder(folder);
  TextReader reader = load_reader(folder, max_length);
  const index_t width = folder.options.encoder.width();
  return {std::move(reader), std::move(words), std::move(settings), width};
}

}  // namespace

VectorForm vector_form(const std::filesystem::path& folder) {
  const std::vector<ModuleRow> rows = read_module_rows(folder);
  if (rows.front().kind == "MLMTransformer") return VectorForm::kSparse;
  if (rows.size() > 1) {
    const bool maps_tokens = rows[0].kind == "Transformer" && rows[1].kind == "Dense";
    return maps_tokens ? VectorForm::kMulti : VectorForm::kSingle;
  }
  const auto config = find_json(rows.front().folder / "config.json", kSmallJson);
  return config && is_stanford_colbert(*config) ? VectorForm::kMulti : VectorForm::kSingle;
}

SentenceEncoder load_sentence_encoder(const std::filesystem::path& folder,
                                      const std::optional<Pooling>& pooling) {
  const std::vector<ModuleRow> rows = read_module_rows(folder);
  const ModuleRow& first = rows.front();
  const bool is_transformer = first.kind == "Transformer";
  if (!is_transformer && first.kind != "StaticEmbedding") {
    fail_file(first.place, "first module must be Transformer or StaticEmbedding, got ",
              printable(first.kind),
              first.kind == "MLMTransformer" ? "; call load_sparse_encoder()" : "");
  }
  require(is_transformer || !pooling, kSentenceEncoderOp,
          "pooling must be absent for static embeddings, which have none");
  auto [settings, max_length] =
      read_settings(folder, is_transformer ? first.folder : std::filesystem::path());
  SentenceEncoder model =
      is_transformer ? load_transformer(first, std::move(settings), max_length, rows.size() == 1)
                     : static_encoder(first, std::move(settings));
  model.reader.folder = folder;  // contains all modules, not only the encoder
  read_modules(rows, pooling, model);
  return model;
}

void prepack(SentenceEncoder& encoder, const nn::PrepackOptions& options) {
  const nn::PrepackOptions all = with_kept_heads(options);
  if (auto* const words = std::get_if<TokenEncoder>(&encoder.token_encoder))
    nn::prepack(*words, all);
  for (SentenceModule& module : encoder.modules) {
    if (auto* const dense = std::get_if<Dense>(&module)) nn::prepack(dense->linear, all);
  }
}

}  // namespace tessera::models
