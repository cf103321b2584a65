#include "examples/programs/classifier_data.h"

#include <utility>

#include "models/text/tokenizers.h"
#include "tensor/io/file.h"

namespace tessera::examples {

Names names_from(const nn::Checkpoint& checkpoint) {
  Names names{text::tokenizer_from_text(checkpoint.text("vocabulary"), checkpoint.file), {}};
  const std::string& labels = checkpoint.text("labels");
  for (std::size_t begin = 0; begin < labels.size();) {
    const std::size_t end = labels.find('\n', begin);
    names.labels.push_back(labels.substr(begin, end - begin));
    begin = end == std::string::npos ? end : end + 1;
  }
  if (names.labels.empty()) fail_file(checkpoint.file, "value 'labels' must not be empty");
  return names;
}

nn::Checkpoint notes_of(const Names& names) {
  nn::Checkpoint notes;
  notes.set("vocabulary", names.words->to_text());
  std::string labels;
  for (const std::string& label : names.labels) labels += label + '\n';
  notes.set("labels", labels);
  return notes;
}

std::vector<index_t> encode(const text::Tokenizer& words, const std::string& text,
                            index_t max_words) {
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

}  // namespace tessera::examples
