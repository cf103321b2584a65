#include "tessera/models/text/labelled_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "tessera/models/text/text_file.h"
#include "tessera/tensor/detail/parse_number.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::text {

namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

/// A line of a file, and its fields between tabs.
struct Line {
  const std::string& file;
  std::size_t number;
  const std::string& text;
  const char* wanted;  // for errors: the form of a line

  template <class... Parts>
  [[noreturn]] void fail_here(const Parts&... parts) const {
    fail_file(file, "line ", number, parts...);
  }

  /// As many fields as `names`, none of them blank. The last one may contain tabs if
  /// `tabs_in_last`.
  std::vector<std::string> fields(std::span<const char* const> names, bool tabs_in_last) const {
    if (text.empty()) fail_here(": must be ", wanted, ", got an empty line");
    std::vector<std::string> found;
    for (std::size_t at = 0; at <= text.size(); at += found.back().size() + 1) {
      const bool takes_rest = tabs_in_last && found.size() + 1 == names.size();
      const std::size_t end = takes_rest ? text.size() : std::min(text.find('\t', at), text.size());
      found.push_back(text.substr(at, end - at));
    }
    if (found.size() != names.size()) {
      const std::size_t tabs = found.size() - 1;
      const std::string count = tabs == 0 ? "no tab" : str_cat(tabs, tabs == 1 ? " tab" : " tabs");
      fail_here(": must be ", wanted, ", got ", count, " in ", printable(text));
    }
    std::size_t byte = 1;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (is_blank(found[i])) {
        fail_here(", byte ", byte, ": the ", names[i],
                  i == 0 ? std::string(" before the tab")
                         : str_cat(" after the ", names[i - 1], ' ', printable(found[i - 1])),
                  " must not be blank, got ", printable(found[i]));
      }
      byte += found[i].size() + 1;
    }
    return found;
  }
};

std::vector<std::string> labels_of(const std::vector<LabelledText>& examples) {
  std::vector<std::string> labels;
  for (const LabelledText& example : examples) labels.push_back(example.label);
  return labels;
}

std::vector<std::string> sorted(const std::vector<std::string>& labels) {
  const std::set<std::string> different(labels.begin(), labels.end());
  return {different.begin(), different.end()};
}

/// Numbers labels by their position in a list.
class LabelNumbers {
 public:
  LabelNumbers(const std::vector<std::string>& labels, const std::string& file)
      : labels_(labels), file_(file) {
    for (const std::string& label : labels) {
      const bool is_new = number_of_.emplace(label, std::ssize(number_of_)).second;
      require(is_new, "label_numbers", "labels must be different, got ", printable(label),
              " twice");
    }
  }

  index_t operator()(const std::string& label, index_t line) const {
    const auto found = number_of_.find(label);
    if (found != number_of_.end()) return found->second;
    std::string known;
    for (const std::string& each : labels_) known += (known.empty() ? "" : ", ") + each;
    fail_file(file_, "line ", line, ": label must be one of ", printable(known), ", got ",
              printable(label));
  }

  /// The numbers of labels in consecutive lines.
  std::vector<index_t> operator()(const std::vector<std::string>& labels, index_t line) const {
    std::vector<index_t> numbers;
    for (const std::string& label : labels) numbers.push_back((*this)(label, line++));
    return numbers;
  }

 private:
  const std::vector<std::string>& labels_;
  const std::string& file_;
  std::map<std::string_view, index_t> number_of_;
};

}  // namespace

std::vector<LabelledText> read_labelled_lines(const std::filesystem::path& path) {
  const ProfileScope scope("read examples");
  const std::string name = path.string();
  constexpr const char* kFields[] = {"label", "text"};
  std::vector<LabelledText> examples;
  for (const std::string& text : read_lines(path)) {
    const Line line{name, examples.size() + 1, text, "a label, a tab and a text"};
    std::vector<std::string> fields = line.fields(kFields, true);
    examples.push_back({std::move(fields[0]), std::move(fields[1])});
  }
  return examples;
}

std::vector<LabelledText> read_labelled_pairs(const std::filesystem::path& path) {
  const ProfileScope scope("read examples");
  const std::string name = path.string();
  constexpr const char* kFields[] = {"label", "text", "second text"};
  std::vector<LabelledText> examples;
  for (const std::string& text : read_lines(path)) {
    const Line line{name, examples.size() + 1, text, "a label, a tab, a text, a tab and a text"};
    std::vector<std::string> fields = line.fields(kFields, false);
    examples.push_back({std::move(fields[0]), std::move(fields[1]), std::move(fields[2])});
  }
  return examples;
}

