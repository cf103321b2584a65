#include "tessera/models/pages/page.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "tessera/tensor/error.h"
#include "tessera/tensor/io/detail/utf8.h"
#include "tessera/tensor/io/file.h"

namespace tessera::pages {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

/// Whether XML 1.0 has the character that `text`, valid UTF-8, begins with.
bool is_xml(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x20) return first == '\t' || first == '\n' || first == '\r';
  return text != "\xef\xbf\xbe" && text != "\xef\xbf\xbf";
}

/// `text` with each character replaced by `write(character)`; what is no UTF-8 is U+FFFD.
template <class Write>
std::string by_character(std::string_view text, const Write& write) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = detail::code_point_size(text);
    out += size == 0 ? kReplacement : write(text.substr(0, size));
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

/// Throws if `text` would end the element `name` that it stands in.
void check_stays_inside(std::string_view name, const std::string& text) {
  std::string small = text;
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  require(small.find("</" + std::string(name)) == std::string::npos, "page_html", name,
          " must not contain '</", name, "', which would end it");
}

std::string element(std::string_view name, const std::string& attributes, const std::string& text) {
  check_stays_inside(name, text);
  const std::string tag(name);
  return "<" + tag + attributes + ">\n" + text + "\n</" + tag + ">\n";
}

/// JSON in which < is its escape; only texts contain it.
std::string without_less_than(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string escape(std::string_view text) {
  return by_character(text, [](std::string_view character) -> std::string_view {
    if (!is_xml(character)) return kReplacement;
    switch (character.front()) {
      case '&':
        return "&amp;";
      case '<':
        return "&lt;";
      case '>':
        return "&gt;";
      case '"':
        return "&quot;";
      case '\'':
        return "&#39;";
      default:
        return character;
    }
  });
}

std::string valid_utf8(std::string_view text) {
  return by_character(text, [](std::string_view character) { return character; });
}

std::string base64(std::string_view bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t at = i + k;
      group = group << 8 | (at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kDigits[(group >> (18 - 6 * k)) & 63];
    }
  }
  return text;
}

std::string page_html(const Page& page) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n"
      "<title>" +
      escape(page.title) + "</title>\n" + page.head;
  html += element("style", "", std::string(asset("page.css")));
  for (const std::string& style : page.styles) html += element("style", "", style);
  html += "</head>\n<body>\n" + page.body + '\n';
  for (const auto& [id, json] : page.data) {
    html += element("script", " type=\"application/json\" id=\"" + escape(id) + "\"",
                    without_less_than(json));
  }
  for (const std::string& script : page.scripts) html += element("script", "", script);
  return html + "</body>\n</html>\n";
}

void write_page(const std::filesystem::path& path, const Page& page) {
  write_text(path, page_html(page));
}

}  // namespace tessera::pages
