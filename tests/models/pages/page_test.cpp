#include "tessera/models/pages/page.h"

#include "tessera/tensor/io/json.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::pages {
namespace {

using namespace test;

TEST(PageTest, EscapesText) {
  struct Case {
    std::string text, html, json;
  };
  const std::vector<Case> cases = {
      {"a <b> & \"c\" 'd'", "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;",
       "\"a \\u003cb> & \\\"c\\\" 'd'\""},
      {"</script><!--", "&lt;/script&gt;&lt;!--", "\"\\u003c/script>\\u003c!--\""},
      {"Café 東京\t", "Café 東京\t", "\"Café 東京\\t\""},
      {std::string("\0\x1b", 2), "\xef\xbf\xbd\xef\xbf\xbd", "\"\\u0000\\u001b\""},
      {"\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
      {"", "", "\"\""}};
  for (const Case& each : cases) {
    EXPECT_EQ(escape(each.text), each.html);
    const std::string json = JsonText(valid_utf8(each.text)).text();
    EXPECT_TRUE(
        contains(page_html({.data = {{"a", json}}}), "id=\"a\">\n" + each.json + "\n</script>"));
  }
}

// RFC 4648, section 10.
TEST(PageTest, WritesBytesAsText) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},        {"f", "Zg=="},          {"fo", "Zm8="},
      {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff", "+/8="}};
  for (const auto& [bytes, text] : cases) EXPECT_EQ(base64(bytes), text);
}

TEST(PageTest, HoldsAllOfItAndForbidsTheNetwork) {
  const std::string html = page_html({.title = "<T>",
                                      .body = "<p>body</p>",
                                      .styles = {"p { color: red; }"},
                                      .data = {{"numbers", "[1,2]"}},
                                      .scripts = {"const a = 1;", "const b = a;"}});
  std::size_t at = 0;
  for (const char* part : {"<!doctype html>", "default-src 'none'", "<title>&lt;T&gt;</title>",
                           "--ground", "p { color: red; }", "</head>", "<p>body</p>",
                           "<script type=\"application/json\" id=\"numbers\">\n[1,2]\n</script>",
                           "const a = 1;", "const b = a;", "</html>"}) {
    const std::size_t found = html.find(part, at);
    EXPECT_NE(found, std::string::npos) << part << " is missing, or stands in another order";
    at = found == std::string::npos ? at : found;
  }
  for (const char* outside : {"http:", "https:", "src=", "@import", "url("}) {
    EXPECT_FALSE(contains(html, outside));
  }
}

TEST(PageTest, Errors) {
  EXPECT_TRUE(throws("page_html", {"script", "</script"},
                     [] { page_html({.scripts = {"'</SCRIPT >'"}}); }));
  EXPECT_TRUE(throws("page_html", {"</style"}, [] { page_html({.styles = {"</style>"}}); }));
  EXPECT_TRUE(throws("asset", {"no.css"}, [] { asset("no.css"); }));
}

TEST(PageTest, IsWrittenWholeOrNotAtAll) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("page.html", "old");
  EXPECT_TRUE(throws("page_html", {}, [&] { write_page(path, {.scripts = {"</script"}}); }));
  EXPECT_EQ(folder.read("page.html"), "old");
  write_page(path, {.title = "new"});
  EXPECT_EQ(folder.read("page.html"), page_html({.title = "new"}));
  EXPECT_THROW(write_page(folder.path() / "none" / "page.html", {}), std::runtime_error);
  EXPECT_EQ(folder.file_count(), 1);
}

}  // namespace
}  // namespace tessera::pages
