#include "tessera/models/pages/attention_page.h"

#include <bit>

#include "tessera/models/pages/detail/attention_labels.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/io/json.h"
#include "tessera/tensor/random.h"
#include "tests/support/test.h"

namespace tessera::pages {
namespace {

using namespace test;

/// The bytes of base64, as a reader of RFC 4648 gets them.
std::vector<std::uint32_t> decoded(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint32_t> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(digits.find(c));
    count += 6;
    if (count >= 8) bytes.push_back(bits >> (count -= 8) & 0xff);
  }
  return bytes;
}

/// The numbers of a head on a page, by the description in assets/attention_data.js.
std::vector<float> weights_on(const std::string& base64, std::size_t bytes_each) {
  const std::vector<std::uint32_t> bytes = decoded(base64);
  std::vector<float> weights;
  for (std::size_t i = 0; i + bytes_each <= bytes.size(); i += bytes_each) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < bytes_each; ++k) bits |= bytes[i + k] << (8 * k);
    if (bytes_each == 3) bits = bits == 0xffffff ? 0x7fc00000U : bits << 6;
    weights.push_back(std::bit_cast<float>(bits));
  }
  return weights;
}

const std::string& data_of(const Page& page) {
  return page.data.front().second;
}

/// The text of base64 of the first head.
std::string first_head(const std::string& data) {
  const std::string mark = "\"weights\":[[\"";
  const std::size_t begin = data.find(mark) + mark.size();
  return data.substr(begin, data.find('"', begin) - begin);
}

TEST(AttentionPageTest, HoldsTheWeightsBitForBit) {
  Rng rng(1);
  Tensor weights = rand({2, 5, 5}, kFloat32, rng);
  weights.select(0, 0).select(0, 0).select(0, 0).fill(0);
  weights.select(0, 0).select(0, 0).select(0, 1).fill(1);
  weights.select(0, 0).select(0, 0).select(0, 2).fill(std::numeric_limits<double>::quiet_NaN());
  weights.select(0, 0).select(0, 0).select(0, 3).fill(1e-42);
  const Page page = attention_page(
      {.title = "Two <heads>",
       .note = "of {{title}}",
       .texts = {{.tokens = {"a", "</script>", "", "\n", "e"}, .weights = {weights, weights}}},
       .layers = {3, 7},
       .left_out = 4});
  const std::string& data = data_of(page);
  for (const char* part : {"\"encoding\":\"float32\"", "\"layers\":[3,7]", "\"heads\":[]",
                           "\"leftOut\":4", "[\"a\",\"</script>\",\"∅\",\"↵\",\"e\"]"}) {
    EXPECT_TRUE(contains(data, part));
  }
  const std::vector<float> wanted = weights.select(0, 0).contiguous().to_vector<float>();
  const std::vector<float> found = weights_on(first_head(data), 4);
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(wanted[i]));
  }
  EXPECT_TRUE(contains(page.body, "<h1>Two &lt;heads&gt;</h1>"));
  EXPECT_TRUE(contains(page.body, "of {{title}}"));
  EXPECT_TRUE(contains(page_html(page), "\"\\u003c/script>\""));
}

