// Why a model gave a number, as a page: what tokens, heads and layers add to it.
//
//   pages::Explanation page = {.title = "Why?", .texts = {{.tokens = {"[CLS]", "good"}, ...}}};
//   pages::write_explanation_page("why.html", page);
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace tessera::pages {

/// One text and its part of the score.
struct ExplainedText {
  std::string name = {};                 // the heading: the text as it was written
  std::vector<std::string> tokens = {};  // T
  Tensor added = {};                     // (T): what each token adds to the score
  double score = 0;
  double baseline = 0;                     // the score of the baseline
  std::optional<double> probability = {};  // of the class, if the score is its logit
  std::optional<double> baseline_probability = {};
  double error = 0;     // sum of `added` - (score - baseline)
  Tensor heads = {};    // (layers, heads): how much the score falls without a head
  Tensor patches = {};  // (layers, T): how much it falls with one vector of the baseline
};

/// The contents of an explanation page.
struct Explanation {
  std::string title;
  std::string about;     // which model this is
  std::string score;     // what the numbers are: "logit of POSITIVE"
  std::string baseline;  // what the baseline is: "[MASK] for each token"
  std::vector<ExplainedText> texts;
};

/// A head and how much the score falls without it.
struct HeadFall {
  index_t layer;
  index_t head;
  double fall;
};

/// The heads without which the score falls most, at most `count`. **Shapes**: heads (layers, heads).
std::vector<HeadFall> first_heads(const Tensor& heads, index_t count = 3);

/// Writes the page, whole or not at all; texts are next to each other where there is room.
/// **Errors**: no text; a text without tokens; shapes that do not fit them; inf or NaN; as write_page().
void write_explanation_page(const std::filesystem::path& path, const Explanation& explanation);

}  // namespace tessera::pages
