// Writes one C++ file with every C++ block of the project's pages, each in its own namespace:
//     readme_blocks ROOT FILE
//
// A program (a block with a main) has its includes moved to the top and its main renamed.
// Statements become the body of a function; declarations that they need are in an earlier program or
// block of declarations of the page, or in a comment above the block (support/markdown.h).
#include <iostream>
#include <sstream>
#include <utility>

#include "tests/support/markdown.h"

namespace {

using namespace tessera::test;

struct Parts {
  std::string includes;
  std::string rest;
};

/// The text without its includes and without a `using namespace`, which each block has anyway.
Parts without_includes(const std::string& text) {
  Parts parts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool is_include = line.starts_with("#include ");
    (is_include ? parts.includes : parts.rest) += line + '\n';
    if (is_include) parts.rest += '\n';  // so that errors name the page's line
  }
  return parts;
}

/// The block with its preceding comment, so that errors name the page's lines.
std::string with_before(const Block& block, const std::string& text) {
  const auto lines = std::count(block.before.begin(), block.before.end(), '\n');
  return "#line " + std::to_string(block.line - lines) + " \"" + block.file + "\"\n" +
         block.before + '\n' + text;
}

/// A program: its main becomes run_block, and ends as main does.
std::string of_program(const Block& block, std::string& includes) {
  const std::string head = "int main(";
  Parts parts = without_includes(block.text);
  includes += parts.includes;
  const std::size_t main = parts.rest.find(head);
  const std::size_t end = parts.rest.rfind('}');
  parts.rest.insert(end, "return 0; ");
  const bool takes_arguments = parts.rest.compare(main + head.size(), 1, ")") != 0;
  parts.rest.replace(main, head.size(), "int run_program(");
  return with_before(block, parts.rest) +
         "int run_block([[maybe_unused]] int argc, "
         "[[maybe_unused]] char** argv) { return run_program(" +
         (takes_arguments ? "argc, argv" : "") + "); }\n";
}

std::string of_statements(const Block& block) {
  return "int run_block(int, char**) {\n" + with_before(block, block.text) + "return 0;\n}\n";
}

std::string of_declarations(const Block& block) {
  return with_before(block, block.text) + "int run_block(int, char**) { return 0; }\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::string includes =
      "#include <tessera/models/hugging_face/hugging_face.h>\n"
      "#include <tessera/models/inspect/inspect.h>\n"
      "#include <tessera/nn/training/mpi/session.h>\n"
      "#include <tessera/tensor/kernels/parallel.h>\n"
      "#include \"tests/programs/readme_blocks.h\"\n";
  std::string bodies, table, page, declared;  // declared: in earlier blocks of the page
  int number = 0;
  for (const Block& block : all_blocks(argv[1])) {
    if (!block.kind.starts_with("cpp")) continue;
    if (std::exchange(page, block.file) != block.file) declared.clear();
    const std::string name = "block_" + std::to_string(++number);
    const bool is_program = block.text.find("int main(") != std::string::npos;
    bodies += "namespace " + name + " {\nusing namespace tessera;\n" + declared;
    const bool declares = block.kind == "cpp declarations";
    if (is_program) {
      bodies += of_program(block, includes);
    } else {
      bodies += declares ? of_declarations(block) : of_statements(block);
    }
    if (is_program || declares) declared += "using namespace " + name + ";\n";
    bodies += "}\n";
    table += "      {\"" + block.place() + "\", " + (is_program ? "true" : "false") + ", R\"code(" +
             block.text.substr(0, block.text.find('\n')) + ")code\", " + name + "::run_block},\n";
  }
  std::ofstream file(argv[2]);
  file << includes << bodies << "namespace tessera::test {\n"
       << "const std::vector<CompiledBlock>& compiled_blocks() {\n"
       << "  static const std::vector<CompiledBlock> blocks = {\n"
       << table << "  };\n  return blocks;\n}\n}\n";
  return file.good() ? 0 : 1;
}
