// Trains an encoder to sort lines of text into classes.
//
//   train_classifier --train train.tsv --test test.tsv --save run
//   train_classifier --resume run --predict < lines.txt
//
// A line of a file is a label, a tab and the text. Options: --help.
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tessera/models/models.h>
#include <tessera/models/runs/text_examples.h>
#include <tessera/models/text/labelled_text.h>
#include <tessera/models/text/masked_tokens.h>
#include <tessera/models/text/text_file.h>
#include <tessera/models/text/tokenizers.h>
#include <tessera/nn/nn.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/ops/ops.h>
#include <tessera/tensor/profile_span.h>
#include "examples/programs/confusion_counter.h"
#include "examples/programs/training.h"

namespace {

using namespace tessera;
using examples::TrainingCommand;
using models::SequenceClassifier;
using Lines = std::vector<text::LabelledText>;

constexpr double kLabelSmoothing = 0.1;

struct Options {
  std::string train, test;
  bool predict = false;
  bool probabilities = false;
  std::string tokenizer = "words";
  std::string pooling = "max";
  double word_dropout = 0.1;
  index_t vocab_size = 0;
  index_t max_words = 256;
  std::shared_ptr<examples::CutTexts> cut = std::make_shared<examples::CutTexts>();
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
Names names_of(const Lines& lines, const Lines& all_lines, const Options& o) {
  std::vector<std::string> labels = text::distinct_labels(all_lines);
  examples::require_classes(o.train, labels);
  std::vector<std::string> texts;
  for (const text::LabelledText& line : lines) texts.push_back(line.text);
  return {examples::named_tokenizer(o.tokenizer, texts, {.max_size = o.vocab_size}),
          std::move(labels)};
}

/// The numbers of a text's words begin with [CLS].
text::EncodeOptions encode_options(const Options& o) {
  return {.max_length = o.max_words + 1};
}

/// The examples of a file's lines. **Errors**: std::runtime_error with the file's line: a label
/// without a name.
std::vector<text::Example> examples_of(const Lines& lines, const std::string& file,
                                       const Names& names, const Options& o) {
  const ProfileScope scope("tokenize");
  const auto count_cut = [&](index_t texts, index_t tokens) { o.cut->add(texts, tokens); };
  return text::labelled_examples(lines, names.labels,
                                 {names.words.get(), encode_options(o), false, count_cut}, file);
}

/// Replaces words by [UNK] at random, so that the model learns to do without them, and a vector for
/// [UNK].
Tensor drop_words(const Tensor& ids, const text::SpecialTokens& special, double chance) {
  if (chance == 0) return ids;
  const Tensor drawn = bernoulli(1 - chance, ids.shape());
  const Tensor keep = logical_or(text::special_mask(ids, special), drawn);
  return where(keep, ids, full({}, static_cast<double>(special.unknown.value()), kInt64));
}

SequenceClassifier make_model(const TrainingCommand& command, const Names& names,
                              const Options& o) {
  const index_t classes = std::ssize(names.labels);
  command.check_size(names.words->size() + o.max_words + 1 + classes, 0, !o.train.empty());
  models::TokenEncoderOptions tokens =
      examples::token_encoder_options(command.options, names.words->size());
  tokens.max_positions = o.max_words + 1;
  tokens.positions = models::Positions::kLearned;  // as in BERT, with its norm
  tokens.embedding_norm = true;
  const ProfileScope scope("make model");
  manual_seed(command.options.seed);
  return SequenceClassifier({.token_encoder = tokens,
                             .num_labels = classes,
                             .pooling = models::Pooling::named(o.pooling),
                             .dropout = command.options.dropout});
}

/// The examples of the files of one call.
struct Files {
  std::vector<text::Example> train, held_out, test;
};

examples::ConfusionCounter confusion_of(const SequenceClassifier& model, const Names& names,
                                        const std::vector<text::Example>& lines) {
  return examples::confusion_of(lines, names.labels, {}, [&](const text::Batch& batch) {
    return model({batch.ids, batch.lengths});
  });
}

/// Trains to the end and loads the best weights; returns false if it was stopped before.
bool train(const TrainingCommand& command, const Options& o, const Names& names, const Files& files,
           SequenceClassifier& model) {
  std::cout << files.train.size() << " lines, " << names.words->size() << " words, "
            << names.labels.size() << " classes, " << nn::parameter_count(model) << " parameters";
  if (!files.held_out.empty()) std::cout << "; " << files.held_out.size() << " lines are held out";
  std::cout << std::endl;
  const auto training_loss = [&](const text::Batch& batch) {
    const Tensor ids = drop_words(batch.ids, names.words->special(), o.word_dropout);
    return nn::summed_cross_entropy(model({ids, batch.lengths}), batch.labels,
                                    {.label_smoothing = kLabelSmoothing});
  };
  const auto loss = [&](const text::Batch& batch) {
    return nn::summed_cross_entropy(model({batch.ids, batch.lengths}), batch.labels);
  };
  examples::Training training = {.train = runs::batched(files.train, training_loss),
                                 .notes = notes_of(names)};
  if (!files.held_out.empty()) training.held_out = runs::batched(files.held_out, loss);
  training.confusion = [&] {
    std::vector<pages::ConfusionMatrix> tables;
    for (const auto& [lines, title] : {std::pair(&files.held_out, "Held-out lines"),
                                       std::pair(&files.test, "Lines of --test")}) {
      if (lines->empty()) continue;
      tables.push_back(confusion_of(model, names, *lines).for_page(title));
    }
    return tables;
  };
  return command.train(model, training);
}

/// Prints the confusion matrix, and the accuracy as the last line.
void test(const SequenceClassifier& model, const Names& names,
          const std::vector<text::Example>& lines) {
  const examples::ConfusionCounter counts = confusion_of(model, names, lines);
  std::cout << '\n'
            << counts.table() << "\ntest macro F1 " << decimals(counts.macro_f1(), 4)
            << "\ntest accuracy " << decimals(counts.accuracy(), 4) << std::endl;
}

/// Prints each line of standard input, if there are any, after its class and, if requested, the
/// probabilities of all classes.
void predict(const SequenceClassifier& model, const Names& names, const Options& o) {
  if (o.probabilities) {
    std::cout << "class";
    for (const std::string& label : names.labels) std::cout << '\t' << label;
    std::cout << "\ttext" << std::endl;
  }
  const int first = std::getc(stdin);
  if (first == EOF && std::ferror(stdin) == 0) return;
  std::ungetc(first, stdin);
  for (const std::string& line : examples::input_lines("")) {
    const text::Encoding encoding = names.words->encode(line, encode_options(o));
    if (encoding.num_truncated > 0) o.cut->add(1, o.max_words + 1);
    const Tensor scores = model(from_vector(encoding.ids).unsqueeze(0)).select(0, 0);
    std::cout << names.labels[static_cast<std::size_t>(argmax(scores).item<index_t>())];
    if (o.probabilities) {
      for (const double p : softmax(scores).to(kFloat64).to_vector<double>()) {
        std::cout << '\t' << decimals(p, 4);
      }
    }
    std::cout << '\t' << line << '\n';
  }
}

/// Throws if the options contradict each other.
void check(const TrainingCommand& command, const Options& o) {
  const char* const name = "train_classifier";
  const bool trains = !o.train.empty();
  require(trains || command.resumed, name,
          "--train FILE, or --resume DIR of a trained model, must be given, got neither");
  require(trains || !o.test.empty() || o.predict, name,
          "--resume must be combined with --train FILE to continue, or with --test FILE or "
          "--predict to use the model");
  require(trains || command.options.held_out.empty(), name,
          "--held-out must be combined with --train FILE");
  require(trains || command.options.report.empty(), name,
          "--report must be combined with --train FILE");
  require(!o.probabilities || o.predict, name, "--probabilities must be combined with --predict");
}

void run(const TrainingCommand& command, const Options& o) {
  check(command, o);
  // All files are read before the training, so that their errors come first.
  Lines all_lines, held_out_lines;
  if (!o.train.empty()) all_lines = text::read_labelled_lines(o.train);
  Lines lines = all_lines;
  const std::string& held_out = command.options.held_out;
  if (!held_out.empty()) held_out_lines = text::read_labelled_lines(held_out);
  if (!o.train.empty() && command.options.held_out_share > 0) {
    held_out_lines = command.hold_out(lines);
  }
  const Names names =
      command.resumed ? names_from(*command.resumed) : names_of(lines, all_lines, o);
  Files files;
  if (!o.test.empty()) {
    files.test = examples_of(text::read_labelled_lines(o.test), o.test, names, o);
  }
  SequenceClassifier model = make_model(command, names, o);
  (void)text::label_numbers(all_lines, names.labels, o.train);  // an error names the file's line
  files.train = examples_of(lines, o.train, names, o);
  files.held_out = examples_of(held_out_lines, held_out, names, o);
  if (o.train.empty()) {
    nn::load_trained(*command.resumed, model);
    nn::eval(model);
  } else if (!train(command, o, names, files, model)) {
    return;
  }
  if (o.predict) predict(model, names, o);
  if (!files.test.empty()) test(model, names, files.test);
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  std::vector<std::string> poolings;
  for (const models::Pooling& pooling : models::Pooling::all()) poolings.emplace_back(pooling.name);
  TrainingCommand command(
      "train_classifier", "Trains a text classifier on lines of label<TAB>text.",
      {.layers = 1, .dropout = 0.3, .epochs = 4, .batch_size = 64, .learning_rate = 1e-3});
  o.cut->report_by(command);
  command.add_input("--train", o.train, "training file: lines of label<TAB>text");
  command.add_input("--test", o.test, "test file, evaluated at the end");
  command.add_held_out();
  command.add("--predict", o.predict, "classification of the lines of standard input");
  command.add("--probabilities", o.probabilities,
              "probability of each class in the output of --predict");
  command.add("--pooling", o.pooling, "pooling of the word vectors", poolings, examples::kKept);
  command.add("--word-dropout", o.word_dropout, "probability of dropping a word during training",
              {0, 1}, examples::kKept);
  command.add_input("--tokenizer", o.tokenizer, examples::kTokenizerHelp, examples::kKept);
  command.add("--vocabulary-size", o.vocab_size,
              "maximum vocabulary size; 0: all words, or 8000 subwords", {0, 10'000'000},
              examples::kKept);
  command.add("--max-words", o.max_words,
              "maximum number of words per line; longer lines are truncated", {1, 100'000},
              examples::kKept);
  return command.run(
      argc, argv, [&] { run(command, o); }, [&] { return !o.train.empty(); });
}
