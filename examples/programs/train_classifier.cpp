// Trains an encoder to sort lines of text into classes.
//
//   train_classifier --train train.tsv --test test.tsv --save run
//   train_classifier --resume run --predict < lines.txt
//
// A line of a file is a label, a tab and the text. Options: --help.
#include <cstdio>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "examples/programs/attention.h"
#include "examples/programs/confusion_counter.h"
#include "examples/programs/training.h"
#include "models/models.h"
#include "models/runs/text_examples.h"
#include "models/text/labelled_text.h"
#include "models/text/text_file.h"
#include "models/text/tokenizers.h"
#include "nn/nn.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/format.h"
#include "tensor/io/file.h"
#include "tensor/ops/ops.h"
#include "tensor/profile_span.h"

namespace {

using namespace tessera;

struct ClassifierOptions {
  std::string train;
  std::string test;
  bool predict = false;
  bool probabilities = false;
  std::string tokenizer = "words";
  std::string pooling = "max";
  double word_dropout = 0.1;
  double label_smoothing = 0.1;
  index_t min_count = 1;
  index_t vocabulary_size = 0;
  index_t max_words = 256;
  examples::AttentionOptions attention;
};

/// The vocabulary and the labels of a model: the names of its words and classes.
struct Names {
  std::unique_ptr<text::Tokenizer> words;
  std::vector<std::string> labels;
};

/// The notes of a checkpoint, from which names_from restores the names.
nn::Checkpoint notes_of(const Names& names) {
  nn::Checkpoint notes;
  notes.set("vocabulary", names.words->to_text());
  std::string labels;
  for (const std::string& label : names.labels) labels += label + '\n';
  notes.set("labels", labels);
  return notes;
}

/// **Errors**: std::runtime_error with the checkpoint's file: it has no names.
Names names_from(const nn::Checkpoint& checkpoint) {
  Names names{text::tokenizer_from_text(checkpoint.text("vocabulary"), checkpoint.file),
              text::split_lines(checkpoint.text("labels"))};
  if (names.labels.empty()) fail_file(checkpoint.file, "value 'labels' must not be empty");
  return names;
}

/// The words of the training lines, and the classes of these and the held-out lines.
Names names_of(const std::vector<text::LabelledText>& lines,
               const std::vector<text::LabelledText>& all_lines, const ClassifierOptions& options) {
  std::vector<std::string> labels = text::distinct_labels(all_lines);
  examples::require_classes(options.train, labels);
  std::vector<std::string> texts;
  for (const text::LabelledText& line : lines) texts.push_back(line.text);
  const text::VocabularyOptions limits = {.min_count = options.min_count,
                                          .max_size = options.vocabulary_size};
  return {examples::named_tokenizer(options.tokenizer, texts, limits), std::move(labels)};
}

/// The numbers of a text's words, after [CLS].
std::vector<index_t> encode(const Names& names, const std::string& text, index_t max_words) {
  return names.words->encode(text, {.max_length = max_words + 1}).ids;
}

/// The examples of a file's lines. **Errors**: std::runtime_error with the file's line: a label
/// without a name.
std::vector<text::Example> examples_of(const std::vector<text::LabelledText>& lines,
                                       const std::string& file, const Names& names,
                                       index_t max_words) {
  const ProfileScope scope("tokenize");
  return text::labelled_examples(lines, names.labels,
                                 {names.words.get(), {.max_length = max_words + 1}}, file);
}

/// Replaces words by [UNK] at random, so that the model learns to do without them, and a vector for
/// [UNK].
Tensor drop_words(const Tensor& ids, const text::SpecialTokens& special, double chance) {
  if (chance == 0) return ids;
  const Tensor drawn = bernoulli(ids.shape(), 1 - chance);
  const Tensor keep = logical_or(text::special_mask(ids, special), drawn);
  return where(keep, ids, full({}, static_cast<double>(special.unknown.value()), kInt64));
}

models::SequenceClassifier make_model(const examples::Program& program, const Names& names,
                                      const ClassifierOptions& c) {
  const examples::TrainingOptions& o = program.options;
  const index_t classes = std::ssize(names.labels);
  examples::check_size(program, names.words->size() + c.max_words + 1 + classes, 0,
                       !c.train.empty());
  models::TokenEncoderOptions tokens = examples::token_encoder_options(o, names.words->size());
  tokens.max_tokens = c.max_words + 1;
  tokens.positions = models::Positions::kLearned;  // as in BERT, with its norm
  tokens.embedding_norm = true;

  const ProfileScope scope("make model");
  manual_seed(o.seed);
  return models::SequenceClassifier({.tokens = tokens,
                                     .classes = classes,
                                     .pooling = models::Pooling::named(c.pooling),
                                     .dropout = o.dropout});
}

/// The loss of the chosen examples.
nn::LossSum loss_of(const models::SequenceClassifier& model, const text::Batch& batch) {
  return nn::summed_cross_entropy(model({batch.ids, batch.lengths}), batch.labels);
}

/// The loss in training: some words are hidden, and labels are smoothed.
nn::LossSum training_loss_of(const models::SequenceClassifier& model, const ClassifierOptions& c,
                             const text::SpecialTokens& special, const text::Batch& batch) {
  const Tensor ids = drop_words(batch.ids, special, c.word_dropout);
  return nn::summed_cross_entropy(model({ids, batch.lengths}), batch.labels,
                                  {.label_smoothing = c.label_smoothing});
}

/// The examples of the files of one call.
struct Files {
  std::vector<text::Example> train, held_out, test;
};

examples::ConfusionCounter confusion_of(const models::SequenceClassifier& model, const Names& names,
                                        std::span<const text::Example> lines) {
  return examples::confusion_of(lines, std::ssize(names.labels), {}, [&](const text::Batch& batch) {
    return model({batch.ids, batch.lengths});
  });
}

/// Adds the trained model's confusion matrix to --report.
void report(examples::Training& training, const models::SequenceClassifier& model,
            const Names& names, const Files& files) {
  const auto count = [&](const std::vector<text::Example>& examples, const std::string& title) {
    if (examples.empty()) return;
    training.report(confusion_of(model, names, examples).for_page(title, names.labels));
  };
  count(files.held_out, "Held-out lines");
  count(files.test, "Lines of --test");
}

/// Trains to the end and loads the best weights; returns false if it was stopped before.
bool train(const examples::Program& program, const ClassifierOptions& c, const Names& names,
           const Files& files, models::SequenceClassifier& model) {
  std::cout << files.train.size() << " lines, " << names.words->size() << " words, "
            << names.labels.size() << " classes, " << nn::parameter_count(model) << " parameters";
  if (!files.held_out.empty()) std::cout << "; " << files.held_out.size() << " lines are held out";
  std::cout << std::endl;
  const auto training_loss = [&](const text::Batch& batch) {
    return training_loss_of(model, c, names.words->special(), batch);
  };
  const auto loss = [&](const text::Batch& batch) { return loss_of(model, batch); };
  examples::TrainingTask task = {.train = runs::batched(files.train, training_loss),
                                 .notes = notes_of(names)};
  if (!files.held_out.empty()) task.held_out = runs::batched(files.held_out, loss);
  examples::Training training(program, model, std::move(task));
  if (!training.run()) return false;
  training.take_trained(model);
  nn::eval(model);
  if (training.has_report()) report(training, model, names, files);
  return true;
}

/// The held-out lines given by the options; a share is removed from `lines`.
std::vector<text::LabelledText> held_out_lines_of(const examples::Program& program,
                                                  std::vector<text::LabelledText>& lines) {
  const examples::TrainingOptions& o = program.options;
  if (!o.held_out.empty()) return text::read_labelled_lines(o.held_out);
  if (o.held_out_share > 0) return examples::hold_out(program, lines);
  return {};
}

/// Prints the confusion matrix, and the accuracy as the last line.
void test(const models::SequenceClassifier& model, const Names& names,
          const std::vector<text::Example>& lines) {
  const examples::ConfusionCounter counts = confusion_of(model, names, lines);
  std::cout << '\n';
  counts.print(std::cout, names.labels);
  std::cout << '\n';
  std::cout << "test macro F1 " << decimals(counts.macro_f1(), 4) << "\ntest accuracy "
            << decimals(counts.accuracy(), 4) << std::endl;
}

/// The class of one text and, if requested, the probabilities of all classes, each after a tab.
std::string answer(const models::SequenceClassifier& model, const Names& names,
                   const std::string& line, const ClassifierOptions& c) {
  const Tensor scores = model(from_vector(encode(names, line, c.max_words)).unsqueeze(0));
  std::string text = names.labels[static_cast<std::size_t>(argmax(scores, {-1}).item<index_t>())];
  if (!c.probabilities) return text;
  for (const double p : softmax(scores).flatten().to(kFloat64).to_vector<double>()) {
    text += '\t' + decimals(p, 4);
  }
  return text;
}

/// Prints each line of standard input, if there are any, after the model's answer.
void predict(const models::SequenceClassifier& model, const Names& names,
             const ClassifierOptions& c) {
  if (c.probabilities) {
    std::cout << "class";
    for (const std::string& label : names.labels) std::cout << '\t' << label;
    std::cout << "\ttext" << std::endl;
  }
  const int first = std::getc(stdin);
  if (first == EOF && std::ferror(stdin) == 0) return;
  std::ungetc(first, stdin);
  const std::vector<std::string> lines = examples::input_lines("");
  for (const std::string& line : lines) {
    std::cout << answer(model, names, line, c) << '\t' << line << '\n';
  }
}

/// Throws if the options contradict each other.
void check(const examples::Program& program, const ClassifierOptions& c) {
  require(!c.train.empty() || program.resumed, "train_classifier",
          "--train FILE, or --resume DIR of a trained model, must be given, got neither");
  require(!c.train.empty() || !c.test.empty() || c.predict, "train_classifier",
          "--resume must be combined with --train FILE to continue, or with --test FILE or "
          "--predict to use the model");
  require(program.options.held_out.empty() || !c.train.empty(), "train_classifier",
          "--held-out must be combined with --train FILE");
  require(!c.train.empty() || program.options.report.empty(), "train_classifier",
          "--report must be combined with --train FILE");
  require(c.attention.file.empty() || !c.train.empty() || !c.test.empty(), "train_classifier",
          "--attention must be combined with --test FILE or --train FILE");
  require(!c.probabilities || c.predict, "train_classifier",
          "--probabilities must be combined with --predict");
}

void run(const examples::Program& program, const ClassifierOptions& c) {
  check(program, c);
  // All files are read before the training, so that their errors come first.
  std::vector<text::LabelledText> all_lines;
  if (!c.train.empty()) all_lines = text::read_labelled_lines(c.train);
  std::vector<text::LabelledText> lines = all_lines;
  std::vector<text::LabelledText> held_out_lines;
  if (!c.train.empty()) held_out_lines = held_out_lines_of(program, lines);
  const Names names =
      program.resumed ? names_from(*program.resumed) : names_of(lines, all_lines, c);
  Files files;
  if (!c.test.empty()) {
    files.test = examples_of(text::read_labelled_lines(c.test), c.test, names, c.max_words);
  }
  models::SequenceClassifier model = make_model(program, names, c);
  c.attention.check(model.encode.encoder);
  (void)text::label_numbers(all_lines, names.labels, c.train);  // an error names the file's line
  files.train = examples_of(lines, c.train, names, c.max_words);
  files.held_out = examples_of(held_out_lines, program.options.held_out, names, c.max_words);
  if (c.train.empty()) {
    nn::load_trained(*program.resumed, model);
  } else if (!train(program, c, names, files, model)) {
    return;
  }
  nn::eval(model);
  if (c.predict) predict(model, names, c);
  if (!files.test.empty()) test(model, names, files.test);
  const auto& shown = !files.test.empty()       ? files.test
                      : !files.held_out.empty() ? files.held_out
                                                : files.train;
  const auto read = [&](index_t i) {
    return models::Tokens{from_vector(shown[static_cast<std::size_t>(i)].ids).unsqueeze(0)};
  };
  examples::write_attention(c.attention, {.about = program.name(),
                                          .encoder = model.encode,
                                          .count = std::ssize(shown),
                                          .read = read,
                                          .token = examples::token_names(*names.words)});
}

}  // namespace

