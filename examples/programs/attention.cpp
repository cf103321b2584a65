#include "examples/programs/attention.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <tessera/models/inspect/attention_flow.h>
#include <tessera/models/inspect/heads.h>
#include <tessera/models/inspect/record.h>
#include <tessera/models/pages/attention_page.h>
#include <tessera/nn/hook.h>
#include <tessera/tensor/autograd/tape.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/detail/parse_number.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/ops/indexing.h>
#include <tessera/tensor/ops/reduce.h>
#include "examples/programs/processes.h"

namespace tessera::examples {

namespace {

constexpr const char* kFlag = "--attention";

/// The numbers in "0,2-5", each once, in their order.
std::vector<index_t> chosen_numbers(const char* flag, const std::string& text, index_t count) {
  std::set<index_t> chosen;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view range = std::string_view(text).substr(begin, end - begin);
    const std::size_t dash = std::min(range.find('-'), range.size());
    index_t first = 0, last = 0;
    const bool is_range = dash < range.size();
    const bool is_valid = parse_number(range.substr(0, dash), first) &&
                          parse_number(is_range ? range.substr(dash + 1) : range, last);
    require(is_valid && 0 <= first && first <= last && last < count, flag,
            "must be numbers from 0 to ", count - 1, ", such as 0,2-5, got ", printable(text));
    for (index_t i = first; i <= last; ++i) chosen.insert(i);
    begin = end + 1;
  }
  return {chosen.begin(), chosen.end()};
}

index_t depth_of(const models::Encoder& encoder) {
  return encoder.order.empty() ? std::ssize(encoder.layers) : std::ssize(encoder.order);
}

/// The smallest number of heads of a layer: every layer has these.
index_t common_heads(const models::Encoder& encoder) {
  index_t heads = encoder.layers.front().self_attn->num_heads;
  for (const models::EncoderLayer& layer : encoder.layers) {
    heads = std::min(heads, layer.self_attn->num_heads);
  }
  return heads;
}

AttentionRequest request_of(const AttentionOptions& o, const models::Encoder& encoder) {
  AttentionRequest request;
  if (!o.layers.empty()) {
    request.layers = chosen_numbers("--attention-layers", o.layers, depth_of(encoder));
  }
  if (!o.heads.empty()) {
    request.heads = chosen_numbers("--attention-heads", o.heads, common_heads(encoder));
  }
  return request;
}

/// Adds the attention weights of a text and the norms of its values, by layer.
void add_weights(pages::AttentionText& text, const models::TokenEncoder& encoder,
                 const models::Tokens& tokens, const AttentionRequest& request) {
  const NoGrad not_recorded;
  std::vector<Tensor> norms;
  const nn::Hook hook("layers.*.self_attn.v", [&](const nn::HookPoint& point) {
    const std::vector<index_t>& order = encoder.encoder.order;
    const auto layer = order.empty() ? norms.size() : static_cast<std::size_t>(order[norms.size()]);
    const nn::MultiHeadAttention& attention = *encoder.encoder.layers[layer].self_attn;
    norms.push_back(inspect::value_norms(point.unpadded.pad(point.value), attention.out_proj.weight,
                                         attention.num_heads));
  });
  const std::vector<Tensor> weights = encoder.with_attentions(tokens, request).attentions;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto layer = request.layers ? static_cast<std::size_t>((*request.layers)[i]) : i;
    const Tensor& all = norms[layer];
    text.weights.push_back(weights[i].select(0, 0));
    text.norms.push_back(
        (request.heads ? index_select(all, 1, from_vector(*request.heads)) : all).select(0, 0));
  }
}

Tensor ablation_of(const AttentionTexts& texts, const text::Encoding& text,
                   const AttentionRequest& request) {
  const NoGrad not_recorded;
  const auto output = [&] {
    const Tensor result =
        texts.result ? texts.result(text) : texts.encoder(texts.reader.tokens(text));
    return result.flatten().to(kFloat64);
  };
  const Tensor whole = output();
  const index_t likeliest = argmax(whole).item<index_t>();
  return inspect::head_ablation(
      [&] {
        return texts.is_logits ? output().select(0, likeliest)
                               : cosine_similarity(output(), whole, 0);
      },
      {request.layers, request.heads});
}

