// An encoder, and a linear model beside it, learn to sort lines of text into classes.
//
//   train_classifier --train train.tsv --test test.tsv --save run
//   train_classifier --resume run --predict < lines.txt
//
// A line of a file is a label, a tab and the text. Options: --help.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "examples/plan.h"
#include "examples/training.h"
#include "models/models.h"
#include "models/text/utf8.h"
#include "nn/nn.h"
#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/ops.h"

namespace {

using namespace tessera;
using text::Tokenizer;

struct ClassifierOptions {
  std::string train;
  std::string test;
  std::string valid;
  double valid_share = 0;
  bool predict = false;
  std::string pooling = "max";
  double word_dropout = 0.1;
  double label_smoothing = 0;
  double embedding_scale = 0.4;  // rare words hardly leave their random start
  double pair_share = 0.8;
  index_t min_count = 1;
  index_t max_words = 256;
};

/// What a line of text means to the model: the names of its words and classes.
struct Names {
  std::unique_ptr<Tokenizer> words;
  std::vector<std::string> labels;
};

Names names_from(const nn::Checkpoint& checkpoint) {
  Names names{text::tokenizer_from_text(checkpoint.text("vocabulary"), checkpoint.file), {}};
  const std::string& labels = checkpoint.text("labels");
  for (std::size_t begin = 0; begin < labels.size();) {
    const std::size_t end = labels.find('\n', begin);
    names.labels.push_back(labels.substr(begin, end - begin));
    begin = end == std::string::npos ? end : end + 1;
  }
  if (names.labels.empty()) fail_file(checkpoint.file, "its value 'labels' is empty");
  return names;
}

Names names_of(const std::vector<text::LabelledText>& lines, const ClassifierOptions& options) {
  std::vector<std::string> texts;
  for (const text::LabelledText& line : lines) texts.push_back(line.text);
  return {text::make_tokenizer("words", texts, {.min_count = options.min_count}),
          text::distinct_labels(lines)};
}

/// The notes from which names_from makes the names again.
nn::Checkpoint notes_of(const Names& names) {
  nn::Checkpoint notes;
  notes.set("vocabulary", names.words->to_text());
  std::string labels;
  for (const std::string& label : names.labels) labels += label + '\n';
  notes.set("labels", labels);
  return notes;
}

/// The numbers of a text's words behind [CLS].
std::vector<index_t> encode(const Tokenizer& words, const std::string& text, index_t max_words) {
  return words.encode(text, {.max_length = max_words + 1}).ids;
}

std::vector<text::Example> examples_of(const std::vector<text::LabelledText>& lines,
                                       const std::string& file, const Names& names,
                                       index_t max_words) {
  const std::vector<index_t> labels = text::label_numbers(lines, names.labels, file);
  std::vector<text::Example> examples;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    examples.push_back({encode(*names.words, lines[i].text, max_words), labels[i]});
  }
  return examples;
}

/// Words replaced by [UNK] at random, so that the model learns to do without, and what [UNK] is.
Tensor drop_words(const Tensor& ids, const text::SpecialTokens& special, double chance) {
  if (chance == 0) return ids;
  const Tensor drawn = bernoulli(ids.shape(), 1 - chance);
  const Tensor keep = logical_or(text::special_mask(ids, special), drawn);
  return where(keep, ids, full({}, static_cast<double>(special.unknown.value()), kInt64));
}

/// An encoder and, beside it, a linear model of words and pairs. They learn side by side and vote.
struct Classifier {
  models::SequenceClassifier encoder;
  std::optional<models::PairClassifier> pairs;
  double pair_share;

  Tensor operator()(const Tensor& tokens, const Tensor& lengths = {}) const {
    return vote(encoder({tokens, lengths}), pairs ? (*pairs)(tokens, lengths) : Tensor());
  }

  /// The logarithms of both models' probabilities, `pair_share` of the linear one's: (B, C).
  Tensor vote(const Tensor& scores, const Tensor& pair_scores) const {
    if (!pairs) return scores;
    return log_softmax(scores) * (1 - pair_share) + log_softmax(pair_scores) * pair_share;
  }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    models::SequenceClassifier::visit(self.encoder, visitor);
    visitor("pairs", self.pairs);
  }
};

