#include "tessera/models/hugging_face/mask_filler.h"

#include <algorithm>
#include <utility>

#include "tessera/models/hugging_face/detail/heads.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/softmax.h"
#include "tessera/tensor/ops/sort.h"

namespace tessera::models {

namespace {

constexpr const char* kMaskFillerOp = "MaskFiller";
constexpr std::size_t kBlanksAtOnce = 16;

std::vector<std::size_t> places_of(const text::Encoding& encoding, index_t mask) {
  std::vector<std::size_t> places;
  for (std::size_t t = 0; t < encoding.ids.size(); ++t) {
    if (encoding.ids[t] == mask) places.push_back(t);
  }
  return places;
}

/// The number of places of `part` in `text`.
std::size_t count_of(const std::string& part, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++count;
  }
  return count;
}

/// The text with `id` at a position. Other remaining masks are shown.
std::string filled(const text::Tokenizer& tokenizer, const text::Encoding& encoding,
                   std::size_t place, index_t id, bool others) {
  std::vector<index_t> ids;
  for (std::size_t t = 0; t < encoding.ids.size(); ++t) {
    if (t == place) {
      ids.push_back(id);
    } else if (encoding.sequence_ids[t] != text::kNoText) {
      ids.push_back(encoding.ids[t]);
    }
  }
  return others ? tokenizer.decode(ids) : tokenizer.decode_text(ids);
}

/// The best predictions for one mask. Matrices of scores may have more rows than there are tokens.
Blank fill(const text::Tokenizer& tokenizer, const text::Encoding& encoding, std::size_t place,
           bool others, std::span<const index_t> ids, std::span<const float> scores) {
  Blank blank = {.bytes = encoding.offsets[place], .fillings = {}};
  for (std::size_t k = 0; k < ids.size(); ++k) {
    Filling filling = {
        .id = ids[k], .token = {}, .text = {}, .score = static_cast<double>(scores[k])};
    if (ids[k] < tokenizer.size()) {
      filling.token = tokenizer.decode(ids.subspan(k, 1));
      filling.text = filled(tokenizer, encoding, place, ids[k], others);
    }
    blank.fillings.push_back(std::move(filling));
  }
  return blank;
}

/// The masks of one text, given `encoded`, its tokens' vectors, (T, D). Computes a few at a time,
/// because each of them has a score for each token of the vocabulary. Errors name the text by
/// `number`.
std::vector<Blank> fill_text(const MaskFiller& of, const text::Encoding& encoding, index_t number,
                             std::span<const std::size_t> places, const Tensor& encoded,
                             const FillingOptions& options) {
  std::vector<Blank> blanks;
  for (std::size_t begin = 0; begin < places.size(); begin += kBlanksAtOnce) {
    const auto some = places.subspan(begin, std::min(kBlanksAtOnce, places.size() - begin));
    const std::vector<index_t> rows(some.begin(), some.end());
    const Tensor chosen = index_select(encoded, 0, from_vector(rows, {std::ssize(rows)}));
    const Tensor logits = of.model.logits(chosen);
    const Tensor ids = topk(logits, std::min(options.top_k, logits.size(1))).indices;
    const auto columns = static_cast<std::size_t>(ids.size(1));
    const std::vector<float> values = gather(softmax(logits), 1, ids).to_vector<float>();
    require_finite_outputs(values, options.task.name, number);
    const std::vector<index_t> numbers = ids.to_vector<index_t>();
    for (std::size_t k = 0; k < some.size(); ++k) {
      blanks.push_back(fill(*of.reader.tokenizer, encoding, some[k], places.size() > 1,
                            std::span(numbers).subspan(k * columns, columns),
                            std::span(values).subspan(k * columns, columns)));
    }
  }
  return blanks;
}

}  // namespace

std::string MaskFiller::mask() const {
  require(reader.tokenizer != nullptr, kMaskFillerOp, "must have a tokenizer, got a null pointer");
  const auto id = reader.tokenizer->special().mask;
  require(id.has_value(), kMaskFillerOp, "tokenizer must have a mask token, got none");
  return std::string(reader.tokenizer->token(*id));
}

std::vector<std::vector<Blank>> MaskFiller::operator()(text::ListOf<std::string> texts,
                                                       const FillingOptions& options) const {
  require(options.top_k >= 1, kMaskFillerOp, "top_k must be at least 1, got ", options.top_k);
  const std::string blank = mask();
  const index_t mask_id = reader.tokenizer->id(blank);
  text::EncodeOptions encode = reader.encode_options(options.task);
  encode.split_special_tokens = false;  // a mask is such a token
  const auto encodings = reader.tokenizer->encode_batch(texts, encode);
  std::vector<std::vector<std::size_t>> places(encodings.size());
  for (std::size_t n = 0; n < encodings.size(); ++n) {
    places[n] = places_of(encodings[n], mask_id);
    const std::string name = text_name(options.task.name, static_cast<index_t>(n));
    const index_t lost = encodings[n].num_truncated;
    require(lost == 0 || count_of(blank, texts[n]) <= places[n].size(), kMaskFillerOp, name,
            " must have each ", blank, " in the ", encodings[n].ids.size(),
            " tokens that the model reads, got one in the ", lost, " tokens that are cut off");
    require(!places[n].empty(), kMaskFillerOp, name, " must have a ", blank, ", got none in its ",
            encodings[n].ids.size(), " tokens");
  }
  text::report_cut(encodings, encode.max_length, options.task.report_cut);
  std::vector<std::vector<Blank>> results(texts.size());
  reader.for_each_batch(
      encodings, options.task, [&](const Tokens& tokens, std::span<const index_t> chosen) {
        const Tensor encoded = model.token_encoder(tokens);
        for (std::size_t i = 0; i < chosen.size(); ++i) {
          const auto n = static_cast<std::size_t>(chosen[i]);
          results[n] = fill_text(*this, encodings[n], chosen[i], places[n],
                                 encoded.select(0, static_cast<index_t>(i)), options);
        }
      });
  return results;
}

MaskFiller load_mask_filler(const std::filesystem::path& path) {
  const ModelFolder folder(path);
  TextReader reader = load_reader(folder);
  if (!reader.tokenizer->special().mask) {
    fail_file(path.string(), "tokenizer must have a mask_token, got none");
  }
  auto model = load_model<MaskedLM>(masked_lm_options(folder), folder);
  return {.reader = std::move(reader), .model = std::move(model)};
}

}  // namespace tessera::models
