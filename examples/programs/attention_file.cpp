#include "examples/programs/attention_file.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "examples/programs/processes.h"
#include "models/inspect/attention_flow.h"
#include "models/inspect/heads.h"
#include "models/pages/attention_page.h"
#include "nn/hook.h"
#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/detail/parse_number.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/ops/indexing.h"
#include "tensor/ops/reduce.h"

namespace tessera::examples {

namespace {

constexpr const char* kFlag = "--attention";
constexpr index_t kMostBytes = 48'000'000;  // of a page with one text

/// The range in "3" or "2-5"; an invalid one for any other text.
std::pair<index_t, index_t> range_of(std::string_view text) {
  constexpr std::pair<index_t, index_t> kNone = {0, -1};
  const auto number = [](std::string_view digits, index_t& value) {
    return parse_number(digits, value) && value >= 0;
  };
  const std::size_t dash = text.find('-');
  std::pair<index_t, index_t> range = kNone;
  if (!number(text.substr(0, dash), range.first)) return kNone;
  range.second = range.first;
  if (dash == std::string_view::npos) return range;
  return number(text.substr(dash + 1), range.second) ? range : kNone;
}

/// The smallest number of heads of a layer: every layer has these.
index_t common_heads(const models::Encoder& encoder) {
  index_t heads = encoder.layers.front().self_attn.num_heads;
  for (const models::EncoderLayer& layer : encoder.layers) {
    heads = std::min(heads, layer.self_attn.num_heads);
  }
  return heads;
}

index_t depth_of(const models::Encoder& encoder) {
  return encoder.order.empty() ? std::ssize(encoder.layers) : std::ssize(encoder.order);
}

std::string numbered(const std::vector<index_t>& numbers, std::size_t place) {
  return std::to_string(numbers.empty() ? static_cast<index_t>(place) : numbers[place]);
}

}  // namespace

std::vector<index_t> chosen_numbers(const char* flag, const std::string& text, index_t count) {
  std::set<index_t> chosen;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const auto [first, last] = range_of(rest.substr(0, comma));
    require(first <= last && last < count, flag, "must be numbers from 0 to ", count - 1,
            ", such as 0,2-5, got ", printable(text));
    for (index_t i = first; i <= last; ++i) chosen.insert(i);
    if (comma == std::string_view::npos) return {chosen.begin(), chosen.end()};
    rest.remove_prefix(comma + 1);
  }
}

AttentionFile::AttentionFile(const AttentionFileOptions& options, const models::Encoder& encoder,
                             std::string about)
    : file_(options.file), about_(std::move(about)), ablation_(options.ablation) {
  require(!file_.empty() || (options.layers.empty() && options.heads.empty()), kFlag,
          "must name a file if --attention-layers or --attention-heads is given, got none");
  require(!ablation_ || pages::is_page(file_), "--attention-ablation",
          "must be combined with --attention FILE.html, got ",
          file_.empty() ? "no file" : printable(file_));
  if (file_.empty()) return;
  require(pages::is_page(file_) || file_.ends_with(".svg"), kFlag,
          "must end in .html or .svg, got ", printable(file_));
  require(!encoder.layers.empty(), kFlag, "the encoder must have layers, got none");
  const index_t depth = depth_of(encoder);
  const index_t heads = common_heads(encoder);
  if (!options.layers.empty()) {
    request_.layers = chosen_numbers("--attention-layers", options.layers, depth);
  }
  if (!options.heads.empty()) {
    request_.heads = chosen_numbers("--attention-heads", options.heads, heads);
  }
  const index_t layers = request_.layers ? std::ssize(*request_.layers) : depth;
  maps_ = layers * (request_.heads ? std::ssize(*request_.heads) : heads);
  about_ += str_cat(about_.empty() ? "" : ": ", depth, depth == 1 ? " layer of " : " layers of ",
                    heads, heads == 1 ? " head" : " heads");
}

void AttentionFile::check_size(index_t tokens) const {
  const index_t bytes =
      pages::is_page(file_) ? pages::attention_bytes(tokens, maps_) : tokens * tokens * 150;
  require(bytes <= kMostBytes, kFlag, "the maps of a text must take at most ",
          kMostBytes / 1'000'000, " MB in ", file_, ", got ", bytes / 1'000'000, " MB for ", maps_,
          " maps of ", tokens,
          " tokens; choose fewer by --attention-layers and --attention-heads, or shorten the text");
}