std::vector<TaggedText> read_tagged_tokens(const std::filesystem::path& path) {
  const ProfileScope scope("read examples");
  const std::string name = path.string();
  constexpr const char* kFields[] = {"token", "label"};
  std::vector<TaggedText> sentences;
  bool continues = false;  // whether the next token belongs to the last sentence
  std::size_t number = 0;
  for (const std::string& text : read_lines(path)) {
    ++number;
    if (text.empty()) {
      continues = false;
      continue;
    }
    const Line line{name, number, text, "a token, a tab and a label"};
    std::vector<std::string> fields = line.fields(kFields, false);
    if (!continues) sentences.push_back({{}, {}, {}, static_cast<index_t>(number)});
    continues = true;
    TaggedText& sentence = sentences.back();
    if (!sentence.text.empty()) sentence.text += ' ';
    const index_t begin = std::ssize(sentence.text);
    sentence.text += fields[0];
    sentence.words.push_back({begin, std::ssize(sentence.text)});
    sentence.tags.push_back(std::move(fields[1]));
  }
  if (sentences.empty()) fail_file(name, "must have at least 1 token, got none");
  return sentences;
}

std::vector<std::string> distinct_labels(const std::vector<LabelledText>& examples) {
  return sorted(labels_of(examples));
}

std::vector<std::string> distinct_labels(const std::vector<TaggedText>& examples) {
  std::vector<std::string> tags;
  for (const TaggedText& each : examples) {
    tags.insert(tags.end(), each.tags.begin(), each.tags.end());
  }
  return sorted(tags);
}

std::vector<index_t> label_numbers(const std::vector<LabelledText>& examples,
                                   const std::vector<std::string>& labels,
                                   const std::string& file) {
  return LabelNumbers(labels, file)(labels_of(examples), 1);
}

std::vector<std::vector<index_t>> label_numbers(const std::vector<TaggedText>& examples,
                                                const std::vector<std::string>& labels,
                                                const std::string& file) {
  const LabelNumbers number_of(labels, file);
  std::vector<std::vector<index_t>> numbers;
  for (const TaggedText& each : examples) numbers.push_back(number_of(each.tags, each.line));
  return numbers;
}

std::vector<double> label_values(const std::vector<LabelledText>& examples,
                                 const std::string& file) {
  std::vector<double> values;
  for (const LabelledText& example : examples) {
    double value = 0;
    if (!parse_number(example.label, value) || !std::isfinite(value)) {
      fail_file(file, "line ", values.size() + 1, ": label must be a number, got ",
                printable(example.label));
    }
    values.push_back(value);
  }
  return values;
}

namespace {

template <class List>
std::vector<Encoding> encoded(const Tokenization& encode, List texts) {
  require(encode.tokenizer != nullptr, "Tokenization", "must have a tokenizer, got a null pointer");
  std::vector<Encoding> encodings = encode.tokenizer->encode_batch(texts, encode.options);
  report_cut(encodings, encode.options.max_length, encode.report_cut);
  return encodings;
}

}  // namespace

std::vector<Encoding> Tokenization::encode_batch(ListOf<std::string> texts) const {
  return encoded(*this, texts);
}
std::vector<Encoding> Tokenization::encode_batch(ListOf<TextPair> pairs) const {
  return encoded(*this, pairs);
}

std::vector<Example> encoded_examples(const std::vector<Encoding>& lines, const std::string& file,
                                      bool feeds_type_ids) {
  std::vector<Example> examples;
  for (const Encoding& encoding : lines) {
    if (encoding.ids.empty())
      fail_file(file, "line ", examples.size() + 1, ": must have at least 1 token, got 0");
    Example example = {.ids = encoding.ids};
    const bool has_types = std::ranges::any_of(encoding.type_ids, [](index_t t) { return t != 0; });
    if (feeds_type_ids && has_types) example.type_ids = encoding.type_ids;
    examples.push_back(std::move(example));
  }
  return examples;
}

std::vector<Example> encoded_examples(const std::vector<LabelledText>& lines,
                                      const Tokenization& encode, const std::string& file) {
  if (lines.empty() || lines.front().second.empty()) {
    std::vector<std::string> texts;
    for (const LabelledText& line : lines) texts.push_back(line.text);
    return encoded_examples(encode.encode_batch(texts), file);
  }
  std::vector<TextPair> pairs;
  for (const LabelledText& line : lines) pairs.push_back({line.text, line.second});
  return encoded_examples(encode.encode_batch(pairs), file, encode.feeds_type_ids);
}

std::vector<Example> labelled_examples(const std::vector<LabelledText>& lines,
                                       const std::vector<std::string>& labels,
                                       const Tokenization& encode, const std::string& file) {
  const std::vector<index_t> numbers = label_numbers(lines, labels, file);
  std::vector<Example> examples = encoded_examples(lines, encode, file);
  for (std::size_t i = 0; i < numbers.size(); ++i) examples[i].label = numbers[i];
  return examples;
}

std::vector<index_t> token_labels(const Encoding& encoding, std::span<const Span> words,
                                  std::span<const index_t> labels) {
  require(words.size() == labels.size(), "token_labels", "words must have one label each, got ",
          labels.size(), " labels for ", words.size(), " words");
  std::vector<index_t> result(encoding.ids.size(), kIgnoreIndex);
  std::size_t next = 0;  // the first word without a token
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (encoding.sequence_ids[i] != 0) continue;
    const Span token = encoding.offsets[i];
    while (next < words.size() && words[next].end <= token.begin) ++next;
    if (next == words.size()) break;
    if (token.end > words[next].begin) result[i] = labels[next++];
  }
  return result;
}

}  // namespace tessera::text
