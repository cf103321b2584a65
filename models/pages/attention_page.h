// Shows attention: all layers and heads of some texts on one page; one map as a picture or as text
// for a terminal.
//
//   const auto trace = encoder.with_attentions({.ids = ids});            // ids (1, T)
//   pages::AttentionText text = {.tokens = {"[CLS]", "the", "cat", "[SEP]"}};
//   for (const Tensor& weights : trace.weights) text.weights.push_back(weights.select(0, 0));
//   pages::write_page("cat.html", pages::attention_page({.title = "A cat", .texts = {text}}));
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/models/pages/page.h"
#include "tessera/tensor/tensor.h"

namespace tessera::pages {

/// The attention of one text's tokens.
struct AttentionText {
  std::vector<std::string> tokens = {};  // T, as the vocabulary spells them
  std::vector<Tensor> weights = {};  // of each layer (H, T, T): in row i, the weights of token i
  // Of each layer (H, T): the norm of the vector that each token offers in a head, as by
  // inspect::value_norms. May be empty.
  std::vector<Tensor> norms = {};
  Tensor ablation = {};    // (layers, H): the result's signed change without each head; or none
  std::string title = {};  // if empty, the tokens by which the text differs from the others
};

/// The contents of the page.
struct AttentionView {
  std::string title = {};
  std::string note = {};  // a line under the title
  std::vector<AttentionText> texts = {};
  std::vector<index_t> layers = {};  // the layers' indices in the model; empty: 0, 1, ...
  std::vector<index_t> heads = {};   // the heads' indices in each layer; empty: 0, 1, ...
  std::string ablation = {};         // the measure of AttentionText::ablation, in words
  index_t left_out = 0;              // the number of texts that are not on the page
};

/// The largest number of bytes of weights with which a page stays below 10 MB.
inline constexpr index_t kAttentionBytes = 9'800'000;

/// The number of bytes that the weights of `maps` maps of T tokens take on a page if they are
/// rounded: 4 T^2 for each map. Each head of each layer has one map.
index_t attention_bytes(index_t tokens, index_t maps);

/// A page with a small map of each head of each layer, and of the means over heads and layers. The
/// selected map is large, and shows its tokens, and the weights of the selected token as lines,
/// numbers and a table. Two texts can be shown in two columns.
///
/// The page ranks heads by patterns and by pairs of tokens, and the page's address stores the
/// selection. The page works by pointer, by keyboard and for screen readers. With `norms` the page
/// also shows the weights times the norms; with `ablation`, the change without each head. If
/// `layers` and `heads` of the view are empty, the page also shows the product of all layers
/// (rollout).
///
/// With `ablation`, the page first shows the head with the largest absolute change. Without
/// `ablation`, it first shows the head in which tokens give the most weight (with `norms`, the most
/// weight times norm) to one distant token, which is neither a special token, such as [CLS], nor a
/// neighbour.
///
/// **Numerics**: the page holds the float32 of each weight, in 16/3 bytes per weight, if all
/// weights take at most kAttentionBytes. Otherwise the page holds the upper 18 significant bits of
/// each weight, rounded, in 4 bytes per weight: the relative error is at most 2^-18, 4e-6, for
/// weights from 1e-38 to 1.9999. The page states which form it holds. Means are computed from the
/// numbers that the page holds.
///
/// **Errors**: no text, a text without tokens or without weights; weights that are not floating or
/// not (H, T, T); a weight that is neither NaN nor in [0, 2); norms that are not (H, T) of each
/// layer; ablation that is not (layers, H), or that is given for layers with different numbers of
/// heads; texts whose numbers of layers or heads differ from each other, or from `layers` and
/// `heads`.
/// **Source**: as inspect::norm_weighted_attention and inspect::attention_rollout.
Page attention_page(const AttentionView& view);

/// A map as a standalone SVG picture: one square per weight, darker for a larger weight, with the
/// tokens next to the squares. The weight is shown as a number when the pointer rests on a square.
/// The shade is the square root of the weight, so that small weights are visible. Screen readers
/// get the title and, as description, the token that each token attends to most.
///
/// **Shapes**: weights (T, T), row i for the attention of token i; T tokens.
/// **Errors**: different shapes; a dtype that is not floating.
std::string attention_svg(const Tensor& weights, std::span<const std::string> tokens,
                          const std::string& title);

/// A map for a terminal: one row per token, in percent, with a shade next to each number. Long
/// tokens are truncated. **Shapes**, **Errors**: as attention_svg().
std::string attention_text(const Tensor& weights, std::span<const std::string> tokens);

}  // namespace tessera::pages
