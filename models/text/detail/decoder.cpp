#include "tessera/models/text/detail/steps.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/models/text/character_tokenizer.h"
#include "tessera/models/text/detail/byte_level.h"
#include "tessera/models/text/utf8.h"
#include "tessera/tensor/io/detail/utf8.h"
#include "tessera/tensor/io/file.h"

namespace tessera::text {

namespace {

using Tokens = std::vector<std::string>;

constexpr std::string_view kUnreadable = "\xef\xbf\xbd";  // U+FFFD

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, done)) {
    result.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  if (done > 0) text = std::move(result.append(text, done));
}

/// English punctuation: no space before a full stop, or inside "don't".
void clean_up(std::string& text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kSteps = {
      {{" .", "."},
       {" ?", "?"},
       {" !", "!"},
       {" ,", ","},
       {" ' ", "'"},
       {" n't", "n't"},
       {" 'm", "'m"},
       {" do not", " don't"},
       {" 's", "'s"},
       {" 've", "'ve"},
       {" 're", "'re"}}};
  for (const auto& [from, to] : kSteps) replace_all(text, from, to);
}

Decoder word_piece_decoder(const Json& json) {
  return
      [prefix = json.text("prefix", "##"), cleans = json.boolean("cleanup", true)](Tokens& tokens) {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
          if (i > 0 && tokens[i].starts_with(prefix)) {
            tokens[i].erase(0, prefix.size());
          } else if (i > 0) {
            tokens[i].insert(0, 1, ' ');
          }
          if (cleans) clean_up(tokens[i]);
        }
      };
}

/// `bytes` as UTF-8, with U+FFFD for each longest part that begins a code point without completing
/// it.
/// **Source**: The Unicode Standard, section 3.9, "U+FFFD substitution of maximal subparts".
std::string readable(const std::string& bytes) {
  std::string text;
  const std::string_view all = bytes;
  for (std::size_t at = 0; at < all.size();) {
    const std::string_view rest = all.substr(at);
    const std::size_t size = detail::code_point_size(rest);
    if (size > 0) {
      text.append(rest.substr(0, size));
      at += size;
      continue;
    }
    // The largest number of bytes that begin some code point: with a smallest or a largest last
    // byte, they are UTF-8.
    std::size_t part = 1;
    const auto begins = [&](std::size_t bytes_taken) {
      for (const char next : {'\x80', '\xbf'}) {
        std::string trial(rest.substr(0, bytes_taken));
        while (trial.size() < 4) {
          trial += next;
          if (detail::code_point_size(trial) > 0) return true;
        }
      }
      return false;
    };
    while (part < std::min<std::size_t>(rest.size(), 3) && begins(part + 1)) ++part;
    text += kUnreadable;
    at += part;
  }
  return text;
}

void decode_byte_level(Tokens& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) {
    const std::optional<std::string> own = bytes_of_characters(token);
    bytes += own ? *own : token;
  }
  tokens = {readable(bytes)};
}

Decoder metaspace_decoder(const Json& json) {
  const bool drops_first = json.has("prepend_scheme") ? json.text("prepend_scheme") != "never"
                                                      : json.boolean("add_prefix_space", true);
  return [drops_first, replacement = json.text("replacement", "\xe2\x96\x81")](Tokens& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      replace_all(tokens[i], replacement, i == 0 && drops_first ? "" : " ");
    }
  };
}

/// Replaces the ends of words by spaces.
Decoder byte_pair_decoder(const Json& json) {
  return [suffix = json.text("suffix", "</w>")](Tokens& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      replace_all(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
    }
  };
}

index_t byte_count(const Tokens& tokens) {
  index_t bytes = 0;
  for (const std::string& token : tokens) bytes += std::ssize(token);
  return bytes;
}

/// Replaces text like the normalizer of that name.
Decoder replace_decoder(const Json& json) {
  return [normalizer = read_normalizer(json)](Tokens& tokens) {
    Effort effort(byte_count(tokens));
    for (std::string& token : tokens) {
      AlignedText text{std::move(token), {}, 0, &effort};
      normalizer(text);
      effort.keep(std::ssize(text.text));
      token = std::move(text.text);
    }
  };
}

void fuse_tokens(Tokens& tokens) {
  std::string all;
  for (const std::string& token : tokens) all += token;
  tokens = {std::move(all)};
}

/// Removes a character from the ends of each token, at most a given number of times.
Decoder strip_decoder(const Json& json) {
  constexpr index_t kMost = 1'000'000'000;
  const std::string content = json.text("content");
  if (content.empty()) json.at("content").fail("must be a character, got an empty text");
  return [content, left = json.integer("start", JsonRange{0, kMost}, 0),
          right = json.integer("stop", JsonRange{0, kMost}, 0)](Tokens& tokens) {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (index_t i = 0; i < left && rest.starts_with(content); ++i) {
        rest.remove_prefix(content.size());
      }
      for (index_t i = 0; i < right && rest.ends_with(content); ++i) {
        rest.remove_suffix(content.size());
      }
      token = std::string(rest);
    }
  };
}

/// The byte of "<0x0A>", nullopt for other tokens.
std::optional<char> byte_of(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = 16 * value + digit;
  }
  return static_cast<char>(value);
}

/// Replaces runs of tokens that represent one byte each by their text, or by one U+FFFD per byte.
void decode_bytes(Tokens& tokens) {
  Tokens result;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    if (find_invalid_utf8(bytes) == std::string_view::npos) {
      result.push_back(bytes);
    } else {
      result.insert(result.end(), bytes.size(), std::string(kUnreadable));
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    if (const std::optional<char> byte = byte_of(token)) {
      bytes += *byte;
    } else {
      flush();
      result.push_back(std::move(token));
    }
  }
  flush();
  tokens = std::move(result);
}

Decoder decoder_sequence(const Json& json) {
  std::vector<Decoder> steps;
  for (const Json& one : step_list(json, "decoders")) steps.push_back(read_decoder(one));
  return [steps = std::move(steps)](Tokens& tokens) {
    Effort effort(byte_count(tokens));
    for (const Decoder& step : steps) {
      step(tokens);
      const index_t bytes = byte_count(tokens);
      effort.check_size(bytes);
      effort.spend(bytes + std::ssize(tokens));
    }
  };
}

}  // namespace

Decoder read_decoder(const Json& json) {
  const std::string type = json.text("type");
  if (type == "WordPiece") return word_piece_decoder(json);
  if (type == "ByteLevel") return decode_byte_level;
  if (type == "Metaspace") return metaspace_decoder(json);
  if (type == "BPEDecoder") return byte_pair_decoder(json);
  if (type == "Replace") return replace_decoder(json);
  if (type == "Fuse") return fuse_tokens;
  if (type == "Strip") return strip_decoder(json);
  if (type == "ByteFallback") return decode_bytes;
  if (type == "Sequence") return decoder_sequence(json);
  json.at("type").fail(
      "must be WordPiece, ByteLevel, Metaspace, BPEDecoder, Replace, Fuse, Strip, ByteFallback or "
      "Sequence, got ",
      printable(type));
}

}  // namespace tessera::text
