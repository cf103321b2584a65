#include "examples/programs/fine_tuning_data.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <tessera/models/hugging_face/sentence_encoder.h>
#include <tessera/models/runs/text_examples.h>
#include <tessera/models/text/text_file.h>
#include <tessera/tensor/detail/parse_number.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/io/file.h>
#include "examples/programs/cli.h"

namespace tessera::examples {

namespace {

/// Whether there are empty lines between lines whose last field is one word, a label.
bool looks_tagged(const std::vector<std::string>& lines) {
  const bool are_labels = std::ranges::all_of(lines, [](const std::string& line) {
    const std::size_t tab = line.find('\t');
    return tab == std::string::npos || line.find_first_of(" \t", tab + 1) == std::string::npos;
  });
  return are_labels && std::ranges::find(lines, "") != lines.end();
}

bool has_two_tabs(const std::string& line) {
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

void TextData::require_targets(const std::string& file) const {
  const auto has_target = [](const text::Example& example) {
    const auto* const labels = std::get_if<std::vector<index_t>>(&example.label);
    return labels == nullptr ||
           std::ranges::any_of(*labels, [](index_t label) { return label != text::kIgnoreIndex; });
  };
  if (std::ranges::any_of(examples, has_target)) return;
  fail_file(file, "must have at least 1 token with a label, got none");
}

std::string guessed_task(const std::string& file, bool pair) {
  const std::vector<std::string> lines = text::read_lines(file);
  if (looks_tagged(lines)) return "tokens";
  if (!pair && std::ranges::all_of(lines, has_two_tabs)) {
    fail_file(file, "lines must have 1 tab, got 2 in each; give --pair for a label and two texts, ",
              "or --task for texts with a tab");
  }
  std::set<std::string_view> labels;
  for (const std::string& line : lines) {
    labels.insert(std::string_view(line).substr(0, line.find('\t')));
  }
  const auto is_number = [](std::string_view label) {
    double value = 0;
    const ParsedNumber parsed = parse_number(label, value);
    return parsed || parsed.is_out_of_range();
  };
  const auto has_fraction = [](std::string_view label) {
    return label.find('.') != std::string_view::npos;
  };
  if (std::ranges::all_of(labels, is_number) && std::ranges::any_of(labels, has_fraction)) {
    return "regression";
  }
  constexpr std::size_t kFew = 20;
  if (labels.size() > kFew && labels.size() > lines.size() / 2) {
    fail_file(file, "different labels must be at most half as many as the lines, got ",
              labels.size(), " labels in ", lines.size(),
              " lines; give --task if they are classes");
  }
  return "classification";
}

TextData tagged_texts(const std::string& file, const std::vector<std::string>& labels,
                      const text::Tokenization& encode) {
  const std::vector<text::TaggedText> sentences = text::read_tagged_tokens(file);
  const std::vector<std::vector<index_t>> numbers = text::label_numbers(sentences, labels, file);
  std::vector<std::string> texts;
  for (const text::TaggedText& sentence : sentences) texts.push_back(sentence.text);
  const std::vector<text::Encoding> encodings = encode.encode_batch(texts);
  TextData data;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const text::TaggedText& sentence = sentences[i];
    const text::Encoding& encoding = encodings[i];
    if (encoding.ids.empty()) {
      fail_file(file, "line ", sentence.line, ": must have at least 1 token, got 0");
    }
    data.examples.push_back(
        {.ids = encoding.ids, .label = text::token_labels(encoding, sentence.words, numbers[i])});
  }
  return data;
}

TextData paired_texts(const std::string& file, const text::Tokenization& encode, bool lower_case) {
  std::vector<std::string> firsts, seconds;
  for (const text::TextPair& pair : text_pairs(text::read_lines(file), file)) {
    firsts.push_back(models::cleaned(pair.first, lower_case));
    seconds.push_back(models::cleaned(pair.second, lower_case));
    if (firsts.back().empty() || seconds.back().empty()) {
      fail_file(file, "line ", firsts.size(), ": both texts of a pair must be non-empty");
    }
  }
  return {text::encoded_examples(encode.encode_batch(firsts), file),
          text::encoded_examples(encode.encode_batch(seconds), file)};
}

}  // namespace tessera::examples
