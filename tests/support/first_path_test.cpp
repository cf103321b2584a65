// "Ten files" of CONTRIBUTING.md: the files exist, and have together as many lines as the page
// states.
#include <cstdlib>

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace {

std::string text_of(const std::string& path) {
  std::string text = tessera::test::file_text(std::string(TESSERA_SOURCE_DIR) + "/" + path);
  EXPECT_FALSE(text.empty()) << path;
  return text;
}

/// The section of the page from its heading to the end of its table.
std::string section() {
  const std::string page = text_of("CONTRIBUTING.md");
  const std::size_t begin = page.find("## Ten files\n");
  const std::size_t table = page.find("\n| ", begin);
  const std::size_t end = page.find("\n\n", table);
  EXPECT_NE(begin, std::string::npos);
  EXPECT_NE(end, std::string::npos);
  return page.substr(begin, end - begin);
}

TEST(FirstPath, IsAsLongAsItSays) {
  const std::string text = section();
  int files = 0;
  std::ptrdiff_t lines = 0;
  for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at)) {
    at += 2;
    const std::string file = text_of(text.substr(at, text.find(')', at) - at));
    lines += std::count(file.begin(), file.end(), '\n');
    ++files;
  }
  EXPECT_EQ(files, 10);
  EXPECT_NE(text.find("About 2,000 lines"), std::string::npos);
  EXPECT_NEAR(static_cast<double>(lines), 2000, 100);
}

}  // namespace
