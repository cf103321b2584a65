// Every public type and function has a comment; it names shapes and errors where they apply.
#include <cctype>
#include <filesystem>
#include <regex>

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace {

namespace fs = std::filesystem;

struct Declaration {
  std::size_t line = 0;  // counted from 1
  std::string code;      // without its body, on one line
  std::string owner;     // the class that it is a member of
  std::string comment;   // its own, or that of the lines right above it

  std::string name() const {
    static const std::regex kType(
        R"(^(template <.*> )?(struct|class|enum class|enum) (?:\w+::)?(\w+))");
    static const std::regex kFunction(R"((operator ?[^ (]+|\w+)\()");
    std::smatch found;
    if (std::regex_search(code, found, kType)) return found[3];
    return std::regex_search(code, found, kFunction) ? found[1].str() : "";
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
      comment_ += text.substr(std::min(text.find_first_not_of('/'), text.size())) + ' ';
      ++at_;
    } else if (text == "public:" || text == "private:" || text == "protected:") {
      is_public_ = text == "public:";
      ++at_;
    } else if (text.empty() || text[0] == '#' || text[0] == '}' || text.starts_with("namespace")) {
      if (line == "};") owner_.clear();
      if (text == "namespace detail {") is_detail_ = true;
      if (text == "}  // namespace detail") is_detail_ = false;
      comment_.clear();
      shared_.clear();
      ++at_;
    } else {
      read_declaration();
    }
  }

  void read_declaration() {
    Declaration declaration{at_ + 1, {}, owner_, {}};
    const bool has_body = read_code(declaration.code);
    if (!trimmed(comment_).empty()) shared_ = comment_;
    comment_.clear();
    declaration.comment = shared_;
    const bool visible = !is_detail_ && (owner_.empty() || is_public_);
    static const std::regex kClass(R"(^(template <.*> )?(struct|class) \w+)");
    const bool is_class = has_body && std::regex_search(declaration.code, kClass);
    const std::string name = declaration.name();
    if (visible && (has_body || declaration.code.find('(') != std::string::npos)) {
      found_.push_back(declaration);
    }
    if (is_class && owner_.empty() && lines_[at_].ends_with('{')) {
      owner_ = name;
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
  std::string comment_, shared_, owner_;
  bool is_public_ = true;   // the section of the class
  bool is_detail_ = false;  // the namespace
  std::vector<Declaration> found_;
};

/// Whether another comment describes the declaration: a constructor or a call by its class, an
/// override by its base; also functions made by the language.
bool is_told_elsewhere(const Declaration& declaration) {
  static const std::regex kElsewhere(
      R"(override ?$|^std::function<|= default$|= delete$|~|operator=\(|operator\(\)|^friend |^using |operator==|^static_assert|\bvisit\(|\b(begin|end)\(|^(struct|class|enum) \w+$)");
  const std::string name = declaration.name();
  static const std::regex kTemplate("^template <[^()]*> (?=[A-Za-z])");
  const std::string code = std::regex_replace(declaration.code, kTemplate, "");
  const bool is_variable = code.find(" = ") < code.find('(');
  return is_variable || name.empty() || name == declaration.owner ||
         std::regex_search(declaration.code, kElsewhere);
}

bool is_function(const Declaration& declaration) {
  return !std::regex_search(declaration.code, std::regex("^(template <.*> )?(struct|class|enum)"));
}

bool takes_and_returns_tensors(const Declaration& declaration) {
  const std::size_t open = declaration.code.find(declaration.name() + "(");
  return declaration.owner.empty() &&
         declaration.code.substr(0, open).find("Tensor") != std::string::npos &&
         declaration.code.find("Tensor&", open) != std::string::npos;
}

/// Whether a definition of the function in `source` checks what it is given.
bool has_errors(const Declaration& declaration, const std::string& source) {
  const std::string owner = declaration.owner.empty() ? "" : declaration.owner + "::";
  const std::string call = ' ' + owner + declaration.name() + '(';
  static const std::regex kCheck(R"(\b(require|fail|fail_file|check_\w+)\()");
  for (std::size_t at = source.find(call); at != std::string::npos;
       at = source.find(call, at + 1)) {
    const std::size_t line = source.rfind('\n', at) + 1;
    if (std::isspace(static_cast<unsigned char>(source[line]))) continue;  // a call
    const std::string body = source.substr(at, source.find("\n}", at) - at);
    if (std::regex_search(body, kCheck)) return true;
  }
  return false;
}

struct Findings {
  std::size_t symbols = 0, with_shapes = 0, with_errors = 0;
  std::vector<std::string> missing;
};

/// `text` is a header's, `source` that of the `.cpp` next to it. The comment at the head of a file
/// counts for what all functions of the file share.
void examine(const std::string& path, const std::string& text, const std::string& source,
             Findings& findings) {
  const std::string head = text.substr(0, text.find("#pragma once"));
  for (const Declaration& declaration : HeaderReader(text).read()) {
    if (is_told_elsewhere(declaration)) continue;
    const auto report = [&](const std::string& what) {
      findings.missing.push_back(path + ":" + std::to_string(declaration.line) + ": " +
                                 declaration.name() + ": no " + what);
    };
    const bool refers =
        std::regex_search(declaration.comment, std::regex("^ ?(As|The same|Throws|Refuses)[ ,:]"));
    const auto says = [&](std::string_view word) {
      return refers || (head + declaration.comment).find(word) != std::string::npos;
    };
    ++findings.symbols;
    if (declaration.comment.empty()) report("comment");
    if (!is_function(declaration)) continue;
    if (takes_and_returns_tensors(declaration)) {
      ++findings.with_shapes;
      if (!says("**Shapes**")) report("**Shapes**");
    }
    if (has_errors(declaration, source)) {
      ++findings.with_errors;
      if (!says("**Errors**")) report("**Errors**");
    }
  }
}

bool is_public(const std::string& path) {
  static const std::set<std::string> kOfKernels = {
      "tensor/kernels/dispatch.h", "tensor/kernels/parallel.h", "tensor/kernels/types.h"};
  return path.ends_with(".h") && path.find("/detail/") == std::string::npos &&
         (!path.starts_with("tensor/kernels/") || kOfKernels.contains(path));
}

TEST(PublicCommentsTest, TellWhatASymbolIsAndItsShapesAndErrors) {
  const fs::path root = TESSERA_SOURCE_DIR;
  Findings findings;
  for (const char* folder : {"tensor", "nn", "models"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = fs::relative(entry.path(), root).generic_string();
      if (!is_public(path)) continue;
      fs::path source = entry.path();
      examine(path, tessera::test::file_text(entry.path()),
              tessera::test::file_text(source.replace_extension(".cpp")), findings);
    }
  }
  for (const std::string& missing : findings.missing) ADD_FAILURE() << missing;
  EXPECT_GT(findings.symbols, 500u);
  EXPECT_GT(findings.with_shapes, 50u);
  EXPECT_GT(findings.with_errors, 80u);
}

std::vector<std::string> missing_in(const std::string& header, const std::string& source = "") {
  Findings findings;
  examine("x.h", "// Things.\n#pragma once\n\nnamespace tessera {\n\n" + header + "\n}\n", source,
          findings);
  return findings.missing;
}

TEST(PublicCommentsTest, TheRuleItself) {
  using Missing = std::vector<std::string>;
  EXPECT_EQ(missing_in("/// A thing.\nint thing(int x);\nint other(int x = {});"), Missing{});
  EXPECT_EQ(missing_in("/// A thing.\nint thing(int x);\n\nint other(int x);"),
            Missing{"x.h:9: other: no comment"});
  EXPECT_EQ(missing_in("struct A {\n  int x;  // metres\n  int f() const;\n};"),
            (Missing{"x.h:6: A: no comment"}));
  EXPECT_EQ(
      missing_in("/// A.\nclass A {\n public:\n  A();\n  int f();\n\n private:\n  int g();\n};"),
      Missing{"x.h:10: f: no comment"});
  EXPECT_EQ(missing_in("template <class A, class B = int>\nint f(A x, B y = 1);"),
            Missing{"x.h:6: f: no comment"});
  EXPECT_EQ(missing_in("/// The sum.\nTensor sum(const Tensor& x);"),
            Missing{"x.h:7: sum: no **Shapes**"});
  EXPECT_EQ(missing_in("/// Half.\nint half(int x);",
                       "int half(int x) {\n  require(x > 0, \"half\", \"x\");\n}\n"),
            Missing{"x.h:7: half: no **Errors**"});
}

}  // namespace
