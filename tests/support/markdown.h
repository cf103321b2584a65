// The code blocks of the project's pages.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tessera::test {

/// A block between two lines of ```, or an indented one, whose `kind` is "indented".
struct Block {
  std::string file;    // from the root of the repository
  int line = 0;        // of its first ```
  std::string kind;    // the text after the ```: "cpp", "cpp declarations", "sh", "text", ...
  std::string before;  // from an HTML comment right above it, <!-- before: ... -->
  std::string text;
  bool is_printed = false;  // <!-- printed --> right above it: exactly the output of the code above

  std::string place() const { return file + ":" + std::to_string(line); }
};

/// All pages under the folder, sorted; without builds, hidden folders and npm.
inline std::vector<std::string> pages_of(const std::filesystem::path& root) {
  std::vector<std::string> pages;
  std::filesystem::recursive_directory_iterator entry(root), end;
  for (; entry != end; ++entry) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory() &&
        (name.starts_with(".") || name.starts_with("build") || name == "node_modules")) {
      entry.disable_recursion_pending();
    } else if (name.ends_with(".md")) {
      pages.push_back(entry->path().lexically_relative(root).string());
    }
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

/// Removes the comment `<!-- before: ... -->` from the end of the text, and returns its contents.
inline std::string take_before(std::string& read) {
  const std::string opening = "<!-- before:";
  const std::size_t begin = read.rfind(opening);
  if (begin == std::string::npos || !read.ends_with("-->\n")) return {};
  const std::string before = read.substr(begin + opening.size());
  read.clear();
  return before.substr(0, before.size() - 4) + '\n';
}

/// The page's blocks, in order.
inline std::vector<Block> blocks_of(const std::filesystem::path& root, const std::string& page) {
  std::vector<Block> blocks;
  std::ifstream file(root / page);
  std::string read = "\n";  // the text before, without blocks
  bool is_inside = false;
  std::size_t margin = 0;  // all lines of a block in a list are indented
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    if (line.compare(first, 3, "```") == 0) {
      if (!is_inside) {
        const bool is_printed = read.ends_with("<!-- printed -->\n");
        blocks.push_back({page, number, line.substr(first + 3), take_before(read), {}, is_printed});
        margin = first;
      }
      is_inside = !is_inside;
      read.clear();
    } else if (is_inside) {
      blocks.back().text += line.substr(std::min(margin, first)) + '\n';
    } else {
      const bool after_blank = read.empty() || read.ends_with("\n\n");
      if (first >= 4 && first < line.size() && after_blank) {
        blocks.push_back({page, number, "indented", {}, line + '\n', false});
      }
      read += line + '\n';
    }
  }
  return blocks;
}

/// The blocks of all pages.
inline std::vector<Block> all_blocks(const std::filesystem::path& root) {
  std::vector<Block> blocks;
  for (const std::string& page : pages_of(root)) {
    for (Block& block : blocks_of(root, page)) blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace tessera::test
