// Explains a score of a model on a page: the contributions of tokens, heads and layers.
//
//   pages::Explanation page = {.title = "Why?", .texts = {{.tokens = {"[CLS]", "good"}, ...}}};
//   pages::write_explanation_page("why.html", page);
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::pages {

/// One text, and the contributions of its parts to the score.
struct ExplainedText {
  std::string name = {};                 // the heading: the text as it was written
  std::vector<std::string> tokens = {};  // T
  Tensor added = {};                     // (T): the contribution of each token to the score
  double score = 0;
  double baseline = 0;                     // the score of the baseline
  std::optional<double> probability = {};  // of the class, if the score is its logit
  std::optional<double> baseline_probability = {};
  double error = 0;   // (sum of `added`) - (score - baseline)
  Tensor heads = {};  // (layers, heads): the drop of the score without each head
  // (layers, T): the drop if the vector of this token in this layer is that of the baseline.
  Tensor patches = {};
};

/// The contents of an explanation page.
struct Explanation {
  std::string title;
  std::string about;     // the name of the model
  std::string score;     // the meaning of the score: "logit of POSITIVE"
  std::string baseline;  // the meaning of the baseline: "[MASK] for each token"
  std::vector<ExplainedText> texts;
};

/// A head, and the drop of the score without this head.
struct HeadDrop {
  index_t layer;
  index_t head;
  double drop;
};

/// The heads without which the score falls most; at most `count` heads. **Shapes**: heads (layers,
/// heads). **Errors**: a different shape; a negative count.
std::vector<HeadDrop> top_heads(const Tensor& heads, index_t count = 3);

/// Writes the page, completely or not at all. Several texts are in columns if the window is wide
/// enough.
/// **Errors**: no text; a text without tokens; shapes that do not match the tokens; inf or NaN; as
/// write_page().
void write_explanation_page(const std::filesystem::path& path, const Explanation& explanation);

}  // namespace tessera::pages
