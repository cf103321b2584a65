#include "tessera/models/pages/explanation_page.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "tessera/models/pages/detail/attention_labels.h"
#include "tessera/models/pages/detail/numbers.h"
#include "tessera/models/pages/page.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/sort.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera::pages {

namespace {

constexpr const char* kExplanationOp = "write_explanation_page";

const std::string kMinus = "\u2212";

std::string signed_number(double value) {
  return (value < 0 ? kMinus : "+") + decimals(std::abs(value), 3);
}

double largest(const Tensor& x) {
  return max(abs(x)).item();
}

/// An element whose colour shows the sign of `value`; the colour is darkest at +-`most`.
std::string shaded(const std::string& tag, double value, double most, const std::string& text) {
  constexpr double kShown = 0.0005;  // less is shown as 0.000
  std::string look;
  if (most > 0 && std::abs(value) >= kShown) {
    look = str_cat(" class=\"", value > 0 ? "adds" : "takes",
                   "\" style=\"--share:", decimals(std::min(std::abs(value) / most, 1.0), 2), "\"");
  }
  return str_cat("<", tag, look, " title=\"", signed_number(value), "\">", text, "</", tag, ">");
}

/// "+4.123 (probability 0.9984)", or only the score.
std::string score_text(double score, const std::optional<double>& probability) {
  return signed_number(score) +
         (probability ? " (probability " + decimals(*probability, 4) + ")" : "");
}

/// The text itself, its tokens shaded, and the numbers below.
std::string text_part(const ExplainedText& text) {
  const double most = largest(text.added);
  std::string words, rows;
  for (index_t t = 0; t < text.added.count(); ++t) {
    const double value = text.added.item_at({t});
    const std::string token = escape(shown_token(text.tokens[static_cast<std::size_t>(t)]));
    words += shaded("span", value, most, token) + ' ';
    rows +=
        "<tr><td>" + token + "</td>" + shaded("td", value, most, signed_number(value)) + "</tr>\n";
  }
  const double change = text.score - text.baseline;
  return str_cat(
      "<p class=\"words\">", words, "</p>\n<p>Score ", score_text(text.score, text.probability),
      ", of the baseline ", score_text(text.baseline, text.baseline_probability),
      ". The tokens add up to ", signed_number(change + text.error), ", the change is ",
      signed_number(change), " (error ", signed_number(text.error), ").</p>\n",
      "<details><summary>Scores of the tokens</summary><div class=\"scroll\" tabindex=\"0\">"
      "<table><thead><tr><th>token</th><th>adds</th></tr></thead><tbody>\n",
      rows, "</tbody></table></div></details>\n");
}

/// A number of a map; what rounds to zero has no sign.
std::string map_number(double value) {
  const std::string text = decimals(std::abs(value), 2);
  return value < 0 && text != "0.00" ? kMinus + text : text;
}

using Names = std::vector<std::string>;

/// "head 0", "head 1", ...
Names numbered(const char* name, index_t count) {
  Names names;
  for (index_t i = 0; i < count; ++i) names.push_back(str_cat(name, ' ', i));
  return names;
}

/// A map with the names of its rows and columns, in which a value of `most` has the strongest
/// shade.
std::string map_part(const std::string& caption, const Tensor& map, const Names& rows,
                     const Names& columns, double most) {
  std::string html = "<p class=\"muted\">" + caption +
                     "</p><div class=\"scroll\" tabindex=\"0\"><table class=\"map\">"
                     "<thead><tr><td></td>";
  for (const std::string& column : columns) html += "<th>" + column + "</th>";
  html += "</tr></thead><tbody>\n";
  for (index_t row = 0; row < map.size(0); ++row) {
    html += "<tr><th>" + rows[static_cast<std::size_t>(row)] + "</th>";
    for (index_t i = 0; i < map.size(1); ++i) {
      const double value = map.item_at({row, i});
      html += shaded("td", value, most, map_number(value));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

/// "layer 5 head 3 +0.114, layer 5 head 5 +0.082", from the largest drop on.
std::string head_list(const Tensor& heads) {
  std::string text;
  for (const HeadDrop& each : top_heads(heads)) {
    text += str_cat(text.empty() ? "" : ", ", "layer ", each.layer, " head ", each.head, ' ',
                    signed_number(each.drop));
  }
  return text;
}

/// The token whose vector in the last layer is all that the score reads, if there is one.
std::optional<index_t> only_token(const Tensor& patches) {
  const Tensor last = abs(patches.select(0, patches.size(0) - 1));
  if (sum(ne(last, 0)).item() != 1) return std::nullopt;
  return argmax(last).item<index_t>();
}

/// The map of vectors. A vector that gives the whole difference by construction does not set its
/// scale.
std::string patches_part(const ExplainedText& text, const Explanation& all, const Names& layers) {
  Names tokens;
  for (const std::string& token : text.tokens) tokens.push_back(escape(shown_token(token)));
  std::string caption =
      "How much the score falls if a layer's vector of one token is that of the baseline (" +
      escape(all.baseline) + ").";
  Tensor scale = text.patches.clone();
  if (const auto token = only_token(scale)) {
    scale.select(0, scale.size(0) - 1).select(0, *token).fill(0);
    caption +=
        " In the last layer the score reads only " + tokens[static_cast<std::size_t>(*token)] +
        ", which therefore has the whole difference; colours are relative to the other cells.";
  }
  return map_part(caption, text.patches.transpose(0, 1), tokens, layers, largest(scale));
}

std::string section(const ExplainedText& text, const Explanation& all) {
  constexpr std::size_t kLongestHeading = 200;
  const Names layers = numbered("layer", text.heads.size(0));
  return "<section><h2>" + escape(shortened(text.name, kLongestHeading)) + "</h2>\n" +
         text_part(text) +
         map_part("How much the score falls without each head; most without " +
                      head_list(text.heads) + ".",
                  text.heads, layers, numbered("head", text.heads.size(1)), largest(text.heads)) +
         patches_part(text, all, layers) + "</section>\n";
}

void check(const ExplainedText& text) {
  const index_t tokens = std::ssize(text.tokens);
  require(tokens > 0, kExplanationOp, "text must have at least 1 token, got none");
  require(text.added.shape() == Shape({tokens}), kExplanationOp, "added must have shape (", tokens,
          "), got ", text.added.shape());
  require(text.heads.rank() == 2 && text.heads.count() > 0, kExplanationOp,
          "heads must have shape (layers, heads), got ", text.heads.shape());
  for (const Tensor& numbers : {text.added, text.heads, text.patches}) {
    require(all(isfinite(numbers)).item<bool>(), kExplanationOp, "numbers must be finite");
  }
  require(text.patches.shape() == Shape({text.heads.size(0), tokens}), kExplanationOp,
          "patches must have shape (", text.heads.size(0), ", ", tokens, "), got ",
          text.patches.shape());
}

}  // namespace

std::vector<HeadDrop> top_heads(const Tensor& heads, index_t count) {
  require(heads.rank() == 2, "top_heads", "heads must have shape (layers, heads), got ",
          heads.shape());
  require(count >= 0, "top_heads", "count must be at least 0, got ", count);
  const auto order = argsort(heads.flatten(), -1, true).to_vector<index_t>();
  std::vector<HeadDrop> top;
  for (const index_t number :
       std::span(order).first(static_cast<std::size_t>(std::min(count, heads.count())))) {
    const index_t layer = number / heads.size(1), head = number % heads.size(1);
    top.push_back({layer, head, heads.item_at({layer, head})});
  }
  return top;
}

void write_explanation_page(const std::filesystem::path& path, const Explanation& explanation) {
  require(!explanation.texts.empty(), kExplanationOp, "texts must not be empty");
  std::string body =
      "<main><h1>" + escape(explanation.title) + "</h1>\n<p>" + escape(explanation.about) +
      "; the score is the " + escape(explanation.score) +
      ".</p>\n<p class=\"legend\" style=\"--share:0.7\"><span class=\"adds\">adds to the "
      "score</span> <span class=\"takes\">takes from it</span></p>\n"
      "<div class=\"texts\">\n";
  for (const ExplainedText& text : explanation.texts) {
    check(text);
    body += section(text, explanation);
  }
  write_page(path, {.title = explanation.title,
                    .body = body + "</div></main>",
                    .styles = {std::string(asset("wide_tables.css")),
                               std::string(asset("explanation.css"))}});
}

}  // namespace tessera::pages
