#include "tessera/models/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <utility>

#include "tessera/models/text/utf8.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::text {

namespace {

using Pieces = std::vector<Piece>;

/// "0, 1"
std::string parts_named(const std::vector<index_t>& texts) {
  std::string names;
  for (const index_t text : texts) names += str_cat(names.empty() ? "" : ", ", text);
  return names.empty() ? "none" : names;
}

/// Throws if `parts` do not have each text once, or have tokens outside a vocabulary of `size`.
void check_frame(const std::vector<Frame::Part>& parts, index_t texts, index_t size) {
  std::vector<index_t> named;
  for (const Frame::Part& part : parts) {
    if (part.text != kNoText) {
      named.push_back(part.text);
      continue;
    }
    require(part.id >= 0 && part.id < size, "Tokenizer",
            "tokens of a frame must be at least 0 and below ", size, ", got ", part.id);
  }
  std::sort(named.begin(), named.end());
  bool fits = std::ssize(named) == texts;
  for (index_t i = 0; i < texts && fits; ++i) fits = named[static_cast<std::size_t>(i)] == i;
  require(fits, "Tokenizer", "a frame of ", texts, texts == 1 ? " text" : " texts",
          " must name each once, got ", parts_named(named));
}

/// The length of a text for the comparison of two: the number of tokens, or for a text that is too
/// long by itself, the whole words that reach max_length from the kept end. **Source**: the
/// tokenizers library, 0.23.
index_t compared_length(const Pieces& pieces, const EncodeOptions& options) {
  const index_t size = std::ssize(pieces);
  if (options.max_length >= size) return size;
  const auto word = [&](index_t i) {
    const index_t at = options.truncation_side == Side::kRight ? i : size - 1 - i;
    return pieces[static_cast<std::size_t>(at)].word;
  };
  index_t length = options.max_length;
  while (length > 0 && length < size && word(length) == word(length - 1)) ++length;
  return length;
}

/// The numbers of tokens of each text of a pair that fit into `room`.
std::pair<index_t, index_t> lengths_in(index_t room, index_t first, index_t second,
                                       bool first_is_longer, Truncation truncation,
                                       const char* op) {
  const index_t excess = first + second - room;
  if (excess <= 0) return {first, second};
  if (truncation != Truncation::kLongestFirst) {
    const bool is_first = truncation == Truncation::kOnlyFirst;
    index_t& cut = is_first ? first : second;
    require(cut > excess, op, "the ", is_first ? "first" : "second", " text must have more than ",
            excess, " tokens, which are too many for max_length, got ", cut);
    cut -= excess;
    return {first, second};
  }
  index_t shorter = std::min(first, second);
  index_t longer = std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = room - shorter;
  }
  return first_is_longer ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

/// The begin and end of windows of `length` tokens, from the kept end.
std::vector<Span> windows_of(index_t tokens, index_t length, index_t step, Side cut) {
  std::vector<Span> windows;
  for (index_t begin = 0;; begin += step) {
    const index_t end = std::min(begin + length, tokens);
    windows.push_back(cut == Side::kRight ? Span{begin, end} : Span{tokens - end, tokens - begin});
    if (end == tokens || step == 0) return windows;
  }
}

std::span<Piece> pieces_at(Pieces& pieces, Span range) {
  return {pieces.data() + range.begin, pieces.data() + range.end};
}

/// The tokens of the texts in `parts`, and its special tokens if requested. The pieces are freed
/// half-way, because both together would exceed the memory limit of long texts.
Encoding assemble(const std::vector<Frame::Part>& parts, std::array<Pieces, 2> pieces,
                  const std::array<Span, 2>& chosen, bool add_special_tokens) {
  const std::array<index_t, 2> sizes = {chosen[0].end - chosen[0].begin,
                                        chosen[1].end - chosen[1].begin};
  const std::size_t count = parts.size() + static_cast<std::size_t>(sizes[0] + sizes[1]);
  Encoding result;
  result.ids.reserve(count);
  result.offsets.reserve(count);
  result.word_ids.reserve(count);
  const auto add = [&](const Piece& piece) {
    result.ids.push_back(piece.id);
    result.offsets.push_back(piece.bytes);
    result.word_ids.push_back(piece.word);
  };
  for (const Frame::Part& part : parts) {
    if (part.text == kNoText) {
      if (add_special_tokens) add({part.id, {}, kNoText});
      continue;
    }
    const auto text = static_cast<std::size_t>(part.text);
    for (const Piece& piece : pieces_at(pieces[text], chosen[text])) add(piece);
  }
  pieces = {};
  result.type_ids.reserve(count);
  result.sequence_ids.reserve(count);
  for (const Frame::Part& part : parts) {
    const index_t tokens = part.text != kNoText ? sizes[static_cast<std::size_t>(part.text)]
                           : add_special_tokens ? 1
                                                : 0;
    result.type_ids.insert(result.type_ids.end(), static_cast<std::size_t>(tokens), part.type);
    result.sequence_ids.insert(result.sequence_ids.end(), static_cast<std::size_t>(tokens),
                               part.text);
  }
  return result;
}

/// The number of tokens of texts that fit; the largest number if there is no limit.
index_t room_in(const std::vector<Frame::Part>& parts, const EncodeOptions& options,
                const char* op) {
  const auto added = options.add_special_tokens
                         ? std::count_if(parts.begin(), parts.end(),
                                         [](const auto& part) { return part.text == kNoText; })
                         : 0;
  require(options.max_length == 0 || (options.max_length > 0 && options.max_length >= added), op,
          "max_length must be 0 or at least ", added, ", the number of special tokens, got ",
          options.max_length);
  return options.max_length == 0 ? std::numeric_limits<index_t>::max() : options.max_length - added;
}

/// encoding(i) for each i below `count`, whose text has size(i) bytes, on all threads.
template <class Size, class Encode>
std::vector<Encoding> in_parallel(index_t count, const Size& size, const Encode& encoding) {
  constexpr index_t kPerTask = 32;
  constexpr index_t kCostOfByte = 64;  // in elementary operations
  std::vector<Encoding> result(static_cast<std::size_t>(count));
  const index_t tasks = (count + kPerTask - 1) / kPerTask;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(tasks));
  index_t bytes = 0;
  for (index_t i = 0; i < count; ++i) bytes += size(i);
  kernels::parallel_tasks(
      tasks, kernels::worker_count(tasks, bytes * kCostOfByte), [&](index_t task, index_t) {
        try {
          for (index_t i = task * kPerTask; i < std::min(count, (task + 1) * kPerTask); ++i) {
            result[static_cast<std::size_t>(i)] = encoding(i);
          }
        } catch (...) {
          errors[static_cast<std::size_t>(task)] = std::current_exception();
        }
      });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return result;
}

}  // namespace

