#include "tessera/models/pages/attention_page.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "tessera/models/pages/detail/attention_labels.h"
#include "tessera/models/pages/detail/numbers.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/json.h"

namespace tessera::pages {

namespace {

constexpr const char* kAttentionPageOp = "attention_page";

/// How the page holds weights: the name of the encoding and the bytes that a weight has in it.
struct Encoding {
  const char* name;
  std::size_t bytes;
};
constexpr Encoding kExact = {"float32", 4};
constexpr Encoding kRounded = {"upper24", 3};

/// The upper bits of a weight in [0, 2): without the sign and the exponent's first bit, which are
/// 0, float32 has 30 bits, of which 24 are kept. NaN has the largest number, so weights just below
/// 2 get the one before it.
std::uint32_t upper_bits(float weight) {
  constexpr std::uint32_t kNan = 0xffffff;
  return std::isnan(weight) ? kNan
                            : std::min((std::bit_cast<std::uint32_t>(weight) + 32) >> 6, kNan - 1);
}

std::string bytes_of(std::span<const float> weights, const Encoding& encoding) {
  std::string bytes;
  bytes.reserve(weights.size() * encoding.bytes);
  for (const float weight : weights) {
    const bool exact = encoding.bytes == kExact.bytes;
    const std::uint32_t bits = exact ? std::bit_cast<std::uint32_t>(weight) : upper_bits(weight);
    for (std::size_t i = 0; i < encoding.bytes; ++i) {  // the lowest byte first
      bytes += static_cast<char>((bits >> (8 * i)) & 0xff);
    }
  }
  return bytes;
}

void check_norms(const AttentionText& text, std::size_t number) {
  if (text.norms.empty()) return;
  require(text.norms.size() == text.weights.size(), kAttentionPageOp, "text ", number,
          " must have norms of all ", text.weights.size(), " layers or of none, got ",
          text.norms.size());
  for (std::size_t l = 0; l < text.norms.size(); ++l) {
    const Tensor& norms = text.norms[l];
    const Shape wanted({text.weights[l].size(0), text.weights[l].size(1)});
    require(norms.defined() && norms.shape() == wanted, kAttentionPageOp, "layer ", l, " of text ",
            number, ": norms must have shape ", wanted, ", got ",
            norms.defined() ? str_cat(norms.shape()) : "none");
  }
}

void check_ablation(const AttentionText& text, std::size_t number) {
  if (!text.ablation.defined()) return;
  const index_t heads = text.weights.front().size(0);
  for (std::size_t l = 1; l < text.weights.size(); ++l) {
    require(text.weights[l].size(0) == heads, kAttentionPageOp, "layer ", l, " of text ", number,
            " must have the ", heads, " heads of layer 0 if there is ablation, got ",
            text.weights[l].size(0));
  }
  const Shape wanted({std::ssize(text.weights), heads});
  require(text.ablation.shape() == wanted, kAttentionPageOp, "text ", number,
          ": ablation must have shape ", wanted, ", got ", text.ablation.shape());
}

void check_text(const AttentionView& view, std::size_t number) {
  const AttentionText& text = view.texts[number];
  const auto tokens = static_cast<index_t>(text.tokens.size());
  require(tokens > 0 && !text.weights.empty(), kAttentionPageOp, "text ", number,
          " must have at least 1 token and 1 layer, got ", tokens, " tokens and ",
          text.weights.size(), " layers");
  require(text.weights.size() == view.texts.front().weights.size(), kAttentionPageOp, "text ",
          number, " must have the ", view.texts.front().weights.size(), " layers of text 0, got ",
          text.weights.size());
  require(view.layers.empty() || view.layers.size() == text.weights.size(), kAttentionPageOp,
          "text ", number, " must have the ", view.layers.size(),
          " layers of AttentionView::layers, got ", text.weights.size());
  for (std::size_t l = 0; l < text.weights.size(); ++l) {
    const Tensor& weights = text.weights[l];
    require(weights.defined() && is_floating(weights.dtype()) && weights.rank() == 3 &&
                weights.size(0) > 0 && weights.size(1) == tokens && weights.size(2) == tokens,
            kAttentionPageOp, "layer ", l, " of text ", number,
            ": weights must be floating and of shape (H, ", tokens, ", ", tokens, "), got ",
            weights.defined() ? str_cat(weights.dtype(), " of ", weights.shape()) : "none");
    require(view.heads.empty() || std::ssize(view.heads) == weights.size(0), kAttentionPageOp,
            "layer ", l, " of text ", number, " must have the ", view.heads.size(),
            " heads of AttentionView::heads, got ", weights.size(0));
    const Tensor& first = view.texts.front().weights[l];
    require(first.size(0) == weights.size(0), kAttentionPageOp, "layer ", l, " of text ", number,
            " must have the ", first.size(0), " heads of text 0, got ", weights.size(0));
  }
  check_norms(text, number);
  check_ablation(text, number);
}

index_t weight_count(const AttentionView& view) {
  index_t count = 0;
  for (const AttentionText& text : view.texts) {
    for (const Tensor& weights : text.weights) count += weights.count();
  }
  return count;
}

std::vector<float> checked_values(const Tensor& head) {
  std::vector<float> values = head.to(kFloat32).contiguous().to_vector<float>();
  for (const float value : values) {
    require(std::isnan(value) || (value >= 0 && value < 2), kAttentionPageOp,
            "weights must be from 0 to 1, got ", value);
  }
  return values;
}

/// The heads of one layer, each a text of base64.
JsonList heads_json(const Tensor& weights, const Encoding& encoding) {
  JsonList heads;
  for (index_t h = 0; h < weights.size(0); ++h) {
    heads.add(base64(bytes_of(checked_values(weights.select(0, h)), encoding)));
  }
  return heads;
}

/// Lists in lists of numbers with four digits, as deep as the tensor has axes.
JsonText numbers_json(const Tensor& x) {
  if (x.rank() == 0) {
    const double value = x.item();
    return JsonText::written(std::isfinite(value) ? significant(value, 4) : "null");
  }
  JsonList list;
  for (index_t i = 0; i < x.size(0); ++i) list.add(numbers_json(x.select(0, i)));
  return list;
}

JsonObject text_json(const AttentionText& text, const std::string& title,
                     const Encoding& encoding) {
  const auto heads = [&](const Tensor& layer) { return heads_json(layer, encoding); };
  return {{"title", valid_utf8(title)},
          {"tokens", json_list(text.tokens, shown_token)},
          {"norms", json_list(text.norms, numbers_json)},
          {"ablation", text.ablation.defined() ? numbers_json(text.ablation) : JsonList()},
          {"weights", json_list(text.weights, heads)}};
}

/// The data of assets/attention_data.js.
JsonObject view_json(const AttentionView& view, const Encoding& encoding) {
  const std::vector<std::string> titles = titles_of(view.texts);
  JsonList texts(kJsonLines);
  for (std::size_t i = 0; i < view.texts.size(); ++i) {
    texts.add(text_json(view.texts[i], titles[i], encoding));
  }
  return {{"encoding", encoding.name},
          {"layers", json_list(view.layers)},
          {"heads", json_list(view.heads)},
          {"leftOut", view.left_out},
          {"ablation", valid_utf8(view.ablation)},
          {"texts", texts}};
}

std::string body_of(const AttentionView& view) {
  std::string body(asset("attention.html"));
  const auto put = [&](const std::string& mark, const std::string& text) {
    body.replace(body.find(mark), mark.size(), text);
  };
  // The lower mark comes first: the title's mark is then found before any text that holds one.
  put("{{note}}", escape(view.note));
  put("{{title}}", escape(view.title));
  return body;
}

}  // namespace

index_t attention_bytes(index_t tokens, index_t maps) {
  return 4 * tokens * tokens * maps;
}

Page attention_page(const AttentionView& view) {
  require(!view.texts.empty(), kAttentionPageOp, "texts must not be empty");
  for (std::size_t i = 0; i < view.texts.size(); ++i) check_text(view, i);
  const bool fits = weight_count(view) <= kAttentionBytes / 16 * 3;
  Page page;
  page.title = view.title;
  page.body = body_of(view);
  page.styles = {std::string(asset("attention.css"))};
  page.data.emplace_back("attention-data", view_json(view, fits ? kExact : kRounded).text());
  for (const char* name : {"attention_data.js", "attention_measures.js", "attention_draw.js",
                           "attention_panel.js", "attention_heads.js", "attention.js"}) {
    page.scripts.emplace_back(asset(name));
  }
  return page;
}

}  // namespace tessera::pages
