// The form of error texts, as far as it can be checked in the sources:
//
//   op: X must be RULE, got VALUE; cure
#include <cctype>
#include <filesystem>
#include <regex>

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace {

namespace fs = std::filesystem;

/// The end of the string or character literal that begins at `i`; `i` itself if there is none.
std::size_t end_of_literal(std::string_view text, std::size_t i) {
  const char quote = text[i];
  if (quote != '"' && quote != '\'') return i;
  const char before = i > 0 ? text[i - 1] : ' ';
  if (quote == '\'' && std::isalnum(static_cast<unsigned char>(before))) return i;  // 1'000
  if (quote == '"' && before == 'R') {
    const std::size_t open = text.find('(', i);
    const std::string close = ")" + std::string(text.substr(i + 1, open - i - 1)) + "\"";
    return text.find(close, open) + close.size();
  }
  for (++i; i < text.size() && text[i] != quote; ++i) i += text[i] == '\\' ? 1 : 0;
  return std::min(i + 1, text.size());
}

/// The source with blanks for its comments.
std::string without_comments(std::string source) {
  for (std::size_t i = 0; i < source.size();) {
    const std::string_view two = std::string_view(source).substr(i, 2);
    const std::size_t end = two == "//"   ? source.find('\n', i)
                            : two == "/*" ? source.find("*/", i) + 2
                                          : i;
    if (end > i) {
      std::replace_if(
          source.begin() + static_cast<std::ptrdiff_t>(i),
          source.begin() + static_cast<std::ptrdiff_t>(std::min(end, source.size())),
          [](char c) { return c != '\n'; }, ' ');
    }
    i = std::max({i + 1, std::min(end, source.size()), end_of_literal(source, i)});
  }
  return source;
}

/// The arguments of the call whose parenthesis is at `open`.
std::vector<std::string> arguments_of(std::string_view source, std::size_t open) {
  std::vector<std::string> arguments(1);
  int depth = 1;
  for (std::size_t i = open + 1; depth > 0 && i < source.size();) {
    const char c = source[i];
    depth += c == '(' || c == '{' || c == '[' ? 1 : c == ')' || c == '}' || c == ']' ? -1 : 0;
    const std::size_t end = std::max(i + 1, end_of_literal(source, i));
    if (c == ',' && depth == 1) {
      arguments.emplace_back();
    } else if (depth > 0) {
      arguments.back() += source.substr(i, end - i);
    }
    i = end;
  }
  return arguments;
}

/// The text of an argument's literals, adjacent ones joined; nullopt if it has none.
std::optional<std::string> words_of(const std::string& argument) {
  std::optional<std::string> words;
  for (std::size_t i = 0; i < argument.size();) {
    const std::size_t end = end_of_literal(argument, i);
    if (end > i && argument[i] == '"') {
      words = words.value_or("") + argument.substr(i + 1, end - i - 2);
    }
    i = std::max(i + 1, end);
  }
  return words;
}

/// The error in a text with these arguments.
std::string fault_of(const std::vector<std::string>& arguments) {
  static const std::regex kIdiom(
      "\\b(shall|alone|beside|whoever|stands?|wanted|wants|wished|tells?|knows?|asks?)\\b");
  static const std::regex kRule("\\b(must|cannot|not found)\\b");
  static const std::regex kConstant("^\\s*k[A-Z]\\w*$");  // may hold the rule
  static const std::regex kCapital("^[A-Z][a-z]+ (?!page|LFS|pointer)");
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  std::string text;
  bool has_words = false, has_rule = false;
  for (const std::string& argument : arguments) {
    if (argument.ends_with("...") || argument.ends_with(".what()")) return "";  // another text
    has_rule = has_rule || std::regex_match(argument, kConstant);
    const std::optional<std::string> words = words_of(argument);
    has_words = has_words || words.value_or("").find_first_of(kLetters) != std::string::npos;
    text += words.value_or("1");
  }
  if (!has_words || text.ends_with(": ")) return "";  // others say the rest
  std::smatch found;
  if (std::regex_search(text, found, kIdiom)) return "says '" + found.str() + "'";
  if (std::regex_search(text, kCapital)) return "begins with a capital letter";
  if (text.ends_with('.') && !text.ends_with("..")) return "ends with a full stop";
  if (!has_rule && !std::regex_search(text, kRule)) return "has no rule, such as 'X must be'";
  return "";
}

/// The errors in the error texts of a source, each as "line N: ...".
std::vector<std::string> faults_in(const std::string& commented) {
  static const std::regex kCall(
      "(\\.|->|\\b)(fail|require|fail_file|fail_here|std::runtime_error|std::invalid_argument)\\(");
  static const std::regex kOp("^\\s*\"(--)?\\w[\\w:<>/-]*\"$");
  const std::string source = without_comments(commented);
  std::vector<std::string> faults;
  for (std::sregex_iterator call(source.begin(), source.end(), kCall), end; call != end; ++call) {
    const auto open = static_cast<std::size_t>(call->position() + call->length() - 1);
    std::vector<std::string> arguments = arguments_of(source, open);
    const std::string name = (*call)[2];
    const auto is_text = [&](std::size_t i) {
      return words_of(arguments[i]) && !std::regex_match(arguments[i], kOp);
    };
    // Members name the place themselves, and so do calls of such a member within its class.
    const bool has_place = (*call)[1] != "" || name == "fail_here" || name.starts_with("std::") ||
                           (name == "fail" && is_text(0));
    const std::size_t first = name == "require" ? 2 : has_place ? 0 : 1;
    if (arguments.size() <= first) continue;
    std::string fault = name == "require" && is_text(1) ? "does not begin with the op" : "";
    arguments.erase(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(first));
    if (fault.empty()) fault = fault_of(arguments);
    if (fault.empty()) continue;
    const auto line = 1 + std::count(source.begin(), source.begin() + call->position(), '\n');
    faults.push_back("line " + std::to_string(line) + ": " + fault);
  }
  return faults;
}

TEST(ErrorForm, TextsSayWhatMustBe) {
  const fs::path root = TESSERA_SOURCE_DIR;
  for (const char* folder : {"tensor", "nn", "models", "examples", "bench"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp") continue;
      if (entry.path().parent_path().filename() == "notebooks") continue;  // the notebooks' texts
      for (const std::string& fault : faults_in(tessera::test::file_text(entry.path()))) {
        ADD_FAILURE() << fs::relative(entry.path(), root).string() << ": " << fault;
      }
    }
  }
}

TEST(ErrorForm, TheRuleItself) {
  const std::string no_rule = "line 1: has no rule, such as 'X must be'";
  const std::vector<std::pair<std::string, std::string>> faults = {
      {R"(require(a == b, "op", "x must be (", a, "), got ", f(b, c), '"', "; clone() it");)", ""},
      {R"(fail(kOp, what, " must have 1 axis, got ", n);)", ""},
      {R"(fail_file(name, "line ", 3, ": must be a number");)", ""},
      {R"(json.fail("must be a list"); fail(op, text);)", ""},
      {R"(fail_file(name, "line ", 3, ": ", error.what());)", ""},
      {R"(throw std::runtime_error(str_cat("rank ", 3, ": ", text));)", ""},
      {"// fail(op, \"Wrong.\")\n/* fail(op, \"Wrong.\") */ f(1'000, '\"');", ""},
      {"\n\nfail(op, \"X shall \"\n\"be\");", "line 3: says 'shall'"},
      {R"(fail("op", "Expected one, must be");)", "line 1: begins with a capital letter"},
      {R"(fail("op", "x must be one.");)", "line 1: ends with a full stop"},
      {R"(require(good, "op: x", " must be one");)", "line 1: does not begin with the op"},
      {R"(value.fail("x is ", 3);)", no_rule},
      {R"(fail(kOp, "--a needs --b");)", no_rule},
      {R"(throw std::runtime_error(str_cat(n, " waits"));)", no_rule},
  };
  for (const auto& [source, fault] : faults) {
    const std::vector<std::string> found = faults_in(source);
    EXPECT_EQ(found.empty() ? "" : found.front(), fault) << source;
  }
}

}  // namespace
