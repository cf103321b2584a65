// A complete sentence encoder like BERT by plain loops, compared with SentenceEncoder::encode.
//
//     x      = norm(word[id] + position[i] + type[0])            for the token `id` at position i
//     x      = norm(x + attention(x)),   x = norm(x + feed_forward(x))               in each layer
//     vector = u / |u|,   u = mean of the rows of x
//
//   009_minilm_by_hand           a model of two layers, made by make_small_model
//   009_minilm_by_hand FOLDER    all-MiniLM-L6-v2, or another encoder like BERT with mean pooling
//   009_minilm_by_hand PICTURES  also draws PICTURES/009_*.svg
//
// Source: Devlin et al., "BERT", 2018; Reimers and Gurevych, "Sentence-BERT", 2019, section 3;
// Wang et al., "MiniLM", 2020.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include <tessera/models/hugging_face/hugging_face.h>
#include <tessera/models/inspect/inspect.h>
#include <tessera/tensor/io/safetensors.h>
#include "examples/course/example.h"
#include "examples/course/layer_by_hand.h"
#include "examples/course/model_lesson.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

// ---- the encoder; layer_by_hand.h has the parts of its layers ----

/// The parameters by their names in the file. A vector is a matrix of one row.
struct Weights {
  std::map<std::string, Tensor> tensors;

  Matrix operator()(const std::string& name) const { return tensor(name); }
  Matrix row(const std::string& name, index_t i) const { return tensor(name).slice(0, i, i + 1); }
  const Tensor& tensor(const std::string& name) const {
    const auto found = tensors.find(name);
    require(found != tensors.end(), "weights", "must have the tensor ", name,
            ", as BERT's files, got none");
    return found->second;
  }
};

struct Sizes {
  index_t layers, heads;
  double eps;
};

/// The intermediate results, by the library's names of the steps.
using Steps = std::map<std::string, Matrix>;

/// x W^T + b.
Matrix affine(const Matrix& x, const Weights& weights, const std::string& name) {
  return linear(x, weights(name + ".weight"), weights(name + ".bias"));
}

/// norm(x + y): the residual connection and the norm after it.
Matrix norm_of_sum(const Matrix& x, const Matrix& y, const Weights& weights,
                   const std::string& name, double eps) {
  return layer_norm(sum_of(x, y), weights(name + ".weight"), weights(name + ".bias"), eps);
}

/// h times the probability that a normal random number is below h.
Matrix gelu(const Matrix& h) {
  return matrix_of(h.rows(), h.columns(), [&](index_t i, index_t f) {
    return h(i, f) * (1 + std::erf(h(i, f) / std::sqrt(2))) / 2;
  });
}

Matrix embedded(const std::vector<index_t>& ids, const Weights& weights, double eps) {
  const std::string name = "embeddings.";
  const Matrix type = weights.row(name + "token_type_embeddings.weight", 0);
  Matrix words(std::ssize(ids), type.columns());
  Matrix places = words;
  for (index_t i = 0; i < words.rows(); ++i) {
    const index_t id = ids[static_cast<std::size_t>(i)];
    const Matrix word = weights.row(name + "word_embeddings.weight", id);
    const Matrix position = weights.row(name + "position_embeddings.weight", i);
    for (index_t c = 0; c < words.columns(); ++c) {
      words(i, c) = word(0, c);
      places(i, c) = position(0, c) + type(0, c);
    }
  }
  return norm_of_sum(words, places, weights, name + "LayerNorm", eps);
}

/// The vectors of the tokens after the last layer.
Matrix encoded(const std::vector<index_t>& ids, const Weights& weights, const Sizes& sizes,
               Steps& steps) {
  Matrix x = embedded(ids, weights, sizes.eps);
  steps["embeddings"] = x;
  for (index_t layer = 0; layer < sizes.layers; ++layer) {
    const std::string name = str_cat("encoder.layer.", layer, '.');
    const std::string step = str_cat("layers.", layer);
    const Matrix q = affine(x, weights, name + "attention.self.query");
    const Matrix k = affine(x, weights, name + "attention.self.key");
    const Matrix v = affine(x, weights, name + "attention.self.value");
    const Matrix heads = heads_of(q, k, v, sizes.heads);
    const Matrix attention = affine(heads, weights, name + "attention.output.dense");
    x = norm_of_sum(x, attention, weights, name + "attention.output.LayerNorm", sizes.eps);
    steps[step + ".self_attn.heads"] = heads;
    steps[step + ".norm1"] = x;
    const Matrix hidden = gelu(affine(x, weights, name + "intermediate.dense"));
    const Matrix answer = affine(hidden, weights, name + "output.dense");
    x = norm_of_sum(x, answer, weights, name + "output.LayerNorm", sizes.eps);
    steps[step] = x;
  }
  return x;
}

