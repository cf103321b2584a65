// What attention heads do: weights, norms of the values that they move, and ablation of heads.
//
//     weight         a_ij                       the usual map of attention
//     of the norm    |a_ij W_O v_j|             the norm of the vector from token j to token i
//     off            1 - cosine                 the change of the sentence's vector without a head
//
//   010_what_heads_do           a model of two layers, which has learned the meaning of "it"
//   010_what_heads_do FOLDER    all-MiniLM-L6-v2, or another encoder of BERT's kind
//   010_what_heads_do PICTURES  also draws PICTURES/010_*.svg
//
// Layers and heads are counted from 0.
//
// Source: Kobayashi et al., "Attention is Not Only a Weight", 2020; Clark et al., "What Does BERT
// Look At?", 2019, section 3.2; Michel et al., "Are Sixteen Heads Really Better than One?", 2019.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <tessera/models/hugging_face/hugging_face.h>
#include <tessera/models/inspect/inspect.h>
#include <tessera/nn/hook.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/model_lesson.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

constexpr std::array<const char*, 2> kReasons = {"tired", "wide"};

/// A sentence, and the model's intermediate results for it.
struct Reading {
  std::vector<std::string> words;
  models::Tokens tokens;
  std::vector<Tensor> weights;  // of each layer, (1, H, T, T)
  std::vector<Tensor> values;   // (1, T, D)

  Reading(const models::SentenceEncoder& model, const char* reason) {
    const text::Encoding encoding = model.tokenize(
        str_cat("The animal didn't cross the street because it was too ", reason, '.'));
    for (const index_t id : encoding.ids) words.emplace_back(model.reader.tokenizer->token(id));
    tokens = model.reader.tokens(encoding);
    for (const auto& [name, value] : inspect::record([&] { model(tokens); }, "layers.**")) {
      if (name.ends_with(".weights")) weights.push_back(value.select(0, 0));
      if (name.ends_with(".v")) values.push_back(value);
    }
  }

  index_t place_of(const std::string& word) const {
    const auto found = std::find(words.begin(), words.end(), word);
    require(found != words.end(), "tokenizer", "must have the token ", printable(word),
            ", got none");
    return found - words.begin();
  }
  /// The weights that a head gives from one word to all.
  Matrix from(const std::string& word, index_t layer, index_t head) const {
    return weights[static_cast<std::size_t>(layer)].select(0, head).slice(0, place_of(word),
                                                                          place_of(word) + 1);
  }
};

const models::TokenEncoder& encoder_of(const models::SentenceEncoder& model) {
  return std::get<models::TokenEncoder>(model.token_encoder);
}

// ---- step 1 ----

/// Means over all heads and all query tokens.
void show_first_token(const models::SentenceEncoder& model, const Reading& reading) {
  std::printf("Step 1: What [CLS] gets, on average over heads and tokens\n");
  std::printf("         of the weight   of the norm\n");
  for (std::size_t layer = 0; layer < reading.weights.size(); ++layer) {
    const Tensor weights = reading.weights[layer].unsqueeze(0);
    const Tensor lengths = inspect::norm_weighted_attention(
        weights, reading.values[layer],
        encoder_of(model).encoder.layers[layer].self_attn->out_proj.weight);
    const Tensor shares = lengths / sum(lengths, {3}, true);
    std::printf("layer %zu          %.3f      %.3f\n", layer, mean(weights.select(3, 0)).item(),
                mean(shares.select(3, 0)).item());
  }
  std::printf("\n");
}

// ---- step 2 ----

struct Head {
  index_t layer = 0;
  index_t head = 0;
};

/// The head with the largest weight from one word to another.
Head head_that_sees(const Reading& reading, const std::string& from, const std::string& to) {
  Head best;
  double largest = -1;
  const index_t place = reading.place_of(to);
  for (index_t layer = 0; layer < std::ssize(reading.weights); ++layer) {
    for (index_t head = 0; head < reading.weights[0].size(0); ++head) {
      const double weight = reading.from(from, layer, head)(0, place);
      if (weight > largest) {
        largest = weight;
        best = {layer, head};
      }
    }
  }
  return best;
}

