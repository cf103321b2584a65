#include "tensor/io/detail/npy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera {

namespace {

/// Reads the few forms of Python that a header may contain.
class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NpyHeader run() {
    expect('{');
    while (!accept('}')) {
      entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (next_ < text_.size()) fail_here("must be the end of the header, got text after the dict");
    for (std::size_t i = 0; i < 3; ++i) {
      if (!seen_[i]) fail_file(file_, "header: must have the key '", kKeys[i], "'");
    }
    return header_;
  }

 private:
  static constexpr std::array<std::string_view, 3> kKeys = {"descr", "fortran_order", "shape"};

  template <class... Parts>
  [[noreturn]] void fail_here(const Parts&... parts) const {
    fail_file(file_, "header, character ", next_, ": ", parts...);
  }

  void skip_space() {
    constexpr std::string_view kSpace = " \t\r\n";
    next_ = std::min(text_.find_first_not_of(kSpace, next_), text_.size());
  }

  bool accept(char wanted) {
    skip_space();
    const bool found = next_ < text_.size() && text_[next_] == wanted;
    next_ += found ? 1 : 0;
    return found;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail_here("must be '", wanted, "'");
  }

  void entry() {
    const std::string key = string("a key in quotes");
    const auto index =
        static_cast<std::size_t>(std::find(kKeys.begin(), kKeys.end(), key) - kKeys.begin());
    if (index == kKeys.size())
      fail_here("key must be 'descr', 'fortran_order' or 'shape', got ", printable(key));
    if (seen_[index]) fail_here("keys must be different, got '", key, "' twice");
    seen_[index] = true;
    expect(':');
    switch (index) {
      case 0:
        header_.descr = string("a dtype in quotes (lists of fields cannot be loaded)");
        break;
      case 1:
        header_.fortran_order = boolean();
        break;
      default:
        header_.shape = shape();
        break;
    }
  }

  std::string string(const char* what) {
    skip_space();
    const char quote = next_ < text_.size() ? text_[next_] : '\0';
    if (quote != '\'' && quote != '"') fail_here("must be ", what);
    const std::size_t end = text_.find(quote, next_ + 1);
    if (end == std::string_view::npos) fail_here("string must end in a quote");
    const std::string_view content = text_.substr(next_ + 1, end - next_ - 1);
    if (content.find('\\') != std::string_view::npos) fail_here("string must not have escapes");
    next_ = end + 1;
    return std::string(content);
  }

  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(next_, word.size()) == word) {
        next_ += word.size();
        return word == "True";
      }
    }
    fail_here("must be True or False");
  }

  Shape shape() {
    Shape result;
    expect('(');
    while (!accept(')')) {
      if (result.size() == kMaxRank) fail_here("number of axes must be at most ", kMaxRank);
      result.push_back(size());
      if (accept(',')) continue;
      if (result.size() == 1) fail_here("must be ',' (a tuple of one size is written (3,))");
      expect(')');
      break;
    }
    return result;
  }

  index_t size() {
    skip_space();
    index_t value = 0;
    const auto digits = std::from_chars(text_.data() + next_, text_.data() + text_.size(), value);
    const char first = next_ < text_.size() ? text_[next_] : '\0';
    if (first < '0' || first > '9') fail_here("must be a size");
    if (digits.ec != std::errc()) fail_here("size must fit int64");
    const auto length = static_cast<std::size_t>(digits.ptr - text_.data()) - next_;
    if (first == '0' && length > 1) fail_here("size must not have leading zeros");
    next_ += length;
    if (next_ < text_.size() && text_[next_] == 'L') ++next_;  // Python 2's long integers
    return value;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t next_ = 0;
  NpyHeader header_;
  std::array<bool, 3> seen_{};
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& file) {
  return Parser(text, file).run();
}

std::string format_npy_header(const NpyHeader& header) {
  return str_cat("{'descr': '", header.descr,
                 "', 'fortran_order': ", header.fortran_order ? "True" : "False",
                 ", 'shape': ", header.shape, ", }");
}

}  // namespace tessera
