#include "models/text/detail/decoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "models/text/character_tokenizer.h"
#include "models/text/detail/byte_characters.h"
#include "models/text/detail/normalizer.h"
#include "models/text/detail/step_list.h"
#include "models/text/utf8.h"
#include "tensor/io/detail/utf8.h"
#include "tensor/io/file.h"

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

class WordPieceDecoder final : public Decoder {
 public:
  explicit WordPieceDecoder(const Json& json)
      : prefix_(json.text("prefix", "##")), cleans_(json.boolean("cleanup", true)) {}

  void apply(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && tokens[i].starts_with(prefix_)) {
        tokens[i].erase(0, prefix_.size());
      } else if (i > 0) {
        tokens[i].insert(0, 1, ' ');
      }
      if (cleans_) clean_up(tokens[i]);
    }
  }

 private:
  std::string prefix_;
  bool cleans_;
};

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

class ByteLevelDecoder final : public Decoder {
 public:
  void apply(Tokens& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      const std::optional<std::string> own = bytes_of_characters(token);
      bytes += own ? *own : token;
    }
    tokens = {readable(bytes)};
  }
};

class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(const Json& json)
      : replacement_(json.text("replacement", "\xe2\x96\x81")),
        drops_first_(json.has("prepend_scheme") ? json.text("prepend_scheme") != "never"
                                                : json.boolean("add_prefix_space", true)) {}

  void apply(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      replace_all(tokens[i], replacement_, i == 0 && drops_first_ ? "" : " ");
    }
  }

 private:
  std::string replacement_;
  bool drops_first_;
};

/// Replaces the ends of words by spaces.
class BytePairDecoder final : public Decoder {
 public:
  explicit BytePairDecoder(const Json& json) : suffix_(json.text("suffix", "</w>")) {}

  void apply(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    }
  }

 private:
  std::string suffix_;
};

/// Replaces text like the normalizer of that name.
class ReplaceDecoder final : public Decoder {
 public:
  explicit ReplaceDecoder(const Json& json) : replace_(read_normalizer(json)) {}

  void apply(Tokens& tokens) const override {
    index_t bytes = 0;
    for (const std::string& token : tokens) bytes += std::ssize(token);
    Effort effort(bytes);
    for (std::string& token : tokens) {
      AlignedText text{std::move(token), {}, 0, &effort};
      replace_->apply(text);
      effort.keep(std::ssize(text.text));
      token = std::move(text.text);
    }
  }

 private:
  std::unique_ptr<Normalizer> replace_;
};

class FuseDecoder final : public Decoder {
 public:
  void apply(Tokens& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens = {std::move(all)};
  }
};

/// Removes a character from the ends of each token, at most a given number of times.
class StripDecoder final : public Decoder {
 public:
  explicit StripDecoder(const Json& json)
      : content_(json.text("content")),
        left_(json.integer("start", JsonRange{0, kMost}, 0)),
        right_(json.integer("stop", JsonRange{0, kMost}, 0)) {
    if (content_.empty()) json.at("content").fail("must be a character, got an empty text");
  }

  void apply(Tokens& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (index_t i = 0; i < left_ && rest.starts_with(content_); ++i) {
        rest.remove_prefix(content_.size());
      }
      for (index_t i = 0; i < right_ && rest.ends_with(content_); ++i) {
        rest.remove_suffix(content_.size());
      }
      token = std::string(rest);
    }
  }

 private:
  static constexpr index_t kMost = 1'000'000'000;
  std::string content_;
  index_t left_;
  index_t right_;
};

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
class ByteFallbackDecoder final : public Decoder {
 public:
  void apply(Tokens& tokens) const override {
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
};

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(const Json& json) {
    for (const Json& one : step_list(json, "decoders")) steps_.push_back(read_decoder(one));
  }
  void apply(Tokens& tokens) const override {
    index_t given = 0;
    for (const std::string& token : tokens) given += std::ssize(token);
    Effort effort(given);
    for (const auto& step : steps_) {
      step->apply(tokens);
      index_t bytes = 0;
      for (const std::string& token : tokens) bytes += std::ssize(token);
      effort.check_size(bytes);
      effort.spend(bytes + std::ssize(tokens));
    }
  }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
};

}  // namespace

std::unique_ptr<Decoder> read_decoder(const Json& json) {
  const std::string type = json.text("type");
  if (type == "WordPiece") return std::make_unique<WordPieceDecoder>(json);
  if (type == "ByteLevel") return std::make_unique<ByteLevelDecoder>();
  if (type == "Metaspace") return std::make_unique<MetaspaceDecoder>(json);
  if (type == "BPEDecoder") return std::make_unique<BytePairDecoder>(json);
  if (type == "Replace") return std::make_unique<ReplaceDecoder>(json);
  if (type == "Fuse") return std::make_unique<FuseDecoder>();
  if (type == "Strip") return std::make_unique<StripDecoder>(json);
  if (type == "ByteFallback") return std::make_unique<ByteFallbackDecoder>();
  if (type == "Sequence") return std::make_unique<DecoderSequence>(json);
  json.at("type").fail(
      "must be WordPiece, ByteLevel, Metaspace, BPEDecoder, Replace, Fuse, Strip, ByteFallback or "
      "Sequence, got ",
      printable(type));
}

}  // namespace tessera::text
