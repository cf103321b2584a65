// tensor/ops/README.md lists each public op once, in a table of the op's header.
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "tests/support/file_support.h"
#include "tests/support/header_reader.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

const std::filesystem::path kOpsFolder = std::filesystem::path(TESSERA_SOURCE_DIR) / "tensor/ops";

/// The parts of `text` in backticks.
std::vector<std::string> names_in(const std::string& text) {
  static const std::regex kName("`([^`]+)`");
  std::vector<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), kName), end; at != end; ++at) {
    names.push_back((*at)[1]);
  }
  return names;
}

/// For each public function of the headers, except operators, the name of its header.
std::map<std::string, std::string> ops_of_headers() {
  std::map<std::string, std::string> headers;
  for (const auto& entry : std::filesystem::directory_iterator(kOpsFolder)) {
    if (entry.path().extension() != ".h") continue;
    for (const Declaration& each : HeaderReader(file_text(entry.path())).read()) {
      const std::string name = each.name();
      const bool is_op = each.is_function() && each.owner.empty() && !name.empty();
      if (is_op && !name.starts_with("operator")) headers[name] = entry.path().filename();
    }
  }
  return headers;
}

/// One line of a table: `name` | text (`name in a different library`).
struct IndexLine {
  std::vector<std::string> headers;  // named at the head of the table
  std::string name;
  std::vector<std::string> others;  // in the text
};

std::vector<IndexLine> lines_of_index() {
  std::vector<IndexLine> lines;
  std::vector<std::string> headers;
  std::istringstream page(file_text(kOpsFolder / "README.md"));
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with('`')) continue;
    const std::size_t cell = line.find(" | ");
    if (cell == std::string::npos) continue;
    const std::vector<std::string> names = names_in(line.substr(0, cell));
    if (names[0].ends_with(".h")) {
      headers = names;
    } else {
      lines.push_back({headers, names[0], names_in(line.substr(cell))});
    }
  }
  return lines;
}

TEST(OpsIndex, HasOneLineForEachOp) {
  const std::map<std::string, std::string> ops = ops_of_headers();
  EXPECT_GT(ops.size(), 110U);
  std::set<std::string> found;
  for (const IndexLine& line : lines_of_index()) {
    EXPECT_TRUE(found.insert(line.name).second) << line.name << " has two lines";
    const auto op = ops.find(line.name);
    if (op == ops.end()) {
      ADD_FAILURE() << line.name << " is no op";
      continue;
    }
    EXPECT_TRUE(std::count(line.headers.begin(), line.headers.end(), op->second) == 1)
        << line.name << " is in " << op->second;
  }
  for (const auto& [name, header] : ops) {
    EXPECT_TRUE(found.contains(name)) << name << " of " << header << " has no line";
  }
}

/// PyTorch's and NumPy's names are those in the comments of the headers.
TEST(OpsIndex, NamesTheSourcesOfTheHeaders) {
  int count = 0;
  for (const IndexLine& line : lines_of_index()) {
    std::string text;
    for (const std::string& header : line.headers) text += file_text(kOpsFolder / header);
    for (const std::string& name : line.others) {
      ++count;
      EXPECT_NE(text.find(name), std::string::npos) << line.name << ": " << name;
    }
  }
  EXPECT_GT(count, 15);
}

}  // namespace
}  // namespace tessera::test
