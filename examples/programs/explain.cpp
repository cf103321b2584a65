// Says why a model gave its answer: what each token, head and layer adds to a score.
//
//   explain --model distilbert-sst2 --text "What a mess." --output why.html
//   explain --model all-MiniLM-L6-v2 --text "Who built Rome?" --with "Rome was built by Romulus."
//
// The score of a classifier is the logit of a class of a text or a pair; that of a sentence encoder
// is the similarity of two texts.
// Rows are tokens and what they add, then the three heads without which the score falls most.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tessera/models/hugging_face/detail/heads.h>
#include <tessera/models/hugging_face/sentence_encoder.h>
#include <tessera/models/hugging_face/text_classifier.h>
#include <tessera/models/inspect/inspect.h>
#include <tessera/models/pages/explanation_page.h>
#include <tessera/models/pages/page.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/ops/arithmetic.h>
#include <tessera/tensor/ops/reduce.h>
#include "examples/programs/cli.h"

namespace {

using namespace tessera;

struct Options {
  std::string model, text, with, name_of_class, output;
  index_t points = 64;
  std::shared_ptr<examples::CutTexts> cut = std::make_shared<examples::CutTexts>();
};

/// A text as a model reads it, and the score that its tokens get.
struct Subject {
  std::string name, heading;
  const models::TextReader& reader;
  text::Encoding encoding;
  std::function<Tensor(const models::Tokens& tokens)> scores;  // (1, C)
  index_t number = 0;                                          // of the score to explain
  models::Scoring scoring = models::Scoring::kNone;