/// The page's part about the model and the choice of maps.
pages::AttentionView view_of(const AttentionOptions& options, const AttentionTexts& texts,
                             const AttentionRequest& request) {
  const index_t depth = depth_of(texts.encoder.encoder);
  const index_t heads = common_heads(texts.encoder.encoder);
  pages::AttentionView view = {.title = "Attention"};
  view.note =
      str_cat(texts.about, texts.about.empty() ? "" : ": ", depth,
              depth == 1 ? " layer of " : " layers of ", heads, heads == 1 ? " head" : " heads");
  view.layers = request.layers.value_or(std::vector<index_t>());
  view.heads = request.heads.value_or(std::vector<index_t>());
  if (options.ablation) {
    view.ablation = texts.is_logits
                        ? "drop of the largest logit without the head"
                        : "1 - cosine of " + texts.result_name + " with and without the head";
  }
  return view;
}

}  // namespace

void AttentionOptions::add_to(Command& command) {
  command.add_output(kFlag, file, "output file for a page of attention weights, .html");
  command.add("--attention-layers", layers, "layers in --attention, such as 0,2-5; all if absent");
  command.add("--attention-heads", heads, "heads in --attention, such as 0,2-5; all if absent");
  command.add("--attention-ablation", ablation,
              "change of the result without each head, on the page of --attention; takes a forward "
              "pass per chosen head and text");
}

void AttentionOptions::check(const models::Encoder& encoder) const {
  require(!file.empty() || (layers.empty() && heads.empty() && !ablation), kFlag,
          "must be given with --attention-layers, --attention-heads or --attention-ablation, ",
          "got none");
  if (file.empty()) return;
  require(pages::is_page(file), kFlag, "must end in .html, got ", printable(file));
  require(!encoder.layers.empty(), kFlag, "the encoder must have layers, got none");
  request_of(*this, encoder);
}

void write_attention(const AttentionOptions& options, const AttentionTexts& texts) {
  constexpr index_t kMostTexts = 8;
  constexpr index_t kMostBytes = 48'000'000;  // of a page with one text
  const models::Encoder& encoder = texts.encoder.encoder;
  options.check(encoder);
  if (options.file.empty() || !leaves_traces()) return;
  const index_t all = std::ssize(texts.encodings);
  require(all > 0, kFlag, "the input must have a text, got none");
  const AttentionRequest request = request_of(options, encoder);
  pages::AttentionView view = view_of(options, texts, request);
  const index_t maps = (request.layers ? std::ssize(*request.layers) : depth_of(encoder)) *
                       (request.heads ? std::ssize(*request.heads) : common_heads(encoder));
  index_t all_bytes = 0;
  for (index_t i = 0; i < std::min(all, kMostTexts); ++i) {
    const text::Encoding& encoding = texts.encodings[static_cast<std::size_t>(i)];
    pages::AttentionText text;
    for (const index_t id : encoding.ids)
      text.tokens.emplace_back(texts.reader.tokenizer->token(id));
    const index_t count = std::ssize(text.tokens);
    const index_t bytes = pages::attention_bytes(count, maps);
    require(i > 0 || bytes <= kMostBytes, kFlag, "the maps of a text must take at most ",
            kMostBytes / 1'000'000, " MB in ", options.file, ", got ", bytes / 1'000'000,
            " MB for ", maps, " maps of ", count,
            " tokens; choose fewer by --attention-layers and ",
            "--attention-heads, or shorten the text");
    all_bytes += bytes;
    if (i > 0 && all_bytes > pages::kAttentionBytes) break;
    add_weights(text, texts.encoder, texts.reader.tokens(encoding), request);
    if (options.ablation) text.ablation = ablation_of(texts, encoding, request);
    view.texts.push_back(std::move(text));
  }
  view.left_out = all - std::ssize(view.texts);
  pages::write_page(options.file, pages::attention_page(view));
}

}  // namespace tessera::examples
