#include "models/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "models/text/utf8.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::text {

namespace {

using Pieces = std::vector<Piece>;

/// Throws unless `parts` have each of so many texts once, and tokens of a vocabulary of `size`.
void check_layout(const std::vector<Layout::Part>& parts, index_t texts, index_t size) {
  std::vector<index_t> named;
  for (const Layout::Part& part : parts) {
    if (part.text != kNoText) {
      named.push_back(part.text);
      continue;
    }
    require(part.id >= 0 && part.id < size, "Tokenizer", "the layout has token ", part.id, " of ",
            size);
  }
  std::sort(named.begin(), named.end());
  bool fits = std::ssize(named) == texts;
  for (index_t i = 0; i < texts && fits; ++i) fits = named[static_cast<std::size_t>(i)] == i;
  require(fits, "Tokenizer", "a layout of ", texts, texts == 1 ? " text" : " texts",
          " must name each once, and no other");
}

void check_utf8(std::string_view text, const char* op) {
  const std::size_t bad = find_invalid_utf8(text);
  require(bad == std::string_view::npos, op, "byte ", bad,
          " is not UTF-8: ", printable(text.substr(std::min(bad, text.size()), 1)));
}

/// How many tokens of each text of a pair fit into `room`.
std::pair<index_t, index_t> lengths_in(index_t room, index_t first, index_t second,
                                       Truncation truncation) {
  const index_t excess = first + second - room;
  if (excess <= 0) return {first, second};
  if (truncation != Truncation::kLongestFirst) {
    const bool is_first = truncation == Truncation::kFirst;
    index_t& cut = is_first ? first : second;
    require(cut > excess, "encode_pair", "the ", is_first ? "first" : "second", " text has ", cut,
            " tokens, but ", excess, " are too many for max_length");
    cut -= excess;
    return {first, second};
  }
  const bool swapped = first > second;
  index_t shorter = std::min(first, second);
  index_t longer = std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = room - shorter;
  }
  return swapped ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

void cut_to(Pieces& pieces, index_t length, Side side) {
  if (side == Side::kLeft) {
    pieces.erase(pieces.begin(), pieces.end() - length);
  } else {
    pieces.erase(pieces.begin() + length, pieces.end());
  }
}

/// The tokens of the texts that `parts` names, and its special tokens if they are wanted.
Encoding assemble(const std::vector<Layout::Part>& parts, std::span<const Pieces> texts,
                  bool add_special) {
  Encoding result;
  const auto add = [&](index_t id, Span bytes, const Layout::Part& part) {
    result.ids.push_back(id);
    result.offsets.push_back(bytes);
    result.types.push_back(part.type);
    result.texts.push_back(part.text);
  };
  for (const Layout::Part& part : parts) {
    if (part.text == kNoText) {
      if (add_special) add(part.id, {}, part);
      continue;
    }
    for (const Piece& piece : texts[static_cast<std::size_t>(part.text)]) {
      add(piece.id, piece.bytes, part);
    }
  }
  return result;
}

/// How many tokens of texts fit; the largest number if there is no limit.
index_t room_in(const std::vector<Layout::Part>& parts, const EncodeOptions& options,
                const char* op) {
  const auto added = options.add_special
                         ? std::count_if(parts.begin(), parts.end(),
                                         [](const auto& part) { return part.text == kNoText; })
                         : 0;
  require(options.max_length == 0 || (options.max_length > 0 && options.max_length >= added), op,
          "max_length ", options.max_length, " has no room for ", added, " special tokens");
  return options.max_length == 0 ? std::numeric_limits<index_t>::max() : options.max_length - added;
}

}  // namespace

Layout Layout::bert(const SpecialTokens& special) {
  Layout layout;
  if (special.cls) layout.single.push_back({kNoText, 0, *special.cls});
  layout.single.push_back({0, 0});
  if (!special.sep) return layout;
  layout.single.push_back({kNoText, 0, *special.sep});
  layout.pair = layout.single;
  layout.pair.push_back({1, 1});
  layout.pair.push_back({kNoText, 1, *special.sep});
  return layout;
}

Tokenizer::Tokenizer(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)), layout_(Layout::bert(vocabulary_.special())) {}

Tokenizer::Tokenizer(Vocabulary vocabulary, Layout layout)
    : vocabulary_(std::move(vocabulary)), layout_(std::move(layout)) {
  check_layout(layout_.single, 1, size());
  if (!layout_.pair.empty()) check_layout(layout_.pair, 2, size());
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  check_utf8(text, "encode");
  const index_t room = room_in(layout_.single, options, "encode");
  Pieces pieces = split(text);
  cut_to(pieces, std::min(room, std::ssize(pieces)), options.cut);
  return assemble(layout_.single, std::span(&pieces, 1), options.add_special);
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                const EncodeOptions& options) const {
  require(!layout_.pair.empty(), "encode_pair",
          "this tokenizer has no [SEP] to put between two texts");
  check_utf8(first, "encode_pair");
  check_utf8(second, "encode_pair");
  const index_t room = room_in(layout_.pair, options, "encode_pair");
  std::array<Pieces, 2> pieces = {split(first), split(second)};
  const auto lengths =
      lengths_in(room, std::ssize(pieces[0]), std::ssize(pieces[1]), options.truncation);
  cut_to(pieces[0], lengths.first, options.cut);
  cut_to(pieces[1], lengths.second, options.cut);
  return assemble(layout_.pair, pieces, options.add_special);
}

void Tokenizer::save(const std::filesystem::path& path) const {
  const std::string text = to_text();
  write_file(path, {std::as_bytes(std::span(text))});
}

}  // namespace tessera::text