TEST(AttentionPageTest, RoundsWhatIsTooLarge) {
  constexpr index_t kTokens = 460;  // nine maps of them exceed what is held exactly
  Rng rng(2);
  Tensor weights = rand({9, kTokens, kTokens}, kFloat32, rng);
  Tensor row = weights.select(0, 0).select(0, 0);
  const std::vector<double> corners = {0, 1, 1e-42, std::numeric_limits<double>::quiet_NaN(),
                                       1.0 - 1.0 / (1 << 24)};
  const std::vector<double> tops = {2 - 0x1p-23, 2 - 0x1p-16};  // where rounding would reach NaN's
  for (std::size_t i = 0; i < corners.size(); ++i) {
    row.select(0, static_cast<index_t>(i)).fill(corners[i]);
  }
  for (std::size_t i = 0; i < tops.size(); ++i) {
    row.select(0, static_cast<index_t>(corners.size() + i)).fill(tops[i]);
  }
  const std::vector<std::string> tokens(static_cast<std::size_t>(kTokens), "t");
  const Page page = attention_page({.texts = {{.tokens = tokens, .weights = {weights}}}});
  const std::string& data = data_of(page);
  EXPECT_TRUE(contains(data, "\"encoding\":\"upper24\""));
  EXPECT_LE(data.size(), static_cast<std::size_t>(attention_bytes(kTokens, 9)) + 20'000);
  const std::vector<float> wanted = weights.select(0, 0).contiguous().to_vector<float>();
  const std::vector<float> found = weights_on(first_head(data), 3);
  ASSERT_EQ(found.size(), wanted.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const float least = 1e-38F;  // below it a float has fewer bits
    const float error = std::abs(found[i] - wanted[i]);
    if (wanted[i] > 1.9999F) continue;
    const bool same = std::isnan(wanted[i]) ? std::isnan(found[i])
                                            : error <= std::max(wanted[i], least) * 0x1p-18F;
    if (!same) ++wrong;
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(found[0], 0.0F);
  EXPECT_EQ(found[1], 1.0F);
  EXPECT_NEAR(found[5], 2, 0x1p-15) << "not NaN, and not 0";
  EXPECT_NEAR(found[6], 2, 0x1p-15);
}

TEST(AttentionPageTest, HoldsLengthsWithFourDigits) {
  AttentionView view = {.texts = {{.tokens = {"a", "b"}, .weights = {ones({1, 2, 2})}}}};
  EXPECT_TRUE(contains(data_of(attention_page(view)), "\"norms\":[],"));
  view.texts[0].norms = {tensor({{0.123456, 1234567.0}})};
  EXPECT_TRUE(contains(data_of(attention_page(view)), "\"norms\":[[[0.1235,1.235e+06]]],"));
  view.texts[0].norms = {ones({1, 3})};
  EXPECT_TRUE(throws("attention_page", {"norms must have shape (1, 2), got (1, 3)"},
                     [&] { attention_page(view); }));
  view.texts[0].norms = {Tensor()};
  EXPECT_TRUE(throws("attention_page", {"norms must have shape (1, 2), got none"},
                     [&] { attention_page(view); }));
  view.texts[0].norms = {ones({1, 2}), ones({1, 2})};
  EXPECT_TRUE(throws("attention_page", {"norms of all 1 layers or of none, got 2"},
                     [&] { attention_page(view); }));
}

TEST(AttentionPageTest, HoldsTheAblationOfEachText) {
  AttentionView view = {.texts = {{.tokens = {"a"}, .weights = {ones({2, 1, 1})}}}};
  EXPECT_TRUE(contains(data_of(attention_page(view)), "\"ablation\":[],\"weights\""));
  view.ablation = "<fall>";
  view.texts[0].ablation = tensor({{0.123456, -2.0}});
  const std::string data = data_of(attention_page(view));
  EXPECT_TRUE(contains(data, "\"ablation\":\"<fall>\""));
  EXPECT_TRUE(contains(data, "\"ablation\":[[0.1235,-2]],\"weights\""));
  view.texts[0].ablation = ones({1, 3});
  EXPECT_TRUE(throws("attention_page", {"ablation must have shape (1, 2), got (1, 3)"},
                     [&] { attention_page(view); }));
  view.texts[0].weights = {ones({2, 1, 1}), ones({3, 1, 1})};
  view.texts[0].ablation = ones({2, 2});
  EXPECT_TRUE(throws("attention_page",
                     {"layer 1 of text 0", "2 heads of layer 0 if there is ablation, got 3"},
                     [&] { attention_page(view); }));
}

TEST(AttentionPageTest, TellsTextsApart) {
  const std::vector<std::string> same = {"a", "b", "c", "d", "e", "f", "g"};
  const auto with_end = [&](const std::string& end) {
    std::vector<std::string> tokens = same;
    tokens.push_back(end);
    return AttentionText{.tokens = tokens};
  };
  std::vector<AttentionText> texts = {
      with_end("\n"), with_end("y"), {.tokens = same}, {.tokens = {"a", "b"}}};
  const auto expect = [&](const std::vector<std::string>& titles) {
    EXPECT_EQ(titles_of(texts), titles);
  };
  expect({"… f g ↵", "… f g y", "… f g", "a b"});
  texts = {with_end("y"), with_end("y"), {.tokens = {"a"}, .title = "mine"}};
  expect({"a b c d e f g y", "a b c d e f g y", "mine"});
}

TEST(AttentionPageTest, Errors) {
  const std::vector<std::string> two = {"a", "b"};
  const Tensor weights = full({3, 2, 2}, 0.5);
  const auto refuses = [](const std::vector<std::string>& parts, const AttentionView& view) {
    EXPECT_TRUE(throws("attention_page", parts, [&] { attention_page(view); }));
  };
  const auto of = [&](const Tensor& map) {
    return AttentionView{.texts = {{.tokens = two, .weights = {map}}}};
  };
  refuses({"texts must not be empty"}, {});
  refuses({"text 0", "2 tokens", "0 layers"}, {.texts = {{.tokens = two}}});
  refuses({"0 tokens"}, {.texts = {{.tokens = {}, .weights = {weights}}}});
  refuses({"(H, 2, 2)", "(2, 2)"}, of(ones({2, 2})));
  refuses({"none"}, of(Tensor()));
  refuses({"from 0 to 1, got 2"}, of(full({1, 2, 2}, 2)));
  refuses({"from 0 to 1, got -0.5"}, of(full({1, 2, 2}, -0.5)));
  AttentionView view = of(weights);
  view.layers = {0, 1};
  refuses({"2 layers of AttentionView::layers, got 1"}, view);
  view = of(weights);
  view.heads = {0};
  refuses({"1 heads of AttentionView::heads, got 3"}, view);
  view = of(weights);
  view.texts.push_back({.tokens = two, .weights = {weights, weights}});
  refuses({"text 1", "1 layers of text 0, got 2"}, view);
  view.texts[1].weights = {full({2, 2, 2}, 0.5)};
  refuses({"layer 0 of text 1", "3 heads of text 0, got 2"}, view);
}

TEST(AttentionMapTest, TextForATerminal) {
  const std::vector<std::string> letters = {"a", "b"};
  EXPECT_EQ(attention_text(tensor({{0.0, 1.0}, {0.59, 0.41}}), letters),
            "         a     b\n"
            "  a      0 ██100\n"
            "  b  ▒▒ 59 ▒▒ 41\n");
  const std::vector<std::string> words = {"transformers", "\n"};
  EXPECT_EQ(attention_text(tensor({{0.2, 0.8}, {0.0, 0.0}}), words),
            "                tran…     ↵\n"
            "  transformers  ░░ 20 ██ 80\n"
            "             ↵      0     0\n");
}

TEST(AttentionMapTest, Picture) {
  const std::vector<std::string> tokens = {"<a>", "b"};
  const std::string svg =
      attention_svg(tensor({{0.25, 0.75}, {1.0, 0.0}}), tokens, "layer 0 & head 1");
  for (const char* part : {"<title id=\"title\">layer 0 &amp; head 1</title>",
                           "&lt;a&gt; at b (75 %), b at &lt;a&gt; (100 %)", "role=\"img\"",
                           "fill-opacity=\"0.500\"><title>&lt;a&gt; → &lt;a&gt;: 0.2500</title>",
                           "fill-opacity=\"0.866\"><title>&lt;a&gt; → b: 0.7500</title>",
                           "fill-opacity=\"0.000\"><title>b → b: 0.0000</title>", "</svg>"}) {
    EXPECT_TRUE(contains(svg, part));
  }
}

// Weights may be anything here: the picture says what they are.
TEST(AttentionMapTest, WeightsOfAnySize) {
  const std::vector<std::string> one = {"a"};
  const std::string svg = attention_svg(full({1, 1}, 1e300, kFloat64), one, "t");
  EXPECT_TRUE(contains(svg, ".0000</title></rect>"));
  EXPECT_FALSE(contains(svg, std::string_view("\0", 1))) << "more than was written";
}

TEST(AttentionMapTest, Labels) {
  EXPECT_EQ(shown_token(""), "∅");
  EXPECT_EQ(shown_token(" "), "␣");
  EXPECT_EQ(shown_token("a b\n\x1b\x7f"), "a b↵␛␡");
  EXPECT_EQ(shown_token("\xc2\x9bé\xff"), "\xef\xbf\xbdé\xef\xbf\xbd");
  EXPECT_EQ(shortened("äöü", 3), "äöü");
  EXPECT_EQ(shortened("äöüß", 3), "äö…");
}

TEST(AttentionMapTest, Errors) {
  const std::vector<std::string> tokens = {"a", "b"};
  for (const Tensor& wrong : {Tensor(), ones({2, 3}), ones({2}), ones({2, 2}, kInt64)}) {
    EXPECT_TRUE(throws("attention_text", {"(2, 2)"}, [&] { attention_text(wrong, tokens); }));
    EXPECT_TRUE(throws("attention_svg", {"(2, 2)"}, [&] { attention_svg(wrong, tokens, "t"); }));
  }
}

}  // namespace
}  // namespace tessera::pages
