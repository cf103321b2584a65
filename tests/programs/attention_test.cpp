// --attention of every program that runs an encoder: the page has the tokens that the model reads
// and the weights that it uses.
#include <variant>

#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/models/inspect/inspect.h"
#include "tessera/models/pages/attention_page.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/io/json.h"
#include "tessera/tensor/ops/reduce.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

/// The data of a page, as text.
std::string data_text(const std::string& html) {
  const std::string mark = "id=\"attention-data\">\n";
  const std::size_t begin = html.find(mark);
  if (begin == std::string::npos) return "null";
  const std::size_t first = begin + mark.size();
  return html.substr(first, html.find("\n</script>", first) - first);
}

using AttentionPrograms = Programs;

TEST_F(AttentionPrograms, EveryProgramWritesAPage) {
  write("lines.txt", "the cat sat\nwhere is a [MASK]\n");
  write("masks.txt", "the cat sat on a [MASK]\nwhere is a [MASK]\n");
  copy_for_questions(folder_ / "questions");
  struct Case {
    std::string program, arguments;
    std::string first_tokens;  // of the first text
    index_t texts;
    std::string ablation = "cosine of the output vectors";
  };
  const std::string bert = with_model("bert");
  const std::vector<Case> cases = {
      {"embed", with_model("sentence", "lines.txt"), "[CLS]the", 2, "cosine of the text's vector"},
      {"classify_text", bert + "lines.txt", "[CLS]the", 2, "drop of the largest logit"},
      {"tag_tokens", bert + "lines.txt", "[CLS]the", 2},
      {"fill_mask", bert + "masks.txt", "[CLS]the", 2},
      {"answer", "--model questions --question 'the cat' lines.txt", "[CLS]the", 1},
      {"rerank", with_model("reranker", "--query 'the cat' lines.txt"), "", 2,
       "drop of the largest logit"}};
  for (const Case& each : cases) {
    const Outcome outcome =
        run(each.program, each.arguments + " --attention a.html --attention-ablation");
    ASSERT_EQ(outcome.status, 0) << each.program << ": " << outcome.errors;
    const Json data = parse_json(data_text(file_text(folder_ / "a.html")), each.program);
    ASSERT_EQ(data.at("texts").size(), each.texts) << each.program;
    const Json text = data.at("texts").item(0);
    std::string tokens;
    for (const Json& token : text.at("tokens").items()) tokens += token.text();
    EXPECT_TRUE(tokens.starts_with(each.first_tokens)) << each.program << ": " << tokens;
    const auto size = static_cast<std::size_t>(text.at("tokens").size());
    const std::string_view head = text.at("weights").item(0).item(0).text();
    EXPECT_EQ(head.size(), (size * size * 4 + 2) / 3 * 4) << each.program;
    EXPECT_EQ(text.at("ablation").size(), text.at("weights").size()) << each.program;
    EXPECT_TRUE(contains(data.text("ablation"), each.ablation)) << each.program;
    fs::remove(folder_ / "a.html");
  }
}

TEST_F(AttentionPrograms, WeightsAreThoseOfTheModelBitForBit) {
  write("lines.txt", "the cat sat\n");
  output_of("embed", with_model("sentence",
                                "--attention a.html --attention-layers 1 "
                                "--attention-heads 0,1 lines.txt"));
  const NoGrad not_recorded;
  const models::SentenceEncoder model = models::load_sentence_encoder(golden_folder("sentence"));
  const text::Encoding read = model.tokenize("the cat sat");
  pages::AttentionText text;
  for (const index_t id : read.ids) text.tokens.emplace_back(model.reader.tokenizer->token(id));
  const auto& encoder = std::get<models::TokenEncoder>(model.token_encoder);
  models::EncoderResult trace;
  const auto values = inspect::record(
      [&] {
        trace = encoder.with_attentions({.ids = from_vector(read.ids).unsqueeze(0)},
                                        {.layers = {{1}}, .heads = {{0, 1}}});
      },
      "layers.1.self_attn.v");
  text.weights = {trace.attentions[0].select(0, 0)};
  const nn::MultiHeadAttention& attention = *encoder.encoder.layers[1].self_attn;
  const Tensor norms =
      inspect::value_norms(values[0].second, attention.out_proj.weight, attention.num_heads);
  text.norms = {norms.select(0, 0).slice(0, 0, 2)};
  const pages::Page page = pages::attention_page({.texts = {text}, .layers = {1}, .heads = {0, 1}});
  EXPECT_EQ(data_text(file_text(folder_ / "a.html")), page.data.front().second);
}

