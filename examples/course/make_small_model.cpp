// Makes the sentence encoder of lessons 009 and 010: examples/course/small_model.
//
//   make_small_model FOLDER     writes tokenizer.json and model.safetensors
//
// It learns the meaning of "it". In "The animal didn't cross the street because it was too tired."
// only an animal can be tired, so the vector of "it" must come close to the table's row of
// "animal"; after "wide" to that of "street". No other position is trained.
//
// Two layers of width 32, like BERT's. The other files of small_model, which sentence-transformers
// needs, describe this model.
#include <array>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include <tessera/models/models.h>
#include <tessera/models/text/text.h>
#include <tessera/tensor/io/safetensors.h>
#include "examples/course/example.h"

using namespace tessera;

namespace {

constexpr index_t kLayers = 2, kHeads = 4, kWidth = 32, kHidden = 64, kMaxTokens = 24;
constexpr index_t kSentences = 12000, kUnseen = 1000;

using Words = std::vector<std::string>;
const Words kAnimals = {"animal", "dog",  "cat",  "horse", "cow",  "fox",
                        "goat",   "bear", "wolf", "hen",   "duck", "sheep"};
const Words kPlaces = {"street", "road",   "river", "bridge", "field", "garden",
                       "forest", "square", "hill",  "park",   "yard",  "lake"};
const Words kOfAnimals = {"tired", "hungry", "afraid", "old", "young", "sick", "weak", "lazy"};
const Words kOfPlaces = {"wide", "deep", "busy", "icy", "steep", "dark", "muddy", "noisy"};
const std::vector<std::array<std::string, 2>> kVerbs = {
    {"cross", "crossed"}, {"enter", "entered"}, {"reach", "reached"}, {"leave", "left"}};

struct Sentence {
  std::string text;
  std::string meant;  // the referent of "it"
};

template <class List>
const auto& one_of(const List& list, Rng& rng) {
  const Tensor drawn = randint(0, std::ssize(list), {1}, rng);
  return list[static_cast<std::size_t>(drawn.item())];
}

/// An animal, a place and a reason, in one of three orders.
Sentence draw(Rng& rng) {
  const std::string& animal = one_of(kAnimals, rng);
  const std::string& place = one_of(kPlaces, rng);
  const auto& [verb, done] = one_of(kVerbs, rng);
  const bool is_animal = one_of(std::array{true, false}, rng);
  const std::string reason =
      str_cat("it was too ", one_of(is_animal ? kOfAnimals : kOfPlaces, rng));
  const std::array<std::string, 3> texts = {
      str_cat("The ", animal, " didn't ", verb, " the ", place, " because ", reason, "."),
      str_cat("The ", place, " wasn't ", done, " by the ", animal, " because ", reason, "."),
      str_cat("Because ", reason, ", the ", animal, " didn't ", verb, " the ", place, ".")};
  return {one_of(texts, rng), is_animal ? animal : place};
}

/// Sentences as tokens; the label at "it" is the token that it refers to.
struct Data {
  std::vector<text::Example> examples;

  Data(std::span<const Sentence> sentences, const text::Tokenizer& tokenizer) {
    const index_t it = tokenizer.id("it");
    for (const Sentence& sentence : sentences) {
      text::Example example{tokenizer.encode(sentence.text).ids};
      std::vector<index_t> labels;
      for (const index_t id : example.ids) {
        labels.push_back(id == it ? tokenizer.id(sentence.meant) : text::kIgnoreIndex);
      }
      example.label = labels;
      examples.push_back(std::move(example));
    }
  }

