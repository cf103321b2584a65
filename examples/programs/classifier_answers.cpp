#include "examples/programs/classifier_answers.h"

#include <cstdio>
#include <iostream>
#include <sstream>

#include "examples/programs/command.h"
#include "examples/programs/progress.h"
#include "examples/programs/shared_lines.h"
#include "models/text/utf8.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/ops/ops.h"

namespace tessera::examples {

Confusion confusion_of(const models::SequenceClassifier& model,
                       std::span<const text::Example> examples) {
  const index_t classes = model.classifier.weight.size(0);
  return confusion_of(examples, classes, {}, [&](const text::Batch& batch) {
    return model({batch.ids, batch.lengths});
  });
}

void test(const models::SequenceClassifier& model, std::span<const text::Example> examples,
          const std::vector<std::string>& labels) {
  const Confusion counts = confusion_of(model, examples);
  std::cout << '\n';
  counts.print(std::cout, labels);
  std::cout << '\n';
  std::cout << "test macro F1 " << fixed(counts.macro_f1(), 4) << "\ntest accuracy "
            << fixed(counts.accuracy(), 4) << std::endl;
}

namespace {

/// The class of one text and, if they are wanted, the probabilities of all, a tab in front of each.
std::string answer(const models::SequenceClassifier& model, const Names& names,
                   const std::string& line, const PredictOptions& options) {
  const Tensor tokens = from_vector(encode(*names.words, line, options.max_words)).unsqueeze(0);
  const Tensor scores = model(tokens);
  std::string text = names.labels[static_cast<std::size_t>(argmax(scores, {-1}).item<index_t>())];
  if (!options.probabilities) return text;
  for (const double p : softmax(scores).flatten().to(kFloat64).to_vector<double>()) {
    text += '\t' + fixed(p, 4);
  }
  return text;
}

/// Calls `body` with each line of what standard input gives. **Errors**: one that is not UTF-8.
template <class Body>
void for_each_line(std::istream& input, const Body& body) {
  index_t number = 0;
  for (std::string line; std::getline(input, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (number == 1 && line.starts_with(text::kByteOrderMark)) {
      line.erase(0, text::kByteOrderMark.size());
    }
    if (text::find_invalid_utf8(line) != std::string::npos) {
      fail_file("standard input", "line ", number, ": must be UTF-8");
    }
    body(line);
  }
}

/// As one process prints lines, of which each of several answers its share.
void predict_together(const models::SequenceClassifier& model, const Names& names,
                      const PredictOptions& options) {
  std::istringstream input(standard_input());
  std::vector<std::string> lines;
  for_each_line(input, [&](const std::string& line) { lines.push_back(line); });
  print_share([&](std::ostream& out) {
    for (const std::string& line : own_share(lines).items) {
      out << answer(model, names, line, options) << '\t' << line << '\n';
    }
  });
}

}  // namespace

void predict(const models::SequenceClassifier& model, const Names& names,
             const PredictOptions& options) {
  if (options.probabilities) {
    std::cout << "class";
    for (const std::string& label : names.labels) std::cout << '\t' << label;
    std::cout << "\ttext" << std::endl;
  }
  if (processes().size() > 1) {
    predict_together(model, names, options);
    return;
  }
  for_each_line(std::cin, [&](const std::string& line) {
    std::cout << answer(model, names, line, options) << '\t' << line << std::endl;
  });
  // The stream itself takes an error of C's, on which it rests, for the end.
  if (!std::cin.eof() || std::ferror(stdin) != 0) fail_file("standard input", "cannot be read");
}

}  // namespace tessera::examples
