// A page to look at: one HTML file that needs no network, no other file and no library.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::pages {

/// What stands on a page. The file that it becomes holds everything it needs, and says so itself: a
/// Content-Security-Policy of "nothing from outside" makes every browser refuse a request.
///
///     const Page page = {.title = "Runs", .body = "<main><h1>" + escape(name) + "</h1></main>"};
///     write_page("runs.html", page);
struct Page {
  std::string title = {};                // plain text
  std::string body = {};                 // HTML
  std::vector<std::string> styles = {};  // CSS after assets/page.css, which every page has
  // What the scripts read, by id: JSON.parse(document.getElementById(id).textContent).
  std::vector<std::pair<std::string, std::string>> data = {};
  std::vector<std::string> scripts = {};  // JavaScript, run in order when the body is there
  std::string head = {};                  // more of <head>, HTML
};

/// The page as the text of an HTML file.
/// **Errors**: a style or a script would end its element, because it holds `</style` or `</script`.
std::string page_html(const Page& page);

/// True if a file is named as a page: it ends in .html.
inline bool is_page(std::string_view file) {
  return file.ends_with(".html");
}

/// Writes page_html(page) as the file `path`, whole or not at all.
/// **Errors**: as page_html() and write_file().
void write_page(const std::filesystem::path& path, const Page& page);

/// Plain text as it stands in HTML, XML and attributes in quotes: & < > " ' become entities. What is
/// not UTF-8, or no character of XML, becomes U+FFFD.
std::string escape(std::string_view text);

/// Plain text as a string of JSON for Page::data, in quotes. No text ends the script it stands in:
/// `<` becomes its Unicode escape. What is not UTF-8 becomes U+FFFD.
std::string json_text(std::string_view text);

/// Bytes as text for Page::data, which atob() of JavaScript decodes.
/// **Source**: RFC 4648, section 4.
std::string base64(std::string_view bytes);

/// The contents of `assets/name`, as it was when the library was built.
/// **Errors**: there is none of this name.
std::string_view asset(std::string_view name);

}  // namespace tessera::pages
