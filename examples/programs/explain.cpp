// Says why a model gave its answer: what each token, head and layer adds to a score.
//
//   explain --model distilbert-sst2 --text "What a mess." --output why.html
//   explain --model all-MiniLM-L6-v2 --text "Who built Rome?" --with "Rome was built by Romulus."
//
// With one text the score is the logit of a class, with two it is the similarity of their embeddings.
// Rows are tokens and what they add, then the three heads without which the score falls most.
#include <algorithm>
#include <iostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "examples/programs/command.h"
#include "examples/programs/console.h"
#include "examples/programs/progress.h"
#include "models/hugging_face/sentence_encoder.h"
#include "models/hugging_face/text_classifier.h"
#include "models/inspect/inspect.h"
#include "models/pages/explanation_page.h"
#include "nn/hook.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/sort.h"

namespace {

using namespace tessera;

struct Options {
  std::string model, text, with, name_of_class, output;
  index_t points = 64;
  bool steps = false;
};

/// A text as a model reads it, and the score that it gets.
struct Subject {
  std::string name;
  const models::TextReader& reader;
  text::Encoding encoding;
  std::function<Tensor(const models::Tokens& tokens)> score;

  models::Tokens tokens(const std::vector<index_t>& ids) const {
    models::Tokens result = {.ids = from_vector(ids).unsqueeze(0)};
    if (reader.feeds_types) result.types = from_vector(encoding.types).unsqueeze(0);
    return result;
  }
  inspect::Score score_of(const std::vector<index_t>& ids) const {
    return [this, tokens = tokens(ids)] { return score(tokens); };
  }
};

/// The token that takes the place of all others in a text without content.
index_t blank_of(const text::Tokenizer& tokenizer) {
  const text::SpecialTokens& special = tokenizer.special();
  for (const auto& id : {special.mask, special.pad, special.unknown}) {
    if (id) return *id;
  }
  fail("explain", "--model must have a token for masks, padding or unknown words");
}

pages::ExplainedText explained(const Subject& subject, index_t points) {
  const text::Tokenizer& tokenizer = *subject.reader.tokenizer;
  const std::vector<index_t>& ids = subject.encoding.ids;
  pages::ExplainedText found = {.name = subject.name};
  std::vector<index_t> blank = ids;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    found.tokens.emplace_back(tokenizer.token(ids[t]));
    if (subject.encoding.texts[t] != text::kNoText) blank[t] = blank_of(tokenizer);
  }
  const inspect::Score score = subject.score_of(ids);
  const inspect::Score without = subject.score_of(blank);
  const auto words = inspect::record([&] { inspect::value_of(without); }, "embeddings.words");
  require(words.size() == 1, "explain", "--model must be a transformer, got static embeddings");
  const inspect::Attribution why =
      inspect::integrated_gradients(score, {.baseline = words.front().second, .points = points});
  found.added = why.rows.select(0, 0);
  found.score = why.score;
  found.baseline = why.baseline;
  found.error = why.error;
  found.heads = inspect::head_ablation(score);
  found.patches = inspect::value_of(score) - inspect::activation_patching(without, score).scores;
  return found;
}

/// The heads without which the score falls most.
void print_heads(const Tensor& heads) {
  constexpr index_t kMost = 3;
  const std::vector<index_t> order = argsort(heads.flatten(), -1, true).to_vector<index_t>();
  const auto count = static_cast<std::size_t>(std::min(kMost, heads.count()));
  for (const index_t number : std::span(order).first(count)) {
    const Dims place = {number / heads.size(1), number % heads.size(1)};
    std::cout << examples::fixed(heads.item_at(place), 4) << "\tlayer " << place[0] << " head "
              << place[1] << '\n';
  }
}

void print(const pages::ExplainedText& text) {
  std::cout << text.name << ": score " << examples::fixed(text.score, 4) << ", without content "
            << examples::fixed(text.baseline, 4) << ", error " << examples::fixed(text.error, 4)
            << '\n';
  for (std::size_t t = 0; t < text.tokens.size(); ++t) {
    std::cout << examples::fixed(text.added.item_at({static_cast<index_t>(t)}), 4) << '\t'
              << examples::escaped_line(text.tokens[t]) << '\n';
  }
  print_heads(text.heads);
}

void print_steps(const Subject& subject) {
  const std::vector<index_t>& ids = subject.encoding.ids;
  for (const nn::StepInfo& step : nn::steps_of([&] { inspect::value_of(subject.score_of(ids)); })) {
    std::cout << step.name << '\t' << step.shape << '\n';
  }
}

void explain(const std::vector<Subject>& subjects, const Options& o, const std::string& score) {
  if (o.steps) return print_steps(subjects.front());
  pages::Explanation page = {
      .title = "Why this score?",
      .about = o.model,
      .score = score,
      .no_content = str_cat(
          subjects.front().reader.tokenizer->token(blank_of(*subjects.front().reader.tokenizer)),
          " for each token"),
      .texts = {}};
  std::cout << score << '\n';
  for (const Subject& subject : subjects) {
    page.texts.push_back(explained(subject, o.points));
    print(page.texts.back());
  }
  if (!o.output.empty()) pages::write_explanation_page(o.output, page);
}

void explain_class(const Options& o) {
  const models::TextClassifier model = models::load_text_classifier(o.model);
  const text::Encoding encoding =
      model.reader.tokenizer->encode(o.text, model.reader.encode_options({}));
  const std::string likeliest = model(std::vector{o.text})[0][0].label;
  const std::string& wanted = o.name_of_class.empty() ? likeliest : o.name_of_class;
  const auto found = std::find(model.labels.begin(), model.labels.end(), wanted);
  if (found == model.labels.end()) {
    std::string names;
    for (const std::string& label : model.labels) names += (names.empty() ? "" : ", ") + label;
    fail("explain", "--class must be one of ", names, ", got ", printable(wanted));
  }
  const index_t number = found - model.labels.begin();
  const Subject subject = {"the text", model.reader, encoding,
                           [&model, number](const models::Tokens& tokens) {
                             return model.model(tokens).select(0, 0).select(0, number);
                           }};
  explain({subject}, o, "logit of " + wanted);
}

void explain_similarity(const Options& o) {
  const models::SentenceEncoder model = models::load_sentence_encoder(o.model);
  const auto subject = [&](const char* name, const std::string& text, const std::string& other) {
    const Tensor fixed = model.encode({other});
    return Subject{name, model.reader, model.encoding_of(text),
                   [&model, fixed](const models::Tokens& tokens) {
                     return model.similarity(model(tokens), fixed).select(0, 0).select(0, 0);
                   }};
  };
  explain({subject("the first text", o.text, o.with), subject("the second text", o.with, o.text)},
          o, "similarity of the two texts");
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command(
      "explain", "Explains a class of a text, or the similarity of two: what each token adds.");
  Options o;
  command.add_input("--model", o.model, "the model's folder").required();
  command.add("--text", o.text, "text to explain").required();
  command.add("--with", o.with, "second text, for the similarity of a sentence encoder");
  command.add("--class", o.name_of_class, "class of a classifier; the likeliest one if absent");
  command.add("--points", o.points, "points of integrated gradients", {2, examples::kMany});
  command.add("--steps", o.steps, "list of the model's steps and their shapes, nothing else");
  command.add_output("--output", o.output, "output page, .html: tokens, heads, layers");
  return command.run(argc, argv, [&] {
    require(o.with.empty() || o.name_of_class.empty(), "explain",
            "--class must be absent with --with, which compares two texts");
    return o.with.empty() ? explain_class(o) : explain_similarity(o);
  });
}