/// The class of each example.
std::vector<index_t> classes_of(const Classifier& model,
                                const std::vector<text::Example>& examples) {
  nn::BatchSampler sampler(text::lengths_of(examples), {.batch_size = 64, .shuffle = false});
  std::vector<index_t> classes(examples.size());
  while (sampler.epoch() == 0) {
    const std::span<const index_t> chosen = sampler.next();
    const text::Batch batch = text::make_batch(examples, chosen);
    const Tensor best = argmax(model(batch.ids, batch.lengths), {-1});
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      classes[static_cast<std::size_t>(chosen[i])] =
          best.item_at<index_t>({static_cast<index_t>(i)});
    }
  }
  return classes;
}

/// How often the model says what of which label, where that is a table that people can read.
void print_table(const std::vector<text::Example>& examples, const std::vector<index_t>& classes,
                 const std::vector<std::string>& labels) {
  constexpr std::size_t kMostColumns = 1000;
  std::size_t width = 6;
  for (const std::string& label : labels) width = std::max(width, label.size() + 1);
  if (width > kMostColumns / (labels.size() + 1)) {
    std::cout << "\na table of " << labels.size() << " labels is too wide to be read";
    return;
  }
  std::vector<std::vector<index_t>> counts(labels.size(), std::vector<index_t>(labels.size()));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    ++counts[static_cast<std::size_t>(text::class_of(examples[i]))]
            [static_cast<std::size_t>(classes[i])];
  }
  const auto cell = [&](const std::string& text) {
    std::cout << std::string(width - std::min(width, text.size()), ' ') << text;
  };
  std::cout << "\nrows: the label, columns: what the model says\n\n";
  cell("");
  for (const std::string& label : labels) cell(label);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    std::cout << '\n';
    cell(labels[row]);
    for (index_t count : counts[row]) cell(std::to_string(count));
  }
}

/// The table of labels, and the accuracy as the last line.
void test(const Classifier& model, const std::vector<text::Example>& examples,
          const std::vector<std::string>& labels) {
  const std::vector<index_t> classes = classes_of(model, examples);
  index_t correct = 0;
  for (std::size_t i = 0; i < examples.size(); ++i)
    correct += text::class_of(examples[i]) == classes[i];
  print_table(examples, classes, labels);
  const double accuracy = static_cast<double>(correct) / static_cast<double>(examples.size());
  std::cout << "\n\ntest accuracy " << examples::fixed(accuracy, 4) << std::endl;
}

/// Prints each line of standard input with the class that the model gives it in front.
void predict(const Classifier& model, const Names& names, index_t max_words) {
  index_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (number == 1 && line.starts_with(text::kByteOrderMark)) {
      line.erase(0, text::kByteOrderMark.size());
    }
    if (text::find_invalid_utf8(line) != std::string::npos) {
      fail_file("standard input", "line ", number, " is not UTF-8");
    }
    const Tensor tokens = from_vector(encode(*names.words, line, max_words)).unsqueeze(0);
    const auto best = argmax(model(tokens), {-1}).item<index_t>();
    std::cout << names.labels[static_cast<std::size_t>(best)] << '\t' << line << std::endl;
  }
  // The stream itself takes an error of C's, on which it rests, for the end.
  if (!std::cin.eof() || std::ferror(stdin) != 0) fail_file("standard input", "cannot read it");
}

/// Scores for words and pairs: as many rows for pairs as memory for the scores of words leaves.
models::PairClassifierOptions pair_options(index_t words, index_t classes) {
  constexpr index_t kMostScores = index_t{16} << 20;  // AdamW keeps two more numbers of each
  constexpr index_t kFewestRows = 1024;
  const index_t rows = kMostScores / classes - words;
  require(rows >= kFewestRows, "train_classifier", words, " words for ", classes,
          " classes are too many scores; --pair-share 0 trains the encoder alone");
  models::PairClassifierOptions options = {.vocabulary_size = words, .classes = classes};
  options.buckets = std::min(options.buckets, rows);
  return options;
}

