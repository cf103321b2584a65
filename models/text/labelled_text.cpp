#include "models/text/labelled_text.h"

#include <map>
#include <set>
#include <string_view>

#include "models/text/text_file.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::text {

namespace {

template <class... Parts>
[[noreturn]] void fail_line(const std::string& file, std::size_t line, const Parts&... parts) {
  fail_file(file, "line ", line, parts...);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

}  // namespace

std::vector<LabelledText> read_labelled_lines(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::vector<LabelledText> examples;
  for (const std::string& line : read_lines(path)) {
    const std::size_t number = examples.size() + 1;
    const std::size_t tab = line.find('\t');
    if (line.empty()) fail_line(name, number, ": empty; wanted a label, a tab and a text");
    if (tab == std::string::npos) {
      fail_line(name, number, ": no tab; wanted a label, a tab and a text, not ", printable(line));
    }
    LabelledText example{line.substr(0, tab), line.substr(tab + 1)};
    if (is_blank(example.label)) fail_line(name, number, ", byte 1: no label before the tab");
    if (is_blank(example.text)) {
      fail_line(name, number, ", byte ", tab + 2, ": no text after the label ",
                printable(example.label));
    }
    examples.push_back(std::move(example));
  }
  return examples;
}

std::vector<std::string> distinct_labels(const std::vector<LabelledText>& examples) {
  std::set<std::string> labels;
  for (const LabelledText& example : examples) labels.insert(example.label);
  return {labels.begin(), labels.end()};
}

std::vector<index_t> label_numbers(const std::vector<LabelledText>& examples,
                                   const std::vector<std::string>& labels,
                                   const std::string& file) {
  std::map<std::string_view, index_t> number_of;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    number_of.emplace(labels[i], static_cast<index_t>(i));
  }
  std::vector<index_t> numbers;
  for (const LabelledText& example : examples) {
    const auto found = number_of.find(example.label);
    if (found == number_of.end()) {
      std::string known;
      for (const std::string& label : labels) known += (known.empty() ? "" : ", ") + label;
      fail_line(file, numbers.size() + 1, ": unknown label ", printable(example.label),
                "; known are ", printable(known));
    }
    numbers.push_back(found->second);
  }
  return numbers;
}

}  // namespace tessera::text
