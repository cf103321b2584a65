#include "tessera/models/text/detail/unicode_forms.h"

#include <algorithm>

#include "tessera/models/text/detail/unicode.h"

namespace tessera::text {

namespace {

struct Part : Change {
  int combining_class;
};

std::vector<Part> decomposed(const Characters& characters, bool compatibility) {
  std::vector<Part> parts;
  parts.reserve(characters.size());
  const auto by_class = [](const Part& a, const Part& b) {
    return a.combining_class < b.combining_class;
  };
  std::ptrdiff_t marks = 0;  // the first mark whose position may still change
  for (const Character& character : characters) {
    int change = 0;
    for (const char32_t code : decomposition(character.code, compatibility)) {
      const int combining = combining_class(code);
      if (combining == 0) std::stable_sort(parts.begin() + marks, parts.end(), by_class);
      parts.push_back({{code, change}, combining});
      if (combining == 0) marks = std::ssize(parts);
      change = 1;
    }
  }
  std::stable_sort(parts.begin() + marks, parts.end(), by_class);
  return parts;
}

void compose(std::vector<Part>& parts) {
  std::size_t size = 0;
  Part* starter = nullptr;
  int last = 0;  // the class of the previous mark since the starter
  for (const Part& part : parts) {
    if (starter != nullptr && (last == 0 || last < part.combining_class)) {
      if (const char32_t code = composition(starter->code, part.code); code != 0) {
        starter->code = code;
        starter->change += part.change - 1;
        continue;
      }
    }
    parts[size] = part;
    if (part.combining_class == 0) starter = &parts[size];
    last = part.combining_class;
    ++size;
  }
  parts.resize(size);
}

}  // namespace

Characters in_form(const Characters& characters, UnicodeForm form) {
  std::vector<Part> parts = decomposed(characters, form.compatibility);
  if (form.composed) compose(parts);
  std::vector<Change> changes(parts.begin(), parts.end());
  return realigned(characters, changes);
}

}  // namespace tessera::text
