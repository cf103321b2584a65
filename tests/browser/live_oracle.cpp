// Every step of train_reverse's model by the library, for live_test.js to compare with live.html:
//
//   live_oracle CHECKPOINT float64 WORD [PART...] [PARAMETER ROW COLUMN VALUE]
//
// prints an object of the steps' elements. A hook, or zeros in a table, switches PART off.
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tessera/models/inspect/record.h"
#include "tessera/models/models.h"
#include "tessera/nn/nn.h"
#include "tessera/nn/training/checkpoint.h"
#include "tessera/nn/training/trainer.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/io/json.h"
#include "tessera/tensor/ops/ops.h"

namespace {

using namespace tessera;

constexpr index_t kLetters = 26;
constexpr index_t kWidth = 64;
const std::string kLayer = "layers.0.";

/// train_reverse's model by default, without its options.
models::TokenClassifier make_model() {
  return models::TokenClassifier(
      {.token_encoder = {.vocab_size = kLetters,
                         .encoder = {.layers = {{.d_model = kWidth,
                                                 .nhead = 1,
                                                 .dim_feedforward = 128,
                                                 .dropout = 0,
                                                 .activation = nn::Activation::kGelu,
                                                 .norm_first = true}},
                                     .final_norm = true},
                         .max_positions = 12,
                         .dropout = 0},
       .num_labels = kLetters,
       .dropout = 0});
}

void set_element(models::TokenClassifier& model, const std::string& name, index_t row,
                 index_t column, double value) {
  nn::for_each_parameter(model, [&](const std::string& each, Tensor& parameter) {
    if (each != name) return;
    const Tensor vector = parameter.rank() == 1 ? parameter : parameter.select(0, row);
    vector.select(0, column).fill(value);
  });
}

/// Hooks that remove parts of a layer.
class Switches {
 public:
  explicit Switches(models::TokenClassifier& model) : model_(model) {}

  void off(const std::string& part) {
    const auto zero = [](const nn::HookPoint& point) { return zeros_like(point.value); };
    if (part == "head") hooks_.emplace_back(kLayer + "self_attn.heads", zero);
    if (part == "feedForward") hooks_.emplace_back(kLayer + "feed_forward", zero);
    if (part == "residual1") without_residual("self_attn", "sum1");
    if (part == "residual2") without_residual("feed_forward", "sum2");
    if (part == "positions") {
      nn::Buffer& table = model_.token_encoder.embeddings.sinusoidal->table;
      table = nn::Buffer(zeros_like(table.exact()), table.value().dtype());
    }
  }

 private:
  /// Replaces the sum by the branch that it adds.
  void without_residual(const std::string& branch, const std::string& sum) {
    Tensor& added = added_[branch];
    hooks_.emplace_back(kLayer + branch,
                        [&added](const nn::HookPoint& point) { added = point.value; });
    hooks_.emplace_back(kLayer + sum, [&added](const nn::HookPoint&) { return added; });
  }

  models::TokenClassifier& model_;
  std::deque<nn::Hook> hooks_;
  std::map<std::string, Tensor> added_;
};

/// The page's name for each step named by the library.
const std::vector<std::pair<std::string, std::string>> kNames = {
    {"embedding", "embeddings.words"},
    {"x", "embeddings"},
    {"norm1", kLayer + "norm1"},
    {"q", kLayer + "self_attn.q"},
    {"k", kLayer + "self_attn.k"},
    {"v", kLayer + "self_attn.v"},
    {"weights", kLayer + "self_attn.weights"},
    {"head", kLayer + "self_attn.heads"},
    {"attention", kLayer + "self_attn"},
    {"sum1", kLayer + "sum1"},
    {"norm2", kLayer + "norm2"},
    {"activation", kLayer + "feed_forward.activation"},
    {"feedForward", kLayer + "feed_forward"},
    {"sum2", kLayer + "sum2"},
    {"norm", "norm"},
    {"logits", "logits"}};

std::map<std::string, Tensor> steps_of(const models::TokenClassifier& model, const Tensor& ids) {
  std::map<std::string, Tensor> recorded;
  for (const auto& [name, value] : inspect::record([&] { model(ids); }, "**")) {
    recorded[name] = value;
  }
  std::map<std::string, Tensor> steps;
  for (const auto& [name, step] : kNames) steps[name] = recorded.at(step);
  // Steps that have no name in the library.
  steps["positions"] =
      model.token_encoder.embeddings.sinusoidal->table.value().slice(0, 0, ids.size(1));
  steps["scores"] = matmul(steps["q"], steps["k"].transpose(1, 2)) / 8;  // the root of 64
  steps["hidden"] = model.token_encoder.encoder.layers[0].feed_forward->linear1(steps["norm2"]);
  steps["probabilities"] = softmax(steps["logits"], -1);
  return steps;
}

void print_steps(const std::vector<std::string>& arguments) {
  models::TokenClassifier model = make_model();
  nn::load_trained(nn::load_checkpoint(arguments.at(0)), model);
  nn::convert(model, arguments.at(1) == "float64" ? kFloat64 : kFloat32);
  nn::eval(model);
  std::vector<index_t> letters;
  for (const char letter : arguments.at(2)) letters.push_back(letter - 'a');

  Switches switches(model);
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    if (arguments[i].find('.') == std::string::npos) {
      switches.off(arguments[i]);
      continue;
    }
    set_element(model, arguments[i], std::stoll(arguments.at(i + 1)),
                std::stoll(arguments.at(i + 2)), std::stod(arguments.at(i + 3)));
    i += 3;
  }
  JsonObject object;
  for (const auto& [name, value] : steps_of(model, from_vector(letters).unsqueeze(0))) {
    object.add(name, json_list(value.to(kFloat64).contiguous().to_vector<double>()));
  }
  std::cout << object.text() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    print_steps({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "live_oracle: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