  /// The scores of all words, the products of the vector of "it" with the table's rows.
  nn::LossSum loss(const models::TokenEncoder& model, std::span<const index_t> chosen) const {
    const text::Batch batch = text::make_batch(examples, chosen);
    const Tensor places = text::places_of(batch.labels);
    const Tensor x = model({batch.ids, batch.lengths}).flatten(0, 1);
    return nn::summed_cross_entropy(
        linear(index_select(x, 0, places), model.embeddings.word.weight),
        index_select(batch.labels.flatten(), 0, places));
  }
};

models::TokenEncoderOptions options(index_t vocab_size) {
  const models::EncoderLayerOptions layer = {.d_model = kWidth,
                                             .nhead = kHeads,
                                             .dim_feedforward = kHidden,
                                             .dropout = 0,
                                             .activation = nn::Activation::kGelu,
                                             .layer_norm_eps = 1e-12};
  models::TokenEncoderOptions result = {.vocab_size = vocab_size, .encoder = {}};
  result.encoder.layers = models::repeat_layer(layer, kLayers);
  result.positions = models::Positions::kLearned;
  result.max_positions = kMaxTokens;
  result.type_vocab_size = 2;
  result.dropout = 0;
  result.embedding_norm = true;
  return result;
}

void train(models::TokenEncoder& model, const Data& data, const Data& unseen) {
  const auto examples = [&](const Data& of) {
    return nn::Examples{text::lengths_of(of.examples),
                        [&](std::span<const index_t> chosen) { return of.loss(model, chosen); }};
  };
  nn::set_requires_grad(model);
  nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 3e-3});
  nn::Trainer trainer(model, optimizer, examples(data),
                      {.epochs = 6,
                       .batch_size = 64,
                       .lr_decay = nn::LrDecay::kCosine,
                       .warmup_ratio = 0.05,
                       .max_grad_norm = 1});
  trainer.train({.epoch = [](const nn::EpochReport& report) {
    std::cout << "epoch " << report.epoch + 1 << ": loss " << report.totals.mean() << '\n';
  }});
  const nn::LossTotals totals = nn::evaluate(model, examples(unseen));
  std::cout << totals.correct << " of " << kUnseen << " new sentences are correct\n";
}

// ---- the file of weights ----

/// A parameter's name in the files of BERT models.
std::string name_in_bert(std::string name) {
  const std::array<std::array<std::string, 2>, 6> changes = {
      {{"encoder.layers.", "encoder.layer."},
       {"self_attn.out_proj", "attention.output.dense"},
       {"norm1", "attention.output.LayerNorm"},
       {"linear1", "intermediate.dense"},
       {"linear2", "output.dense"},
       {"norm2", "output.LayerNorm"}}};
  for (const auto& [ours, theirs] : changes) {
    const std::size_t at = name.find(ours);
    if (at != std::string::npos) name.replace(at, ours.size(), theirs);
  }
  return name;
}

/// The parameters in the form of BERT's files: queries, keys and values separated.
std::map<std::string, Tensor> bert_tensors(const models::TokenEncoder& model) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, value] : nn::state_dict(model)) {
    const std::size_t at = name.find("self_attn.in_proj_");
    if (at == std::string::npos) {
      tensors.emplace(name_in_bert(name), value);
      continue;
    }
    const std::string before = name_in_bert(name.substr(0, at)) + "attention.self.";
    const std::string after = name.substr(name.find_last_of('_') + 1);  // weight or bias
    const std::vector<Tensor> parts = value.chunk(3);
    tensors.emplace(before + "query." + after, parts[0]);
    tensors.emplace(before + "key." + after, parts[1]);
    tensors.emplace(before + "value." + after, parts[2]);
  }
  return tensors;
}

void run(const std::filesystem::path& folder) {
  Rng rng(1);
  std::vector<Sentence> sentences;
  std::vector<std::string> texts;
  std::set<std::string> drawn;
  while (std::ssize(sentences) < kSentences + kUnseen) {
    Sentence sentence = draw(rng);
    if (!drawn.insert(sentence.text).second) continue;  // each sentence once
    texts.push_back(sentence.text);
    sentences.push_back(std::move(sentence));
  }
  const auto tokenizer = text::train_word_piece(texts, {.vocab_size = 0});
  const std::span all(sentences);
  models::TokenEncoder model(options(tokenizer->size()), rng);
  train(model, {all.first(kSentences), *tokenizer}, {all.subspan(kSentences), *tokenizer});
  tokenizer->save(folder / "tokenizer.json");
  save_safetensors(folder / "model.safetensors", bert_tensors(model));
  std::cout << "wrote " << folder.string() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_example("make_small_model", argc, argv, "FOLDER", [&] {
    require(argc == 2, "arguments", "must be 1, FOLDER, got ", argc - 1);
    run(argv[1]);
  });
}