int main(int argc, char** argv) {
  ClassifierOptions c;
  std::vector<std::string> poolings;
  for (const models::Pooling& pooling : models::Pooling::all()) poolings.emplace_back(pooling.name);
  examples::Program program(
      "train_classifier", "Trains a text classifier on lines of label<TAB>text.",
      {.layers = 1, .dropout = 0.3, .epochs = 4, .batch_size = 64, .learning_rate = 1e-3});
  program.add_input("--train", c.train, "training file: lines of label<TAB>text");
  program.add_input("--test", c.test, "test file, evaluated at the end");
  program.add_held_out();
  program.add("--predict", c.predict, "classification of the lines of standard input");
  program.add("--probabilities", c.probabilities,
              "probability of each class in the output of --predict");
  program.add("--pooling", c.pooling, "pooling of the word vectors", poolings).kept();
  program
      .add("--word-dropout", c.word_dropout, "probability of hiding a word during training", {0, 1})
      .kept();
  program
      .add("--label-smoothing", c.label_smoothing, "fraction of a label spread over all classes",
           {0, 1})
      .kept();
  program.add_input("--tokenizer", c.tokenizer, examples::kTokenizerHelp).kept();
  program
      .add("--min-count", c.min_count, "minimum count of a word in the vocabulary", {1, 1'000'000})
      .kept();
  program
      .add("--vocabulary-size", c.vocabulary_size,
           "maximum vocabulary size; 0: all words, or 8000 subwords", {0, 10'000'000})
      .kept();
  program
      .add("--max-words", c.max_words, "maximum number of words per line; the rest is cut off",
           {1, 100'000})
      .kept();
  c.attention.add_to(program);
  return program.run(
      argc, argv, [&] { run(program, c); }, [&] { return !c.train.empty(); });
}
