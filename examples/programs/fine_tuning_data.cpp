#include "examples/programs/fine_tuning_data.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "examples/programs/cli.h"
#include "models/runs/text_examples.h"
#include "models/text/text_file.h"
#include "tensor/detail/parse_number.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::examples {

namespace {

/// The text before the first tab of a line.
std::string_view first_field(std::string_view line) {
  return line.substr(0, line.find('\t'));
}

/// Whether there are empty lines between lines whose last field is one word, a label.
bool looks_tagged(const std::vector<std::string>& lines) {
  bool has_empty = false;
  for (const std::string& line : lines) {
    has_empty = has_empty || line.empty();
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos && line.find_first_of(" \t", tab + 1) != std::string::npos) {
      return false;
    }
  }
  return has_empty;
}

bool has_two_texts(std::string_view line) {
  return std::ranges::count(line, '\t') == 2;
}

}  // namespace

std::vector<index_t> TextData::lengths() const {
  std::vector<index_t> lengths = text::lengths_of(examples);
  for (std::size_t i = 0; i < partners.size(); ++i) lengths[i] += std::ssize(partners[i].ids);
  return lengths;
}

std::uint64_t TextData::digest() const {
  return runs::digest_of(examples) ^ runs::digest_of(partners) * 5;
}

std::string guessed_task(const std::string& file, bool pair) {
  const std::vector<std::string> lines = text::read_lines(file);
  if (looks_tagged(lines)) return "tokens";
  if (!pair && std::ranges::all_of(lines, has_two_texts)) {
    fail_file(file, "lines must have 1 tab, got 2 in each; give --pair for a label and two texts, ",
              "or --task for texts with a tab");
  }
  std::set<std::string_view> labels;
  bool all_numbers = true;
  for (const std::string& line : lines) {
    labels.insert(first_field(line));
    double value = 0;
    const ParsedNumber label = parse_number(first_field(line), value);
    all_numbers = all_numbers && (label || label.is_out_of_range());
  }
  const auto has_fraction = [](std::string_view label) {
    return label.find('.') != std::string_view::npos;
  };
  if (all_numbers && std::ranges::any_of(labels, has_fraction)) return "regression";
  constexpr std::size_t kFew = 20;
  if (labels.size() > kFew && labels.size() > lines.size() / 2) {
    fail_file(file, "different labels must be at most half as many as the lines, got ",
              labels.size(), " labels in ", lines.size(),
              " lines; give --task if they are classes");
  }
  return "classification";
}

LabelledFile read_labelled_file(const std::string& file, bool pair) {
  return {file, pair ? text::read_labelled_pairs(file) : text::read_labelled_lines(file)};
}

TextData valued_texts(const LabelledFile& file, const text::TextEncoder& encode) {
  const std::vector<double> values = text::label_values(file.lines, file.name);
  TextData data = {text::encoded_examples(file.lines, encode, file.name)};
  for (std::size_t i = 0; i < values.size(); ++i) data.examples[i].label = values[i];
  return data;
}

TextData tagged_texts(const std::vector<text::TaggedText>& sentences,
                      const std::vector<std::string>& labels, const std::string& file,
                      const text::TextEncoder& encode) {
  const std::vector<std::vector<index_t>> numbers = text::label_numbers(sentences, labels, file);
  TextData data;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const text::TaggedText& sentence = sentences[i];
    const text::Encoding encoding = encode.tokenizer->encode(sentence.text, encode.options);
    if (encoding.ids.empty())
      fail_file(file, "line ", sentence.line, ": must have at least 1 token, got 0");
    data.examples.push_back(
        {.ids = encoding.ids, .label = text::token_labels(encoding, sentence.words, numbers[i])});
  }
  return data;
}

TextData paired_texts(const std::string& file, const text::TextEncoder& encode,
                      const std::function<std::string(const std::string&)>& clean) {
  std::vector<std::string> firsts, seconds;
  for (const text::TextPair& pair : text_pairs(text::read_lines(file), file)) {
    firsts.push_back(clean(pair.first));
    seconds.push_back(clean(pair.second));
    if (firsts.back().empty() || seconds.back().empty()) {
      fail_file(file, "line ", firsts.size(), ": both texts of a pair must be non-empty");
    }
  }
  const text::Tokenizer& tokenizer = *encode.tokenizer;
  TextData data;
  data.examples = text::encoded_examples(tokenizer.encode_all(firsts, encode.options), file);
  data.partners = text::encoded_examples(tokenizer.encode_all(seconds, encode.options), file);
  return data;
}

}  // namespace tessera::examples