void report_cut(std::span<const Encoding> encodings, index_t max_length, const CutReport& report) {
  const index_t count = std::ranges::count_if(
      encodings, [](const Encoding& encoding) { return encoding.num_truncated > 0; });
  if (count > 0 && report) report(count, max_length);
}

Frame Frame::bert(const SpecialTokens& special) {
  Frame frame;
  if (special.cls) frame.single.push_back({kNoText, 0, *special.cls});
  frame.single.push_back({0, 0});
  if (!special.sep) return frame;
  frame.single.push_back({kNoText, 0, *special.sep});
  frame.pair = frame.single;
  frame.pair.push_back({1, 1});
  frame.pair.push_back({kNoText, 1, *special.sep});
  return frame;
}

Tokenizer::Tokenizer(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)), frame_(Frame::bert(vocabulary_.special())) {}

Tokenizer::Tokenizer(Vocabulary vocabulary, Frame frame, const TokenizerSettings& settings)
    : vocabulary_(std::move(vocabulary)), frame_(std::move(frame)), settings_(settings) {
  check_frame(frame_.single, 1, size());
  if (!frame_.pair.empty()) check_frame(frame_.pair, 2, size());
}

/// One text or a pair, as all of its windows or only the first.
std::vector<Encoding> Tokenizer::encode_texts(std::span<const std::string_view> texts,
                                              const EncodeOptions& options, bool all,
                                              const char* op) const {
  const auto& parts = texts.size() == 2 ? frame_.pair : frame_.single;
  require(!parts.empty(), op, "the tokenizer must have a [SEP] to put between two texts, got none");
  const index_t room = room_in(parts, options, op);
  std::array<Pieces, 2> pieces;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    check_utf8(texts[i], op);
    const bool special = !options.split_special_tokens && !settings_.split_special_tokens;
    pieces[i] = special ? split(texts[i]) : split_plain(texts[i]);
    for (std::size_t j = 0; j < pieces[i].size(); ++j) {
      if (pieces[i][j].word < 0) pieces[i][j].word = static_cast<index_t>(j);
    }
  }
  const std::array<index_t, 2> sizes = {std::ssize(pieces[0]), std::ssize(pieces[1])};
  const auto lengths =
      texts.size() == 2
          ? lengths_in(room, sizes[0], sizes[1],
                       compared_length(pieces[0], options) > compared_length(pieces[1], options),
                       options.truncation, op)
          : std::pair(std::min(room, sizes[0]), index_t{0});
  std::array<std::vector<Span>, 2> windows;
  for (std::size_t i = 0; i < 2; ++i) {
    const index_t length = i == 0 ? lengths.first : lengths.second;
    require(!all || length == sizes[i] || (options.stride >= 0 && options.stride < length), op,
            "stride must be at least 0 and below ", length, ", the tokens of a window, got ",
            options.stride);
    windows[i] =
        windows_of(sizes[i], length, all ? length - options.stride : 0, options.truncation_side);
  }

  std::vector<Encoding> result;
  const auto add = [&](std::size_t first, std::size_t second) {
    std::array<Span, 2> chosen = {windows[0][first], windows[1][second]};
    std::array<Pieces, 2> own;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::span<Piece> window = pieces_at(pieces[i], chosen[i]);
      if (all) {  // the next window may share them
        own[i].assign(window.begin(), window.end());
        chosen[i] = {0, std::ssize(window)};
      } else {
        own[i] = std::move(pieces[i]);
      }
      trim(texts[i], pieces_at(own[i], chosen[i]));
    }
    result.push_back(assemble(parts, std::move(own), chosen, options.add_special_tokens));
  };
  add(0, 0);
  if (!all) {
    result.back().num_truncated = sizes[0] + sizes[1] - lengths.first - lengths.second;
    return result;
  }
  for (std::size_t i = 1; i < windows[0].size(); ++i) {
    for (std::size_t j = 0; j < windows[1].size(); ++j) add(i, j);
  }
  for (std::size_t j = 1; j < windows[1].size(); ++j) add(0, j);
  return result;
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  return std::move(encode_texts({&text, 1}, options, false, "encode").front());
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                const EncodeOptions& options) const {
  return std::move(encode_texts(std::array{first, second}, options, false, "encode_pair").front());
}

