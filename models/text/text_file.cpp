#include "tessera/models/text/text_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tessera/models/text/utf8.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::text {

namespace {

void require_utf8_file(const std::string& text, const std::string& file) {
  const std::size_t bad = find_invalid_utf8(text);
  if (bad == std::string::npos) return;
  const auto at = text.begin() + static_cast<std::ptrdiff_t>(bad);
  const auto line = std::count(text.begin(), at, '\n') + 1;
  const std::size_t line_start = bad == 0 ? 0 : text.rfind('\n', bad - 1) + 1;
  fail_file(file, "line ", line, ", byte ", bad - line_start + 1, ": must be UTF-8, got ",
            printable(std::string_view(text).substr(bad, 1)));
}

}  // namespace

std::string read_text(const std::filesystem::path& path) {
  const ProfileScope scope("read text");
  const InputFile file(path);
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, bytes.data(), file.size());
  return clean_text(std::move(bytes), file.name());
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  return split_lines(read_text(path));
}

std::string clean_text(std::string bytes, const std::string& name) {
  require_utf8_file(bytes, name);
  if (bytes.starts_with(kByteOrderMark)) bytes.erase(0, kByteOrderMark.size());
  std::size_t end = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n') continue;
    bytes[end++] = bytes[i];
  }
  bytes.resize(end);
  if (bytes.empty()) fail_file(name, "must have at least 1 byte, got none");
  return bytes;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace tessera::text