  inspect::Score score_of(const text::Encoding& read) const {
    return [this, tokens = reader.tokens(read)] {
      return scores(tokens).select(0, 0).select(0, number);
    };
  }
  /// Runs the model; returns the probability that belongs to the score, if there is one.
  std::optional<double> probability_of(const text::Encoding& read) const {
    const double value = inspect::value_of([&] {
      return scored(scoring, scores(reader.tokens(read))).select(0, 0).select(0, number);
    });
    return scoring == models::Scoring::kNone ? std::nullopt : std::optional(value);
  }
};

/// The token of the baseline: a mask, else padding, else an unknown word.
index_t baseline_token(const text::Tokenizer& tokenizer) {
  const text::SpecialTokens& special = tokenizer.special();
  for (const auto& id : {special.mask, special.pad, special.unknown}) {
    if (id) return *id;
  }
  fail("explain", "--model must have a token for masks, padding or unknown words, got none");
}

/// The encoding with the baseline's token in the place of each token of a text.
text::Encoding baseline_of(const Subject& subject) {
  const index_t token = baseline_token(*subject.reader.tokenizer);
  text::Encoding baseline = subject.encoding;
  for (std::size_t t = 0; t < baseline.ids.size(); ++t) {
    if (baseline.sequence_ids[t] != text::kNoText) baseline.ids[t] = token;
  }
  return baseline;
}

/// Patches, which take most of the time, only if there is a page that shows them.
pages::ExplainedText explained(const Subject& subject, index_t points, bool has_page) {
  pages::ExplainedText found = {.name = subject.heading};
  for (const index_t id : subject.encoding.ids) {
    found.tokens.emplace_back(subject.reader.tokenizer->token(id));
  }
  const text::Encoding masked = baseline_of(subject);
  const inspect::Score baseline = subject.score_of(masked);
  const auto words = inspect::record(
      [&] { found.baseline_probability = subject.probability_of(masked); }, "embeddings.words");
  require(words.size() == 1, "explain", "--model must be a transformer, got static embeddings");
  const auto [layers, heads] = inspect::count_heads(
      "explain", [&] { found.probability = subject.probability_of(subject.encoding); });
  const inspect::Score uncounted = subject.score_of(subject.encoding);
  examples::Progress progress("passes");
  const index_t tokens = std::ssize(found.tokens);
  const index_t all = points + layers * heads + (has_page ? layers * tokens : 0);
  index_t done = 0;
  const inspect::Score score = [&] {
    progress.show(std::min(++done, all), all);
    return uncounted();
  };
  const inspect::Attribution why =
      inspect::integrated_gradients(score, {.baseline = words.front().second, .points = points});
  found.added = why.rows.select(0, 0);
  found.score = why.score;
  found.baseline = why.baseline;
  found.error = why.error;
  found.heads = inspect::head_ablation(score);
  if (has_page) {
    const inspect::Patching patching = inspect::activation_patching(baseline, score);
    found.patches = patching.to - patching.scores;
  }
  return found;
}

/// The tokens, and the heads without which the score falls most.
void print(const std::string& name, const pages::ExplainedText& text) {
  std::cout << name << ": score " << decimals(text.score, 4) << ", of the baseline "
            << decimals(text.baseline, 4) << ", error " << decimals(text.error, 4);
  if (text.probability && text.baseline_probability) {
    std::cout << ", probability " << decimals(*text.probability, 4) << ", of the baseline "
              << decimals(*text.baseline_probability, 4);
  }
  std::cout << '\n';
  for (std::size_t t = 0; t < text.tokens.size(); ++t) {
    std::cout << decimals(text.added.item_at({static_cast<index_t>(t)}), 4) << '\t'
              << examples::escaped_line(text.tokens[t]) << '\n';
  }
  std::cout << "without one head, the score falls by (largest of " << text.heads.count()
            << " heads)\n";
  for (const auto& [layer, head, drop] : pages::top_heads(text.heads)) {
    std::cout << decimals(drop, 4) << "\tlayer " << layer << " head " << head << '\n';
  }
}

void explain(const std::vector<Subject>& subjects, const Options& o, const std::string& score) {
  const text::Tokenizer& tokenizer = *subjects.front().reader.tokenizer;
  pages::Explanation page = {
      .title = "Why this score?",
      .about = o.model,
      .score = score,
      .baseline = str_cat(tokenizer.token(baseline_token(tokenizer)), " for each token"),
      .texts = {}};
  std::cout << score << '\n';
  for (const Subject& subject : subjects) {
    if (subject.encoding.num_truncated > 0) o.cut->add(1, std::ssize(subject.encoding.ids));
    page.texts.push_back(explained(subject, o.points, !o.output.empty()));
    print(subject.name, page.texts.back());
  }
  if (!o.output.empty()) pages::write_explanation_page(o.output, page);
}

std::string quoted(const std::string& text) {
  return "\u201c" + text + "\u201d";
}

using Warn = std::function<void(const std::string& warning)>;

void explain_class(const Options& o, const Warn& warn) {
  const models::TextClassifier model = models::load_text_classifier(o.model);
  for (const std::string& warning : model.reader.warnings) warn(warning);
  const text::Tokenizer& tokenizer = *model.reader.tokenizer;
  const text::EncodeOptions encode = model.reader.encode_options({});
  const text::Encoding encoding = o.with.empty() ? tokenizer.encode(o.text, encode)
                                                 : tokenizer.encode_pair(o.text, o.with, encode);
  const Tensor logits = model.logits(std::span(&encoding, 1));
  const std::string likeliest =
      model.labels[static_cast<std::size_t>(argmax(logits).item<index_t>())];
  const std::string& wanted = o.name_of_class.empty() ? likeliest : o.name_of_class;
  const auto found = std::find(model.labels.begin(), model.labels.end(), wanted);
  if (found == model.labels.end()) {
    std::string names;
    for (const std::string& label : model.labels) names += (names.empty() ? "" : ", ") + label;
    fail("explain", "--class must be one of ", names, ", got ", printable(wanted));
  }
  const bool is_pair = !o.with.empty();
  const Subject subject = {
      .name = is_pair ? "the pair" : "the text",
      .heading = is_pair ? quoted(o.text) + " with " + quoted(o.with) : quoted(o.text),
      .reader = model.reader,
      .encoding = encoding,
      .scores = [&model](const models::Tokens& tokens) { return model.model(tokens); },
      .number = found - model.labels.begin(),
      .scoring = model.scoring};
  explain({subject}, o, "logit of " + wanted);
}

void explain_similarity(const Options& o, const Warn& warn) {
  const models::SentenceEncoder model = models::load_sentence_encoder(o.model);
  for (const std::string& warning : model.reader.warnings) warn(warning);
  const index_t prompt = model.prompt_tokens();
  const auto subject = [&](const char* name, const std::string& text, const std::string& other) {
    const Tensor fixed = model.encode({other});
    return Subject{name, quoted(text), model.reader, model.tokenize(text),
                   [&model, fixed, prompt](const models::Tokens& tokens) {
                     return model.similarity(model(tokens, prompt), fixed);
                   }};
  };
  explain({subject("the first text", o.text, o.with), subject("the second text", o.with, o.text)},
          o, "similarity of the two texts");
}

/// Whether the folder is a sentence encoder, which lists its modules; others are classifiers.
bool is_sentence_encoder(const std::string& folder) {
  return std::filesystem::exists(std::filesystem::path(folder) / "modules.json");
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command(
      "explain", "Explains a class of a text or a pair, or the similarity of two texts.");
  Options o;
  command.add_input("--model", o.model, "folder of the model", examples::kRequired);
  command.add("--text", o.text, "text to explain", examples::kRequired);
  command.add("--with", o.with,
              "second text of a pair, or to compare with if the model is a sentence encoder");
  command.add("--class", o.name_of_class, "class of a classifier; the most probable one if absent");
  command.add("--points", o.points, "gradient evaluations per text", {2, examples::kMany});
  command.add_output("--output", o.output,
                     "output file for a page of tokens, heads and layers, .html");
  o.cut->report_by(command);
  return command.run(argc, argv, [&] {
    require(o.output.empty() || pages::is_page(o.output), "--output", "must end in .html, got ",
            printable(o.output));
    const auto warn = [&](const std::string& warning) { command.warn(warning); };
    if (!is_sentence_encoder(o.model)) return explain_class(o, warn);
    require(!o.with.empty() && o.name_of_class.empty(), "explain",
            "--with must be given, and --class must not, if --model is a sentence encoder, got ",
            o.with.empty() ? "no --with" : "--class");
    explain_similarity(o, warn);
  });
}
