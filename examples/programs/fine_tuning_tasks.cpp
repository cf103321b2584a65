#include "examples/programs/fine_tuning_tasks.h"

#include <string>
#include <variant>
#include <vector>

#include "examples/programs/fine_tuning_data.h"
#include "models/hugging_face/sentence_encoder.h"
#include "models/hugging_face/text_classifier.h"
#include "models/hugging_face/token_tagger.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/ops/ops.h"

namespace tessera::examples {

namespace {

models::Tokens tokens_of(const text::Batch& batch) {
  return {.ids = batch.ids, .lengths = batch.lengths, .types = batch.types};
}

TextEncoder text_encoder(const models::TextReader& reader, const FineTuneOptions& o) {
  return {.tokenizer = reader.tokenizer.get(),
          .options = reader.encode_options({.max_length = o.max_length}),
          .feeds_types = reader.feeds_types};
}

index_t padding_of(const text::Tokenizer& tokenizer) {
  return tokenizer.special().pad.value_or(0);
}

/// A task whose model scores classes.
Task choice(const std::string& name, const std::vector<std::string>& labels, const ScoresOf& scores,
            index_t pad) {
  Task task;
  task.name = name;
  task.loss = [scores, pad](const TextData& data, Chosen chosen) {
    const text::Batch batch = text::make_batch(data.examples, chosen, pad);
    return nn::summed_cross_entropy(scores(batch), batch.labels);
  };
  task.labels = labels;
  task.scores = scores;
  task.pad = pad;
  return task;
}

/// The mean of what is to be predicted, with which an untrained model begins.
double mean_value(const TextData& data) {
  double sum = 0;
  for (const text::Example& example : data.examples) sum += std::get<double>(example.label);
  return sum / static_cast<double>(data.examples.size());
}

/// The embeddings of a batch's texts, as the folder will make them.
Tensor embedded(const models::SentenceEncoder& model, const models::TokenEncoder& words,
                const text::Batch& batch) {
  const models::Tokens tokens = tokens_of(batch);
  Tensor y = model.pooling(words(tokens), tokens);
  for (const models::SentenceModule& module : model.modules) {
    y = std::visit([&](const auto& part) { return part(y); }, module);
  }
  return y;
}

}  // namespace

void learn_classes(const Program& program, const FineTuneOptions& o) {
  const LabelledFile lines = read_labelled_file(o.train, o.pair);
  const std::vector<std::string> labels = text::distinct_labels(lines.lines);
  require_classes(o.train, labels);
  models::TextClassifier learner = models::make_text_classifier(o.model, labels);
  const TextEncoder encode = text_encoder(learner.reader, o);
  const Files files = read_files(program, o, [&](const std::string& file) {
    return classified_texts(read_labelled_file(file, o.pair), labels, encode);
  });
  const index_t pad = padding_of(*learner.reader.tokenizer);
  const ScoresOf scores = [&](const text::Batch& batch) { return learner.model(tokens_of(batch)); };
  const Task task = choice("classification", labels, scores, pad);
  run_task(program, o, task, learner, learner.model, learner.model.encode, files);
}

void learn_values(const Program& program, const FineTuneOptions& o) {
  models::TextClassifier learner =
      models::make_text_classifier(o.model, {"value"}, models::Scoring::kNone);
  const TextEncoder encode = text_encoder(learner.reader, o);
  const Files files = read_files(program, o, [&](const std::string& file) {
    return valued_texts(read_labelled_file(file, o.pair), encode);
  });
  learner.model.classifier.bias = full({1}, mean_value(files.train));
  const index_t pad = padding_of(*learner.reader.tokenizer);
  const LossOf loss = [&](const TextData& data, Chosen chosen) {
    const text::Batch batch = text::make_batch(data.examples, chosen, pad);
    const Tensor values = learner.model(tokens_of(batch)).select(1, 0);
    return nn::summed_squared_error(values, batch.labels);
  };
  run_task(program, o, {"regression", loss, true}, learner, learner.model, learner.model.encode,
           files);
}

void learn_tags(const Program& program, const FineTuneOptions& o) {
  const std::vector<std::string> labels = text::distinct_labels(text::read_tagged_tokens(o.train));
  require_classes(o.train, labels);
  models::TokenTagger learner = models::make_token_tagger(o.model, labels);
  const TextEncoder encode = text_encoder(learner.reader, o);
  const Files files = read_files(program, o, [&](const std::string& file) {
    return tagged_texts(text::read_tagged_tokens(file), labels, file, encode);
  });
  const index_t pad = padding_of(*learner.reader.tokenizer);
  const ScoresOf scores = [&](const text::Batch& batch) { return learner.model(tokens_of(batch)); };
  const Task task = choice("tokens", labels, scores, pad);
  run_task(program, o, task, learner, learner.model, learner.model.encode, files);
}

void learn_pairs(const Program& program, const FineTuneOptions& o) {
  require(processes().size() == 1, kFineTune, "--task pairs needs 1 process, got ",
          processes().size(), "; a pair's negatives are the other pairs of its batch");
  require(program.options.shards == 1, kFineTune, "--task pairs needs --shards 1, got ",
          program.options.shards, "; a pair's negatives are the other pairs of its batch");
  models::SentenceEncoder learner = models::load_sentence_encoder(o.model);
  auto* const words = std::get_if<models::TokenEncoder>(&learner.words);
  if (words == nullptr)
    fail_file(o.model, "the model must have layers to train, got static embeddings");
  const TextEncoder encode = text_encoder(learner.reader, o);
  const auto clean = [&](const std::string& text) {
    return models::cleaned(text, learner.settings.lower_case);
  };
  const Files files = read_files(
      program, o, [&](const std::string& file) { return paired_texts(file, encode, clean); });
  const index_t pad = padding_of(*learner.reader.tokenizer);
  const LossOf loss = [&](const TextData& data, Chosen chosen) {
    const Tensor firsts = embedded(learner, *words, text::make_batch(data.examples, chosen, pad));
    const Tensor seconds = embedded(learner, *words, text::make_batch(data.partners, chosen, pad));
    return nn::summed_contrastive(firsts, seconds, {.temperature = o.temperature});
  };
  run_task(program, o, {"pairs", loss}, learner, *words, *words, files);
}

}  // namespace tessera::examples