/// The mean of the rows, of length 1.
Matrix pooled(const Matrix& x) {
  Matrix u(1, x.columns());
  double squares = 0;
  for (index_t c = 0; c < x.columns(); ++c) {
    for (index_t i = 0; i < x.rows(); ++i) u(0, c) += x(i, c) / static_cast<double>(x.rows());
    squares += u(0, c) * u(0, c);
  }
  for (index_t c = 0; c < x.columns(); ++c) u(0, c) /= std::sqrt(squares);
  return u;
}

// ---- the lesson ----

constexpr const char* kSentence = "The animal didn't cross the street because it was too tired.";

void show_sizes(const models::ModelFolder& folder) {
  const models::EncoderLayerOptions& layer = folder.options.encoder.layers.front();
  std::printf("Step 1: The model: %td layers, width %td, %td heads, %td tokens known\n\n",
              std::ssize(folder.options.encoder.layers), layer.d_model, layer.nhead,
              folder.options.vocab_size);
}

/// Returns the tokens' texts, and prints them with their numbers.
std::vector<std::string> show_tokens(const text::Tokenizer& tokenizer,
                                     const std::vector<index_t>& ids) {
  std::printf("Step 2: The tokens\n");
  std::vector<std::string> tokens;
  for (const index_t id : ids) {
    const char* const before = tokens.empty() ? "" : ", ";
    tokens.emplace_back(tokenizer.token(id));
    std::printf("%s%s %td", before, tokens.back().c_str(), id);
  }
  std::printf("\n\n");
  return tokens;
}

/// The steps by hand, next to those that a hook of the library received, in its order.
void compare_steps(const Steps& steps, const models::SentenceEncoder& model,
                   const models::Tokens& tokens) {
  std::printf(
      "Step 3: The first numbers of [CLS] by hand, and the largest difference of all tokens\n");
  std::printf("from the library, which computes in float32\n");
  for (const auto& [name, value] : inspect::record([&] { model(tokens); }, "**")) {
    const auto by_hand = steps.find(name);
    if (by_hand == steps.end()) continue;
    const Tensor first = Tensor(by_hand->second).select(0, 0).slice(0, 0, 4);
    const double difference = largest_difference(by_hand->second, value);
    std::printf("%-26s %s %s\n", name.c_str(),
                to_string(first, {.precision = 4, .suppress = true}).c_str(),
                difference <= 2e-5 ? "below 2e-5" : "DIFFERS");
  }
  std::printf("\n");
}

/// The first columns of the tokens' vectors before the first layer, and after each.
void draw(const std::filesystem::path& folder, const Steps& steps,
          const std::vector<std::string>& tokens, index_t layers) {
  constexpr index_t kColumns = 16;
  Picture picture = {.description = "The vectors of all tokens, before and after each layer",
                     .panels = {},
                     .low = -3,
                     .high = 3,
                     .square = 16};
  const auto add = [&](const std::string& title, const std::string& step) {
    const Matrix values = Tensor(steps.at(step)).slice(1, 0, kColumns);
    picture.panels.push_back({title, values, "column", "token", {}, tokens});
  };
  add("embeddings", "embeddings");
  for (index_t layer = 0; layer < layers; ++layer) {
    add(str_cat("after layer ", layer), str_cat("layers.", layer));
  }
  write_picture(folder, "009_layers.svg", picture);
}

void run(const ModelLesson& lesson) {
  const std::filesystem::path& path = lesson.model;
  const models::ModelFolder folder(path);
  const models::SentenceEncoder model = models::load_sentence_encoder(path);
  const models::EncoderLayerOptions& layer = folder.options.encoder.layers.front();
  const Sizes sizes = {std::ssize(folder.options.encoder.layers), layer.nhead,
                       layer.layer_norm_eps};
  const Weights weights = {load_safetensors(path / "model.safetensors").tensors};
  show_sizes(folder);

  const text::Encoding encoding = model.tokenize(kSentence);
  const auto tokens = show_tokens(*model.reader.tokenizer, encoding.ids);

  Steps steps;
  const Matrix x = encoded(encoding.ids, weights, sizes, steps);
  compare_steps(steps, model, model.reader.tokens(encoding));

  const Matrix by_hand = pooled(x);
  const Matrix library = model.encode({kSentence}, {.normalize_embeddings = true});
  show("Step 4: The sentence's vector, its first numbers by hand", Tensor(by_hand).slice(1, 0, 6));
  show("and by SentenceEncoder::encode", Tensor(library).slice(1, 0, 6));
  check_close("the sentence's vector", by_hand, library, 1e-5);
  if (!lesson.pictures.empty()) draw(lesson.pictures, steps, tokens, sizes.layers);
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("009_minilm_by_hand", argc, argv, "[FOLDER...]",
                     [&] { run(ModelLesson(argc, argv)); });
}
