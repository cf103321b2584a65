// Every public type and function has a comment; it names shapes, errors and sources where they
// apply.
#include <cctype>
#include <filesystem>

#include "tests/support/file_support.h"
#include "tests/support/header_reader.h"
#include "tests/support/test.h"

namespace {

namespace fs = std::filesystem;

using tessera::test::Declaration;
using tessera::test::HeaderReader;

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
  static const std::regex kCheck(
      R"(\b(require|require_\w+|fail|fail_\w+|check_\w+|normalize_\w+|broadcast_shapes)\()");
  for (std::size_t at = source.find(call); at != std::string::npos;
       at = source.find(call, at + 1)) {
    const std::size_t line = source.rfind('\n', at) + 1;
    if (std::isspace(static_cast<unsigned char>(source[line]))) continue;  // a call
    const std::string body = source.substr(at, source.find("\n}", at) - at);
    if (std::regex_search(body, kCheck)) return true;
  }
  return false;
}

/// Whether the declaration, by its form, implements something published: a paper, a format, or a
/// function of PyTorch, NumPy or Hugging Face. `parts` are the classes of the header with
/// operator() (modules, poolings, tasks), with `visit` (modules), or with `state` (optimisers,
/// generators).
bool is_published(const std::string& path, const Declaration& declaration,
                  const std::set<std::string>& parts) {
  static const std::regex kFiles(
      "^tensor/io/(json|npy|safetensors)|^models/inspect/(attention_flow|attribution|heads|probe)|"
      "^models/pages/ranks|^models/text/tokenizers");
  static const std::regex kResult(
      "^(template <.*> )?(requires .* )?(inline )?"
      "(Tensor|Ordered|AttentionResult|AttentionMask|Schedule|Init) ");
  static const std::regex kBase(R"( : (public )?(\w+))");
  if (!declaration.owner.empty()) return false;
  if (declaration.is_function()) {
    return std::regex_search(path, kFiles) || std::regex_search(declaration.code, kResult);
  }
  std::smatch base;
  std::regex_search(declaration.code, base, kBase);
  return parts.contains(declaration.name()) || parts.contains(base[2]) || base[2] == "Tokenizer" ||
         base[2] == "SubwordModel";
}

const std::string kSource = "**Source**: ";

/// The project's own ideas, and plumbing: they have one of these forms, but no source.
const std::set<std::string>& names_without_source() {
  static const std::set<std::string> kNames = {
      // tokenizers without a model
      "CharacterTokenizer", "WordTokenizer", "make_tokenizer", "tokenizer_kinds",
      // helpers of masks, rows and batches
      "length_mask", "places_of", "real_tokens", "requested_weights", "special_mask",
      // plumbing of hooks, tapes, sources and modules
      "from_span", "hooked", "recorded", "replacement",
      // common knowledge
      "median"};
  return kNames;
}

struct Findings {
  std::size_t symbols = 0, with_shapes = 0, with_errors = 0, with_source = 0;
  std::vector<std::string> missing;
  std::set<std::string> excused;  // of names_without_source()
};

/// `text` is a header's, `source` that of the `.cpp` next to it. The comments at the head of a file
/// and of a section count for what their functions share. A private header is examined for sources.
void examine(const std::string& path, const std::string& text, const std::string& source,
             bool is_public, Findings& findings) {
  const std::string head = text.substr(0, text.find("#pragma once"));
  const std::vector<Declaration> declarations = HeaderReader(text).read();
  std::set<std::string> parts;
  for (const Declaration& declaration : declarations) {
    static const std::set<std::string> kMembers = {"operator", "visit", "state"};
    if (kMembers.contains(declaration.name())) parts.insert(declaration.owner);
  }
  for (const Declaration& declaration : declarations) {
    static const std::regex kRefers("^ ?(As|The same)[ ,:]");
    static const std::regex kOnlyErrors("^ ?(Throws|Refuses)[ ,:]");
    const std::string comments = head + declaration.section + declaration.comment;
    const auto needs = [&](const std::string& what) {
      if (comments.find(what) != std::string::npos) return;
      if (std::regex_search(declaration.comment, kRefers)) return;
      if (what != kSource && std::regex_search(declaration.comment, kOnlyErrors)) return;
      if (what == kSource && names_without_source().contains(declaration.name())) {
        findings.excused.insert(declaration.name());
      } else {
        findings.missing.push_back(path + ":" + std::to_string(declaration.line) + ": " +
                                   declaration.name() + ": no " + what.substr(0, what.find(':')));
      }
    };
    if (is_published(path, declaration, parts)) {
      ++findings.with_source;
      needs(kSource);
    }
    if (!is_public || is_told_elsewhere(declaration)) continue;
    ++findings.symbols;
    if (declaration.comment.empty()) needs("comment");
    if (takes_and_returns_tensors(declaration)) {
      ++findings.with_shapes;
      needs("**Shapes**");
    }
    if (declaration.is_function() && has_errors(declaration, source)) {
      ++findings.with_errors;
      needs("**Errors**");
    }
  }
  // Sources have one form: `**Source**: Author, "Title", year, section 2; torch.name.`
  static const std::regex kWrong(
      R"(// *(Source|Reference|Paper|See):|\*\*Source\*\*(?!: \S|:\n)|\*\*Source\*\*:[^*]{0,400}"[ \n/]*\([12][0-9]{3}\)|\beq\. [0-9]|arXiv [0-9])");
  std::smatch found;
  if (std::regex_search(text, found, kWrong)) {
    findings.missing.push_back(path + ": a source in a different form: " + found.str());
  }
}