std::vector<Encoding> Tokenizer::encode_windows(std::string_view text,
                                                const EncodeOptions& options) const {
  return encode_texts({&text, 1}, options, true, "encode_windows");
}

std::vector<Encoding> Tokenizer::encode_pair_windows(std::string_view first,
                                                     std::string_view second,
                                                     const EncodeOptions& options) const {
  return encode_texts(std::array{first, second}, options, true, "encode_pair_windows");
}

std::vector<Encoding> Tokenizer::encode_batch(ListOf<std::string> texts,
                                              const EncodeOptions& options) const {
  const ProfileScope scope("tokenize");
  return in_parallel(
      std::ssize(texts), [&](index_t i) { return std::ssize(texts[static_cast<std::size_t>(i)]); },
      [&](index_t i) { return encode(texts[static_cast<std::size_t>(i)], options); });
}

std::vector<Encoding> Tokenizer::encode_batch(ListOf<TextPair> pairs,
                                              const EncodeOptions& options) const {
  const ProfileScope scope("tokenize");
  const auto pair = [&](index_t i) -> const TextPair& {
    return pairs[static_cast<std::size_t>(i)];
  };
  return in_parallel(
      std::ssize(pairs),
      [&](index_t i) { return std::ssize(pair(i).first) + std::ssize(pair(i).second); },
      [&](index_t i) { return encode_pair(pair(i).first, pair(i).second, options); });
}

std::string Tokenizer::decode_text(std::span<const index_t> ids) const {
  std::vector<index_t> kept;
  for (const index_t id : ids) {
    if (!is_special(id)) kept.push_back(id);
  }
  return decode(kept);
}

void Tokenizer::save(const std::filesystem::path& path) const {
  write_text(path, to_text());
}

}  // namespace tessera::text
