#include "tessera/models/text/detail/aligned_text.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/models/text/detail/unicode.h"
#include "tessera/tensor/error.h"

namespace tessera::text {

void Effort::fail_spent() const {
  fail("tokenizer", "a text of ", bytes_, " bytes must take at most ",
       kSteps + kStepsPerByte * bytes_, " steps, got more");
}
void Effort::fail_count(index_t count, const char* unit) const {
  fail("tokenizer", "a text of ", bytes_, " bytes must become at most ", most(), ' ', unit,
       ", got ", count);
}

Span AlignedText::origin(index_t from, index_t to) const {
  if (origins.empty()) return {begin + from, begin + to};
  const auto at = [&](index_t i) { return origins[static_cast<std::size_t>(i)]; };
  if (from < to) return {at(from).begin, at(to - 1).end};
  const index_t place = from < std::ssize(origins) ? at(from).begin : origins.back().end;
  return {place, place};
}

void check_growth(const AlignedText& text, index_t size) {
  if (text.effort != nullptr) return text.effort->check_size(size);
  const Span given = text.origin(0, std::ssize(text.text));
  Effort(given.end - given.begin).check_size(size);
}

AlignedWriter::AlignedWriter(const AlignedText& from) : from_(from) {
  written_.begin = from.begin;
  written_.effort = from.effort;
  written_.text.reserve(from.text.size());
  written_.origins.reserve(from.text.size());
}

void AlignedWriter::copy(index_t from, index_t to) {
  const auto first = static_cast<std::size_t>(from);
  const auto last = static_cast<std::size_t>(to);
  written_.text.append(from_.text, first, last - first);
  if (!from_.origins.empty()) {
    written_.origins.insert(written_.origins.end(), from_.origins.begin() + from,
                            from_.origins.begin() + to);
    return;
  }
  for (std::size_t at = first; at < last;) {
    const std::size_t size = utf8_size(from_.text[at]);
    const index_t origin = from_.begin + static_cast<index_t>(at);
    written_.origins.insert(written_.origins.end(), size,
                            Origin(origin, origin + static_cast<index_t>(size)));
    at += size;
  }
}

void AlignedWriter::put(char32_t code, Span origin) {
  append_utf8(code, written_.text);
  written_.origins.resize(written_.text.size(), origin);
}

void AlignedWriter::put(std::string_view bytes, Span origin) {
  written_.text += bytes;
  written_.origins.resize(written_.text.size(), origin);
}

void AlignedWriter::replace(AlignedText& text) {
  check_growth(text, size());
  written_.words = std::move(text.words);
  text = std::move(written_);
}

std::size_t find_beyond_ascii(std::string_view text, std::size_t at) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, 8);
    if ((eight & kHighBits) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

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
