#include "tessera/models/pages/explanation_page.h"

#include "tessera/tensor/create.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::pages {
namespace {

using namespace test;

Explanation example() {
  return {.title = "Why?",
          .about = "a <model>",
          .score = "logit of A",
          .baseline = "[MASK] for each token",
          .texts = {{.name = "\u201ca <b> good\u201d",
                     .tokens = {"[CLS]", "<b>", "good"},
                     .added = tensor({0.0, -0.5, 2.0}),
                     .score = 1.75,
                     .baseline = 0.5,
                     .probability = 0.98765,
                     .baseline_probability = 0.5,
                     .error = 0.25,
                     .heads = tensor({{1.0, -0.25}, {0.0, -0.001}}),
                     .patches = tensor({{0.0, 0.25, 1.0}, {5.0, 0.0, 0.0}})}}};
}

std::string html_of(const Explanation& explanation) {
  const TemporaryFolder folder;
  write_explanation_page(folder.path() / "why.html", explanation);
  return folder.read("why.html");
}

int occurrences(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t i = 0; (i = text.find(part, i)) != std::string::npos; i += part.size()) ++found;
  return found;
}

TEST(ExplanationPage, HasTheNumbersAndTheirShades) {
  const std::string html = html_of(example());
  const auto has = [&](const std::string& part) { EXPECT_EQ(occurrences(html, part), 1) << part; };
  has("<span class=\"adds\" style=\"--share:1.00\" title=\"+2.000\">good</span>");
  has("<span class=\"takes\" style=\"--share:0.25\" title=\"\u22120.500\">&lt;b&gt;</span>");
  has("<span title=\"+0.000\">[CLS]</span>");
  has("<h2>\u201ca &lt;b&gt; good\u201d</h2>");
  has("Score +1.750 (probability 0.9877), of the baseline +0.500 (probability 0.5000).");
  has("The tokens add up to +1.500, the change is +1.250 (error +0.250).");
  has("<td class=\"adds\" style=\"--share:1.00\" title=\"+1.000\">1.00</td><td class=\"takes\" "
      "style=\"--share:0.25\" "
      "title=\"\u22120.250\">\u22120.25</td>");
  has("title=\"\u22120.001\">0.00</td>");
  has("most without layer 0 head 0 +1.000, layer 1 head 0 +0.000");
  // Rows of heads are layers, and rows of vectors are tokens.
  has("<tr><th>layer 0</th><td class=\"adds\" style=\"--share:1.00\"");
  has("<tr><th>good</th><td class=\"adds\" style=\"--share:1.00\" title=\"+1.000\">1.00</td><td "
      "title=\"+0.000\">0.00</td></tr>");
  has("a &lt;model&gt;; the score is the logit of A");
  EXPECT_EQ(occurrences(html, "<table class=\"map\">"), 2);
}

TEST(ExplanationPage, TheOnlyVectorThatIsReadSetsNoScale) {
  const std::string shaded = "<td class=\"adds\" style=\"--share:1.00\" title=\"+1.000\">1.00</td>";
  const std::string said = "In the last layer the score reads only [CLS]";
  const std::string html = html_of(example());
  EXPECT_TRUE(contains(html, "<tr><th>good</th>" + shaded));
  EXPECT_TRUE(
      contains(html, "<td class=\"adds\" style=\"--share:1.00\" title=\"+5.000\">5.00</td>"));
  EXPECT_TRUE(contains(html, said));
  Explanation several = example();
  several.texts[0].patches = tensor({{0.0, 0.25, 1.0}, {5.0, 0.5, 0.0}});
  EXPECT_FALSE(contains(html_of(several), "<tr><th>good</th>" + shaded));
  EXPECT_FALSE(contains(html_of(several), said));
  Explanation tiny = example();  // all others are rounding errors
  tiny.texts[0].patches = tensor({{0.0, 1e-300, 1.3e-8}, {5.0, 0.0, 0.0}});
  EXPECT_TRUE(contains(html_of(tiny),
                       "<td class=\"adds\" style=\"--share:1.00\" title=\"+5.000\">5.00</td>"));
}

TEST(ExplanationPage, CutsALongHeading) {
  Explanation all = example();
  all.texts[0].name = std::string(5000, 'x');
  EXPECT_TRUE(contains(html_of(all), std::string(199, 'x') + "\u2026</h2>"));
}

TEST(ExplanationPage, ShadesNothingIfAllIsZero) {
  Explanation same = example();
  same.texts[0].added = zeros({3});
  EXPECT_EQ(occurrences(html_of(same), "<span title="), 3);
}

TEST(TopHeads, AreAtMostAsManyAsRequested) {
  const Tensor heads = tensor({{1.0, -0.25}, {2.0, -0.001}});
  ASSERT_EQ(top_heads(heads, 1).size(), 1U);
  EXPECT_EQ(top_heads(heads, 1)[0].layer, 1);
  EXPECT_EQ(top_heads(heads, 9).size(), 4U);
  EXPECT_TRUE(top_heads(heads, 0).empty());
  EXPECT_TRUE(
      throws("top_heads", {"count must be at least 0, got -1"}, [&] { top_heads(heads, -1); }));
  EXPECT_TRUE(throws("top_heads", {"heads must have shape (layers, heads), got (4,)"},
                     [&] { top_heads(heads.flatten()); }));
}

TEST(ExplanationPage, Errors) {
  const auto fails = [](const std::string& why, const std::function<void(ExplainedText&)>& change) {
    Explanation wrong = example();
    change(wrong.texts[0]);
    EXPECT_TRUE(throws("write_explanation_page", {why}, [&] { html_of(wrong); }));
  };
  fails("at least 1 token", [](ExplainedText& text) { text.tokens.clear(); });
  fails("added must have shape (3), got (2,)",
        [](ExplainedText& text) { text.added = zeros({2}); });
  fails("heads must have shape", [](ExplainedText& text) { text.heads = zeros({2}); });
  fails("patches must have shape (2, 3)", [](ExplainedText& text) {
    text.patches = zeros({2, 2});
  });
  EXPECT_TRUE(throws("write_explanation_page", {"texts must not be empty"}, [] { html_of({}); }));
}

}  // namespace
}  // namespace tessera::pages