bool is_public(const std::string& path) {
  static const std::set<std::string> kOfKernels = {
      "tensor/kernels/dispatch.h", "tensor/kernels/parallel.h", "tensor/kernels/types.h"};
  return path.ends_with(".h") && path.find("/detail/") == std::string::npos &&
         (!path.starts_with("tensor/kernels/") || kOfKernels.contains(path));
}

TEST(PublicCommentsTest, TellWhatASymbolIsItsShapesErrorsAndSources) {
  const fs::path root = TESSERA_SOURCE_DIR;
  Findings findings;
  for (const char* folder : {"tensor", "nn", "models"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = fs::relative(entry.path(), root).generic_string();
      const bool has_models = path.starts_with("models/text/detail/") && path.ends_with(".h");
      if (!is_public(path) && !has_models) continue;
      const std::string text = tessera::test::file_text(entry.path());
      fs::path source = entry.path();
      examine(path, text, tessera::test::file_text(source.replace_extension(".cpp")),
              is_public(path), findings);
    }
  }
  for (const std::string& missing : findings.missing) ADD_FAILURE() << missing;
  EXPECT_GT(findings.symbols, 500u);
  EXPECT_GT(findings.with_shapes, 50u);
  EXPECT_GT(findings.with_errors, 80u);
  EXPECT_GT(findings.with_source, 200u);
  EXPECT_EQ(findings.excused, names_without_source()) << "names that need no excuse any more";
}

struct Example {
  std::string header;  // the part in the namespace, from line 6
  std::vector<std::string> missing;
  std::string source = {};
};

TEST(PublicCommentsTest, TheRuleItself) {
  const std::string with_check = "int half(int x) {\n  require(x > 0, \"half\", \"x\");\n}\n";
  const std::string with_axis = "int half(int x) {\n  return normalize_axis(\"half\", x, 2);\n}\n";
  const std::string sum = "Tensor sum(const Tensor& x);";
  const std::vector<Example> examples = {
      {"/// A thing.\nint thing(int x);\nint other(int x = {});", {}},
      {"/// A thing.\nint thing(int x);\n\nint other(int x);", {"x.h:9: other: no comment"}},
      {"struct A {\n  int x;  // metres\n  int f() const;\n};", {"x.h:6: A: no comment"}},
      {"/// A.\nclass A {\n public:\n  A();\n  int f();\n\n private:\n  int g();\n};",
       {"x.h:10: f: no comment"}},
      {"template <class A, class B = int>\nint f(A x, B y = 1);", {"x.h:6: f: no comment"}},
      {"/// A size.\nindex_t size_of(const Tensor& x);", {}},
      {"/// The sum. **Source**: torch.sum.\n" + sum, {"x.h:7: sum: no **Shapes**"}},
      {"/// Half.\nint half(int x);", {"x.h:7: half: no **Errors**"}, with_check},
      {"/// Half.\nint half(int x);", {"x.h:7: half: no **Errors**"}, with_axis},
      {"// Parts. **Errors**: x < 0.\n\n/// Half.\nint half(int x);", {}, with_axis},
      {"/// The sum. **Shapes**: x any.\n" + sum, {"x.h:7: sum: no **Source**"}},
      {"/// Throws if x is empty. **Shapes**: x any.\n" + sum, {"x.h:7: sum: no **Source**"}},
      {"// Sums. **Source**: torch.\n\n/// The sum.\nTensor sum(Axes axes);", {}},
      {"/// A.\nstruct A {\n  // Sums. **Source**: torch.\n\n  int a;\n};\n\n/// The sum.\n"
       "Tensor sum(Axes axes);",
       {"x.h:14: sum: no **Source**"}},
      {"/// A module.\nstruct A {\n  static void visit(Self& self);\n};\n\n"
       "/// Another.\nstruct B : A {\n  int b;\n};",
       {"x.h:7: A: no **Source**", "x.h:12: B: no **Source**"}},
      {"/// **Source**: Ba, \"Norm\" (2016).",
       {"x.h: a source in a different form: **Source**: Ba, \"Norm\" (2016)"}},
      {"/// Source: Ba, \"Norm\", 2016.", {"x.h: a source in a different form: // Source:"}},
  };
  for (const Example& example : examples) {
    Findings findings;
    examine("x.h", "// Things.\n#pragma once\n\nnamespace tessera {\n\n" + example.header + "\n}\n",
            example.source, true, findings);
    EXPECT_EQ(findings.missing, example.missing) << example.header;
  }
}

}  // namespace
