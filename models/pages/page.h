// A page for a browser: one HTML file that needs no network, no other file and no library.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::pages {

/// The contents of a page. The HTML file holds everything that the page needs; a
/// Content-Security-Policy makes every browser refuse requests to the network.
///
///     const Page page = {.title = "Runs", .body = "<main><h1>" + escape(name) + "</h1></main>"};
///     write_page("runs.html", page);
struct Page {
  std::string title = {};                // plain text
  std::string body = {};                 // HTML
  std::vector<std::string> styles = {};  // CSS after assets/page.css, which every page has
  // JSON for the scripts, by id: a script calls
  // JSON.parse(document.getElementById(id).textContent). The file has an escape for each <, so no
  // text in the JSON ends its script element.
  std::vector<std::pair<std::string, std::string>> data = {};
  std::vector<std::string> scripts = {};  // JavaScript, run in order after the body is parsed
  std::string head = {};                  // HTML to add to <head>
};

/// The page as the text of an HTML file.
/// **Errors**: a style or a script that would end its element, because it contains `</style` or
/// `</script`.
std::string page_html(const Page& page);

/// Whether the name of a file is that of a page: the name ends in .html.
inline bool is_page(std::string_view file) {
  return file.ends_with(".html");
}

/// Writes page_html(page) as the file `path`, completely or not at all.
/// **Errors**: as page_html() and write_file().
void write_page(const std::filesystem::path& path, const Page& page);

/// Plain text for HTML, XML and attributes in quotes: & < > " ' become entities. Bytes that are not
/// UTF-8, and characters that are invalid in XML, become U+FFFD.
std::string escape(std::string_view text);

/// Plain text for Page::data, which is UTF-8: other bytes become U+FFFD.
std::string valid_utf8(std::string_view text);

/// Bytes as text for Page::data. JavaScript decodes the text with atob().
/// **Source**: RFC 4648, section 4.
std::string base64(std::string_view bytes);

/// The contents of the file `name` in assets/, as they were when the library was built.
/// **Errors**: no asset has this name.
std::string_view asset(std::string_view name);

}  // namespace tessera::pages
