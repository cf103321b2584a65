#include "models/text/detail/characters.h"

#include <algorithm>

#include "models/text/detail/unicode.h"

namespace tessera::text {

Characters characters_of(const AlignedText& text, index_t from, index_t to) {
  Characters result;
  result.reserve(static_cast<std::size_t>(to - from));
  for (index_t at = from; at < to;) {
    const char32_t code = code_point_at(text.text, static_cast<std::size_t>(at));
    const index_t next = at + static_cast<index_t>(utf8_size(code));
    result.push_back({code, text.origin(at, next)});
    at = next;
  }
  return result;
}

void put(const Characters& characters, AlignedWriter& writer) {
  for (const Character& character : characters) writer.put(character.code, character.origin);
}

Characters realigned(const Characters& old, std::span<const Change> changes) {
  Characters result;
  if (old.empty()) return result;
  result.reserve(changes.size());
  const index_t start = old.front().origin.begin;
  index_t next = 0;
  for (const Change& change : changes) {
    const index_t from =
        std::min<index_t>(change.change > 0 ? next - 1 : next, std::ssize(old) - 1);
    const Origin origin =
        from < 0 ? Origin(start, start) : old[static_cast<std::size_t>(from)].origin;
    result.push_back({change.code, origin});
    if (change.change <= 0) next += 1 - change.change;
  }
  return result;
}

}  // namespace tessera::text
