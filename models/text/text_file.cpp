#include "models/text/text_file.h"

#include <algorithm>
#include <string_view>

#include "models/text/utf8.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::text {

namespace {

void check_utf8(const std::string& text, const std::string& file) {
  const std::size_t bad = find_invalid_utf8(text);
  if (bad == std::string::npos) return;
  const auto at = text.begin() + static_cast<std::ptrdiff_t>(bad);
  const auto line = std::count(text.begin(), at, '\n') + 1;
  const std::size_t line_start = bad == 0 ? 0 : text.rfind('\n', bad - 1) + 1;
  fail_file(file, "line ", line, ", byte ", bad - line_start + 1,
            ": not UTF-8: ", printable(std::string_view(text).substr(bad, 1)));
}

}  // namespace

std::string read_text(const std::filesystem::path& path) {
  const InputFile file(path);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, text.data(), file.size());
  check_utf8(text, file.name());
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  std::size_t end = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    text[end++] = text[i];
  }
  text.resize(end);
  if (text.empty()) fail_file(file.name(), "the file is empty");
  return text;
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace tessera::text