void show_head(const std::vector<Reading>& readings, const Head& at, const char* from) {
  std::printf("layer %td, head %td, from \"%s\":\n", at.layer, at.head, from);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Matrix weights = readings[i].from(from, at.layer, at.head);
    std::printf("  %-6s", kReasons[i]);
    for (const char* to : {"[CLS]", "animal", "street", "it", kReasons[i]}) {
      std::printf("  %s %.3f", to, weights(0, readings[i].place_of(to)));
    }
    std::printf("\n");
  }
}

/// From "it", and from "was", which does not refer to an animal.
void show_pronoun(const std::vector<Reading>& readings) {
  std::printf("Step 2: The head with the largest weight from \"it\" to \"animal\"\n");
  const Head best = head_that_sees(readings[0], "it", "animal");
  show_head(readings, best, "it");
  show_head(readings, best, "was");
  std::printf("\n");
}

// ---- step 3 ----

/// The change of the sentence's vector without each head, and the three heads with the largest.
void switch_off(const models::SentenceEncoder& model, const Reading& reading) {
  const Tensor whole = model(reading.tokens);
  const Tensor moves =
      inspect::head_ablation([&] { return sum(model.similarity(model(reading.tokens), whole)); });
  std::printf("Step 3: 1 - cosine of the sentence's vector (\"tired\") with and without a head\n");
  show("a row for each layer, a column for each head", moves);
  const std::vector<double> all = moves.flatten().to_vector<double>();
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return all[a] > all[b]; });
  const auto heads = static_cast<std::size_t>(moves.size(1));
  for (const std::size_t i : {order[0], order[1], order[2]}) {
    std::printf("without layer %zu, head %zu: %.3f\n", i / heads, i % heads, all[i]);
  }
  std::printf("\n");
}

// ---- step 4: the small model was trained to give "it" the vector of its meaning ----

/// The word whose row of the table has the largest product with the vector of "it".
std::string answer(const models::SentenceEncoder& model, const Reading& reading) {
  const Tensor x = encoder_of(model)(reading.tokens).select(1, reading.place_of("it"));
  const Tensor scores = linear(x, encoder_of(model).embeddings.word.weight);
  return std::string(model.reader.tokenizer->token(argmax(scores).to_vector<index_t>()[0]));
}

void show_answers(const models::SentenceEncoder& model, const std::vector<Reading>& readings) {
  std::printf("Step 4: What \"it\" means to the model: tired, wide\n");
  const auto show_line = [&](const std::string& what) {
    std::printf("%-24s %-8s %s\n", what.c_str(), answer(model, readings[0]).c_str(),
                answer(model, readings[1]).c_str());
  };
  show_line("with all heads");
  const index_t heads = readings[0].weights[0].size(0);
  for (index_t layer = 0; layer < std::ssize(readings[0].weights); ++layer) {
    for (index_t head = 0; head < heads; ++head) {
      const nn::Hook off(
          str_cat("layers.", layer, ".self_attn.heads"),
          [=](const nn::HookPoint& point) { return point.without_head(head, heads); });
      show_line(str_cat("without layer ", layer, ", head ", head));
    }
  }
  std::printf("\n");
}

/// Two heads, each in both sentences.
void draw(const std::filesystem::path& folder, const std::vector<Reading>& readings) {
  std::vector<WordRow> rows;
  for (const Head at : {Head{0, 0}, Head{1, 1}}) {
    for (const Reading& reading : readings) {
      rows.push_back({str_cat("layer ", at.layer, ", head ", at.head), reading.words,
                      reading.from("it", at.layer, at.head).values()});
    }
  }
  write_picture(
      folder, "010_it.svg",
      svg_word_rows("The weights from the word it to all words, in two heads and two sentences",
                    rows));
}

void run(const ModelLesson& lesson) {
  const models::SentenceEncoder model = models::load_sentence_encoder(lesson.model);
  std::vector<Reading> readings;
  for (const char* reason : kReasons) readings.emplace_back(model, reason);
  show_first_token(model, readings[0]);
  show_pronoun(readings);
  switch_off(model, readings[0]);
  if (lesson.is_small) show_answers(model, readings);
  if (!lesson.pictures.empty()) draw(lesson.pictures, readings);
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("010_what_heads_do", argc, argv, "[FOLDER...]",
                     [&] { run(ModelLesson(argc, argv)); });
}