Classifier make_model(const examples::Program& program, const Names& names,
                      const ClassifierOptions& c) {
  const examples::TrainingOptions& o = program.options;
  const index_t classes = std::ssize(names.labels);
  const auto pairs =
      c.pair_share > 0 ? std::optional(pair_options(names.words->size(), classes)) : std::nullopt;
  const std::string vocabulary = format("--min-count ", c.min_count);
  examples::Plan plan = examples::plan_of(program, names.words->size(), vocabulary);
  plan.push_back({"classifier.weight", {classes, o.width}, {format("--width ", o.width)}});
  if (pairs) {
    plan.push_back({"pairs.weight",
                    {names.words->size() + pairs->buckets, classes},
                    {format("--pair-share ", c.pair_share), vocabulary}});
  }
  examples::check_plan(program, plan, !c.train.empty());
  examples::check_positions(program, "--max-words", c.max_words + 1);
  models::TokenEncoderOptions tokens = examples::token_encoder_options(o, names.words->size());
  tokens.max_tokens = c.max_words + 1;
  tokens.embedding_scale = c.embedding_scale;

  manual_seed(o.seed);
  Classifier model{models::SequenceClassifier({.tokens = tokens,
                                               .classes = classes,
                                               .pooling = models::Pooling::named(c.pooling),
                                               .dropout = o.dropout}),
                   {},
                   c.pair_share};
  if (pairs) model.pairs = models::PairClassifier(*pairs);
  return model;
}

/// The loss of the chosen examples, some of whose words are hidden.
nn::LossSum loss_of(const Classifier& model, const text::SpecialTokens& special,
                    const std::vector<text::Example>& examples, std::span<const index_t> chosen,
                    double word_dropout, double smoothing) {
  const text::Batch batch = text::make_batch(examples, chosen);
  const Tensor seen = drop_words(batch.ids, special, word_dropout);
  const Tensor scores = model.encoder({seen, batch.lengths});
  nn::LossSum sum = nn::summed_cross_entropy(scores, batch.labels, {.label_smoothing = smoothing});
  if (!model.pairs) return sum;
  const Tensor pair_scores = (*model.pairs)(batch.ids, batch.lengths);
  sum.loss = sum.loss + nn::summed_cross_entropy(pair_scores, batch.labels).loss;
  const NoGrad counting_only;
  const Tensor votes = model.vote(scores, pair_scores);
  sum.correct = tessera::sum(eq(argmax(votes, {-1}), batch.labels)).item();
  return sum;
}

/// Trains to the end and takes the best weights; false if it was stopped before.
bool train(const examples::Program& program, const ClassifierOptions& c, const Names& names,
           const std::vector<text::LabelledText>& lines,
           const std::vector<text::LabelledText>& valid_lines, Classifier& model) {
  const auto examples = examples_of(lines, c.train, names, c.max_words);
  const auto valid = examples_of(valid_lines, c.valid, names, c.max_words);
  std::cout << lines.size() << " lines, " << names.words->size() << " words, "
            << names.labels.size() << " classes, " << nn::parameter_count(model) << " parameters";
  if (!valid.empty()) std::cout << "; " << valid.size() << " lines are held out";
  std::cout << std::endl;
  examples::Lesson lesson = {.train = {text::lengths_of(examples),
                                       [&](std::span<const index_t> chosen) {
                                         return loss_of(model, names.words->special(), examples,
                                                        chosen, c.word_dropout, c.label_smoothing);
                                       }},
                             .digest = examples::digest_of(examples),
                             .notes = notes_of(names)};
  if (!valid.empty()) {
    lesson.held_out = {text::lengths_of(valid), [&](std::span<const index_t> chosen) {
                         return loss_of(model, names.words->special(), valid, chosen, 0, 0);
                       }};
    lesson.digest ^= examples::digest_of(valid) * 3;
  }
  examples::Training training(program, model, std::move(lesson));
  if (!training.run()) return false;
  training.take_trained(model);
  return true;
}

/// Moves a share of the lines, chosen at random, out of `lines`.
std::vector<text::LabelledText> hold_out(std::vector<text::LabelledText>& lines, double share,
                                         std::uint64_t seed) {
  constexpr std::uint64_t kStream = 3;
  Rng rng(seed, kStream);
  const Tensor order = permutation(std::ssize(lines), rng);
  const auto count = static_cast<index_t>(share * static_cast<double>(lines.size()));
  std::vector<text::LabelledText> held, kept;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_held = order.item_at<index_t>({static_cast<index_t>(i)}) < count;
    (is_held ? held : kept).push_back(std::move(lines[i]));
  }
  lines = std::move(kept);
  return held;
}

