// Reads the public declarations of a header, without a compiler.
#pragma once

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tessera::test {

/// A declaration in the public part of a header.
struct Declaration {
  std::size_t line = 0;  // counted from 1
  std::string code;      // without its body, on one line
  std::string owner;     // the class that it is a member of
  std::string comment;   // its own, or that of the lines right above it
  std::string section;   // the last comment of `//` above it that an empty line follows

  std::string name() const {
    static const std::regex kType(
        R"(^(template <.*> )?(struct|class|enum class|enum|using) (?:\w+::)?(\w+))");
    static const std::regex kFunction(R"((operator ?[^ (]+|\w+)\()");
    std::smatch found;
    if (std::regex_search(code, found, kType)) return found[3];
    return std::regex_search(code, found, kFunction) ? found[1].str() : "";
  }

  bool is_function() const {
    static const std::regex kType("^(template <.*> )?(struct|class|enum|using) ");
    return !std::regex_search(code, kType);
  }
};

/// Reads the declarations of one header, formatted by clang-format: a member is indented by two.
class HeaderReader {
 public:
  explicit HeaderReader(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  std::vector<Declaration> read() {
    while (at_ < lines_.size()) read_line();
    return std::move(found_);
  }

 private:
  void read_line() {
    const std::string line = lines_[at_];
    const std::string text = trimmed(line);
    if (text.starts_with("//")) {
      if (comment_.empty()) is_section_ = !text.starts_with("///");
      comment_ += text.substr(std::min(text.find_first_not_of('/'), text.size())) + ' ';
      ++at_;
    } else if (text == "public:" || text == "private:" || text == "protected:") {
      is_public_ = text == "public:";
      ++at_;
    } else if (text.empty() || text[0] == '#' || text[0] == '}' || text.starts_with("namespace")) {
      if (line == "};" && !owner_.empty()) {
        owner_.clear();
        section_ = section_of_file_;
      }
      if (text.starts_with("}  // namespace")) section_.clear();
      if (text == "namespace detail {") is_detail_ = true;
      if (text == "}  // namespace detail" || text == "}") is_detail_ = false;
      if (text.empty() && is_section_ && !comment_.empty()) section_ = comment_;
      comment_.clear();
      shared_.clear();
      ++at_;
    } else {
      read_declaration();
    }
  }

  void read_declaration() {
    Declaration declaration{at_ + 1, {}, owner_, {}, section_};
    const bool has_body = read_code(declaration.code);
    if (!trimmed(comment_).empty()) shared_ = comment_;
    comment_.clear();
    declaration.comment = shared_;
    const bool visible = !is_detail_ && (owner_.empty() || is_public_);
    static const std::regex kClass(R"(^(template <.*> )?(struct|class) \w+)");
    const bool is_class = has_body && std::regex_search(declaration.code, kClass);
    const std::string name = declaration.name();
    static const std::regex kNamed(R"(\(|^using \w+ =)");
    if (visible && (has_body || std::regex_search(declaration.code, kNamed))) {
      found_.push_back(declaration);
    }
    if (is_class && owner_.empty() && lines_[at_].ends_with('{')) {
      owner_ = name;
      section_of_file_ = section_;
      is_public_ = declaration.code.find("struct ") != std::string::npos;
      shared_.clear();
    } else if (has_body) {
      skip_body();
    }
    ++at_;
  }

  /// Collects the code up to its `;` or to the `{` of its body, and comments behind it; at_ is then
  /// at the line where the code ends. Returns whether there is a body.
  bool read_code(std::string& code) {
    int depth = 0;
    for (;; ++at_) {
      const std::size_t behind = lines_[at_].find("//");
      const std::string line = trimmed(lines_[at_].substr(0, behind));
      if (behind != std::string::npos) comment_ += lines_[at_].substr(behind + 2) + ' ';
      if (!code.empty()) code += ' ';
      for (const char c : line) {
        const char before = code.empty() ? ' ' : trimmed(code).back();
        if (c == ';' && depth == 0) return false;
        if (c == '{' && depth == 0 && before != '=') return true;
        depth += c == '(' || c == '{' ? 1 : c == ')' || c == '}' ? -1 : 0;
        code += c;
      }
      if (at_ + 1 == lines_.size()) return false;
    }
  }

  void skip_body() {
    for (int depth = 0;; ++at_) {
      for (const char c : lines_[at_].substr(0, lines_[at_].find("//"))) {
        depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      }
      if (depth <= 0 || at_ + 1 == lines_.size()) return;
    }
  }

  static std::string trimmed(const std::string& line) {
    const std::size_t begin = line.find_first_not_of(' ');
    return begin == std::string::npos ? ""
                                      : line.substr(begin, line.find_last_not_of(' ') + 1 - begin);
  }

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  std::string comment_, shared_, section_, owner_;
  std::string section_of_file_;  // the section that goes on after the class
  bool is_section_ = false;      // whether comment_ begins with `//`, not `///`
  bool is_public_ = true;        // the section of the class
  bool is_detail_ = false;       // the namespace
  std::vector<Declaration> found_;
};

}  // namespace tessera::test
