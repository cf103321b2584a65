// Tokenizers: from a text to the numbers that a model reads, and back.
//
//   const auto words = text::WordTokenizer::of(texts);
//   text::Encoding e = words.encode("The cat sat.", {.max_length = 4});
//   e.ids;              // {2, 5, 9, 7}: [CLS] the cat sat
//   e.offsets[2];       // {4, 7}: the bytes of "cat"
//   words.decode(e.ids);
//
// A tokenizer of your own is a class with three functions: split a text, join tokens, and write the
// tokenizer down.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/vocabulary.h"

namespace tessera::text {

/// The bytes of a text from `begin` to before `end`.
struct Span {
  index_t begin = 0;
  index_t end = 0;
  bool operator==(const Span&) const = default;
};

/// A token of a text, and where it stands there.
struct Piece {
  index_t id;
  Span bytes;
};

/// Stands where a token comes from no text.
inline constexpr index_t kNoText = -1;

/// A text, or a pair of them, as tokens. All four lists have one entry a token.
struct Encoding {
  std::vector<index_t> ids;
  std::vector<Span> offsets;  // in the text given, not in a normalised one; {0, 0} for added tokens
  std::vector<index_t> types;  // token types of BERT: 0, and 1 for the second text of a pair
  std::vector<index_t> texts;  // 0 or 1, the text that a token is from; kNoText: from the layout
};

/// Where the special tokens stand around a text and around a pair.
struct Layout {
  struct Part {
    index_t text;  // 0 or 1; kNoText: the token `id` stands here
    index_t type;
    index_t id = 0;
  };
  std::vector<Part> single;
  std::vector<Part> pair;  // empty: the tokenizer knows no pairs

  /// `[CLS] A [SEP]`, and `[CLS] A [SEP] B [SEP]` with type 1 from B on. Without a [CLS] or [SEP]
  /// texts stand without it; without a [SEP] there are no pairs.
  /// **Source**: Devlin et al., "BERT", 2018, section 3.
  static Layout bert(const SpecialTokens& special);
};

/// Which text of a pair is cut where both together are too long.
enum class Truncation {
  kLongestFirst,  // the longer one, and both alike from where they are equally long
  kFirst,
  kSecond,
};

/// Which end of a text is cut off.
enum class Side { kLeft, kRight };

struct EncodeOptions {
  bool add_special = true;  // the tokens of the layout
  index_t max_length = 0;   // in tokens, the special ones included; 0: no limit
  Truncation truncation = Truncation::kLongestFirst;
  Side cut = Side::kRight;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The tokens of a text, with the layout's special tokens, at most options.max_length.
  /// **Errors**: bytes that are not UTF-8; no room for the special tokens; a token without a number
  /// where there is no unknown token.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// Two texts as one sequence. **Errors**: as encode; a layout without pairs; kFirst or kSecond
  /// where that text has too few tokens to give.
  /// **Source**: the longest-first rule is that of the tokenizers library.
  Encoding encode_pair(std::string_view first, std::string_view second,
                       const EncodeOptions& options = {}) const;

  /// The text of `ids`, as far as the tokens still tell it. Errors: no such number.
  virtual std::string decode(std::span<const index_t> ids) const = 0;

  /// The tokenizer as text, from which tokenizer_from_text (tokenizers.h) makes the same again.
  virtual std::string to_text() const = 0;
  /// Writes to_text, whole or not at all. **Errors**: as write_file.
  void save(const std::filesystem::path& path) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const SpecialTokens& special() const { return vocabulary_.special(); }
  const Layout& layout() const { return layout_; }
  index_t size() const { return vocabulary_.size(); }
  /// As Vocabulary::id and Vocabulary::token.
  index_t id(std::string_view token) const { return vocabulary_.id(token); }
  const std::string& token(index_t id) const { return vocabulary_.token(id); }

 protected:
  /// With the layout of BERT, as far as the vocabulary has the tokens for it.
  explicit Tokenizer(Vocabulary vocabulary);
  /// **Errors**: a layout that leaves out a text, or names one twice; a token without a number.
  Tokenizer(Vocabulary vocabulary, Layout layout);
  Tokenizer(const Tokenizer&) = default;
  Tokenizer& operator=(const Tokenizer&) = default;

 private:
  /// The tokens of `text`, which is UTF-8, in its order; none that a layout adds.
  virtual std::vector<Piece> split(std::string_view text) const = 0;

  Vocabulary vocabulary_;
  Layout layout_;
};

}  // namespace tessera::text