/// 1 - cosine of the vector of `read` with and without a head, removed by zeros in its columns of
/// the output projection.
double change_without(const std::string& folder, const text::Encoding& read, index_t layer,
                      index_t head) {
  const NoGrad not_recorded;
  models::SentenceEncoder model = models::load_sentence_encoder(golden_folder(folder));
  const auto vector = [&] { return model(model.reader.tokens(read)).flatten().to(kFloat64); };
  const Tensor whole = vector();
  auto& encoder = std::get<models::TokenEncoder>(model.token_encoder).encoder;
  auto& attention = *encoder.layers[static_cast<std::size_t>(layer)].self_attn;
  const Tensor& weight = *attention.out_proj.weight;
  const index_t width = weight.size(1) / attention.num_heads;
  Tensor without = weight.clone();
  without.slice(1, head * width, (head + 1) * width).fill(0);
  attention.out_proj.weight = Weight(without);
  return 1 - cosine_similarity(vector(), whole, 0).item();
}

TEST_F(AttentionPrograms, AblationIsTheChangeWithoutAHeadsColumns) {
  write("lines.txt", "the cat sat\n");
  const auto ablation_of = [&](const std::string& options) {
    output_of("embed", with_model("sentence", "--attention a.html --attention-ablation " + options +
                                                  " lines.txt"));
    const Json data = parse_json(data_text(file_text(folder_ / "a.html")), "a.html");
    return data.at("texts").item(0).at("ablation");
  };
  const models::SentenceEncoder model = models::load_sentence_encoder(golden_folder("sentence"));
  const text::Encoding read = model.tokenize("the cat sat");
  const Json all = ablation_of("");
  double least = 1;
  for (index_t layer = 0; layer < all.size(); ++layer) {
    for (index_t head = 0; head < all.item(layer).size(); ++head) {
      const double wanted = change_without("sentence", read, layer, head);
      const double found = all.item(layer).item(head).number();
      EXPECT_NEAR(found, wanted, 1e-3 * wanted + 1e-6) << layer << ' ' << head;
      least = std::min(least, wanted);
    }
  }
  EXPECT_GT(least, 1e-5) << "heads that change nothing test nothing";
  const Json chosen = ablation_of("--attention-layers 1 --attention-heads 1");
  ASSERT_EQ(chosen.size(), 1);
  EXPECT_EQ(chosen.item(0).item(0).number(), all.item(1).item(1).number());
}

TEST_F(AttentionPrograms, SharedLayersAreCountedAsTheyRun) {
  write("lines.txt", "the cat sat\n");
  const auto page_of = [&](const std::string& options) {
    const std::string arguments = "--attention a.html --attention-ablation lines.txt " + options;
    output_of("classify_text", with_model("albert", arguments));
    return parse_json(data_text(file_text(folder_ / "a.html")), "a.html").at("texts").item(0);
  };
  const Json text = page_of("");  // 4 layers of 2 inner ones, which are 4 in the file
  ASSERT_EQ(text.at("weights").size(), 8);
  ASSERT_EQ(text.at("norms").size(), 8);
  ASSERT_EQ(text.at("ablation").size(), 8);
  const Json last = page_of("--attention-layers 7");
  EXPECT_EQ(last.at("ablation").item(0).item(1).number(),
            text.at("ablation").item(7).item(1).number());
  EXPECT_TRUE(fails("classify_text",
                    with_model("albert", "--attention a.html --attention-layers 8 lines.txt"),
                    "must be numbers from 0 to 7"));
}

TEST_F(AttentionPrograms, WhatIsRefused) {
  write("lines.txt", "the cat sat\n");
  write("a.html", "old");
  std::string many;
  for (int i = 0; i < 12; ++i) many += "the cat\n";
  write("many.txt", many);
  const std::string embed = with_model("sentence", "lines.txt ");
  expect_fails(
      {{"embed", embed + "--attention a.txt", "must end in .html, got 'a.txt'"},
       {"embed", embed + "--attention-layers 0",
        "must be given with --attention-layers, --attention-heads or --attention-ablation, got "
        "none"},
       {"embed", embed + "--attention-ablation", "--attention: must be given with "},
       {"embed", embed + "--attention a.html --attention-layers 9",
        "--attention-layers: must be numbers from 0"},
       {"embed", embed + "--attention a.html --attention-heads 1-0", "got '1-0'"},
       {"embed", embed + "--attention a.html --attention-heads 0,", "got '0,'"},
       {"embed", embed + "--attention a.html --attention-heads -1", "--attention-heads"},
       {"embed", with_model("static", "lines.txt --attention a.html"),
        "must have layers, got static"},
       {"embed", embed + "--attention none/a.html", "none/"}});
  EXPECT_EQ(file_text(folder_ / "a.html"), "old");
  output_of("embed", with_model("sentence", "many.txt --attention a.html"));
  const Json data = parse_json(data_text(file_text(folder_ / "a.html")), "a.html");
  EXPECT_EQ(data.at("texts").size(), 8);
  EXPECT_EQ(data.integer("leftOut"), 4);
}

}  // namespace
}  // namespace tessera::test