/// The held-out lines that the options ask for.
std::vector<text::LabelledText> valid_lines_of(const examples::Program& program,
                                               const ClassifierOptions& c,
                                               std::vector<text::LabelledText>& lines) {
  std::vector<text::LabelledText> valid;
  require(c.valid.empty() || c.valid_share == 0, "train_classifier",
          "--valid and --valid-share say twice what is held out");
  if (!c.valid.empty()) valid = text::read_labelled_lines(c.valid);
  if (c.valid_share > 0) {
    valid = hold_out(lines, c.valid_share, program.options.seed);
    require(!valid.empty(), "train_classifier", "--valid-share ", c.valid_share, " of ",
            lines.size(), " lines is none");
  }
  require(!valid.empty() || program.options.patience == 0, "train_classifier",
          "--patience needs held-out lines: --valid FILE or --valid-share");
  return valid;
}

void run(const examples::Program& program, const ClassifierOptions& c) {
  require(!c.train.empty() || program.resumed, "train_classifier",
          "--train FILE is missing, or --resume DIR of a trained model");
  require(
      !c.train.empty() || !c.test.empty() || c.predict, "train_classifier",
      "nothing to do: --train FILE goes on with the training, --test FILE and --predict use it");
  // The files are read before anything is trained, so that no error waits for the end.
  std::vector<text::LabelledText> lines;
  std::vector<text::LabelledText> valid;
  if (!c.train.empty()) {
    lines = text::read_labelled_lines(c.train);
    valid = valid_lines_of(program, c, lines);
  }
  const Names names = program.resumed ? names_from(*program.resumed) : names_of(lines, c);
  std::vector<text::Example> tested;
  if (!c.test.empty()) {
    tested = examples_of(text::read_labelled_lines(c.test), c.test, names, c.max_words);
  }

  Classifier model = make_model(program, names, c);
  if (c.train.empty()) {
    nn::load_trained(*program.resumed, model);
  } else if (!train(program, c, names, lines, valid, model)) {
    return;
  }
  nn::eval(model);
  if (c.predict) predict(model, names, c.max_words);
  if (!tested.empty()) test(model, tested, names.labels);
}

}  // namespace

int main(int argc, char** argv) {
  ClassifierOptions c;
  examples::Program program("train_classifier",
                            "Learns to sort lines of text into classes, from lines label<TAB>text.",
                            {.layers = 1,
                             .dropout = 0.3,
                             .epochs = 8,
                             .batch_size = 64,
                             .learning_rate = 1e-3,
                             .weight_decay = 0.05});
  program.add_file("--train", c.train, "file of lines to learn from: label<TAB>text");
  program.add_file("--test", c.test, "file of lines to be tested on at the end");
  program.add_file("--valid", c.valid, "file of lines to be asked about after each epoch");
  program.add("--valid-share", c.valid_share, "share of --train that is held out instead",
              {0, 0.9});
  program.add("--patience", program.options.patience,
              "end after so many epochs that are no better on them; 0: never", {0, 1'000'000});
  program.add_for_call("--predict", c.predict, "name the class of each line of standard input");
  program.add("--pooling", c.pooling, "how the words' vectors become one", {"mean", "cls", "max"});
  program.add("--word-dropout", c.word_dropout, "chance of a word to be hidden in training",
              {0, 1});
  program.add("--label-smoothing", c.label_smoothing, "share of a label spread over all classes",
              {0, 1});
  program.add("--embedding-scale", c.embedding_scale, "of words beside their positions at first",
              {1e-6, 1e6});
  program.add("--pair-share", c.pair_share,
              "of a linear model of words and pairs in the vote; 0: none", {0, 1});
  program.add("--min-count", c.min_count, "rarer words are unknown", {1, 1'000'000});
  program.add("--max-words", c.max_words, "a line is cut behind so many", {1, 100'000});
  return program.run(argc, argv, [&] { run(program, c); });
}