Tensor AttentionFile::ablation_of(const AblatedResult& result, index_t text) const {
  const NoGrad not_recorded;
  const auto output = [&] { return result.of(text).flatten().to(kFloat64); };
  const Tensor whole = output();
  const index_t likeliest = argmax(whole).item<index_t>();
  return inspect::head_ablation(
      [&] {
        return result.is_logits ? output().select(0, likeliest)
                                : cosine_similarity(output(), whole, 0);
      },
      {request_.layers, request_.heads});
}

pages::AttentionView AttentionFile::view_of(const AttentionTexts& texts) const {
  pages::AttentionView view = {.title = "Attention", .note = about_};
  view.layers = request_.layers.value_or(std::vector<index_t>());
  view.heads = request_.heads.value_or(std::vector<index_t>());
  if (ablation_) {
    view.ablation = texts.result.is_logits
                        ? "drop of the largest logit without the head"
                        : "1 - cosine of " + texts.result.name + " with and without the head";
  }
  const index_t most = std::min(texts.count, pages::is_page(file_) ? kMostTexts : 1);
  index_t bytes = 0;
  for (index_t i = 0; i < most; ++i) {
    pages::AttentionText text = {.tokens = texts.tokens(i)};
    const index_t tokens = std::ssize(text.tokens);
    if (i == 0) check_size(tokens);
    bytes += pages::attention_bytes(tokens, maps_);
    if (i > 0 && bytes > pages::kAttentionBytes) break;
    const LayerAttention found = texts.attention(i, request_);
    for (const Tensor& layer : found.weights) text.weights.push_back(layer.select(0, 0));
    for (const Tensor& layer : found.norms) text.norms.push_back(layer.select(0, 0));
    if (ablation_) text.ablation = ablation_of(texts.result, i);
    view.texts.push_back(std::move(text));
  }
  view.left_out = texts.count - std::ssize(view.texts);
  return view;
}

void AttentionFile::write(const AttentionTexts& texts) const {
  if (file_.empty() || !leaves_traces()) return;
  require(texts.count > 0, kFlag, "the input must have a text, got none");
  const pages::AttentionView view = view_of(texts);
  if (pages::is_page(file_)) {
    pages::write_page(file_, pages::attention_page(view));
    return;
  }
  const pages::AttentionText& text = view.texts.front();
  const Tensor& layer = text.weights.back();
  const std::string heads = layer.size(0) == 1 ? "head " + numbered(view.heads, 0)
                                               : str_cat("mean of ", layer.size(0), " heads");
  const std::string title =
      "Attention: layer " + numbered(view.layers, text.weights.size() - 1) + ", " + heads;
  write_text(file_, pages::attention_svg(mean(layer, {0}), text.tokens, title));
}

AttentionTexts attention_texts(index_t count, const text::Tokenizer& tokenizer,
                               const models::TokenEncoder& encoder,
                               std::function<models::Tokens(index_t text)> read) {
  AttentionTexts texts = {.count = count, .tokens = {}, .attention = {}, .result = {}};
  texts.tokens = [&tokenizer, read](index_t i) {
    const auto ids = read(i).ids.to_vector<index_t>();
    std::vector<std::string> tokens;
    for (const index_t id : ids) tokens.emplace_back(tokenizer.token(id));
    return tokens;
  };
  texts.attention = [&encoder, read](index_t i, const AttentionRequest& request) {
    return attention_of(encoder, read(i), request);
  };
  texts.result.of = [&encoder, read = std::move(read)](index_t i) { return encoder(read(i)); };
  return texts;
}

LayerAttention attention_of(const models::Encoder& encoder, const AttentionRequest& request,
                            const std::function<models::EncoderResult()>& run) {
  const NoGrad not_recorded;
  LayerAttention found;
  std::vector<Tensor> norms;
  const nn::Hook hook("layers.*.self_attn.v", [&](const nn::HookPoint& point) {
    const auto place = norms.size();
    const auto layer =
        encoder.order.empty() ? place : static_cast<std::size_t>(encoder.order[place]);
    const nn::MultiHeadAttention& attention = encoder.layers[layer].self_attn;
    norms.push_back(inspect::value_norms(point.unpadded.pad(point.value), attention.out_proj.weight,
                                         attention.num_heads));
  });
  found.weights = run().weights;
  for (std::size_t i = 0; i < found.weights.size(); ++i) {
    const auto layer = request.layers ? static_cast<std::size_t>((*request.layers)[i]) : i;
    const Tensor& all = norms[layer];
    found.norms.push_back(request.heads ? index_select(all, 1, from_vector(*request.heads)) : all);
  }
  return found;
}

LayerAttention attention_of(const models::TokenEncoder& encoder, const models::Tokens& text,
                            const AttentionRequest& request) {
  return attention_of(encoder.encoder, request,
                      [&] { return encoder.with_weights(text, request); });
}

}  // namespace tessera::examples
