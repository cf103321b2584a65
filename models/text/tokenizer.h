// Tokenizers: convert a text to ids for a model, and back.
//
//   const auto words = text::WordTokenizer::of(texts);
//   text::Encoding e = words.encode("The cat sat.", {.max_length = 4});
//   e.ids;              // {2, 5, 9, 7}: [CLS] the cat sat
//   e.offsets[2];       // {4, 7}: the bytes of "cat"
//   words.decode(e.ids);
//   words.encode_batch(texts);                                      // on all threads
//   words.encode_windows(long_text, {.max_length = 128, .stride = 32});
//
// A new tokenizer is a class with three functions: `split` divides a text into tokens, `decode`
// joins tokens, and `to_text` writes the tokenizer as text.
#pragma once

#include <concepts>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/text/vocabulary.h"

namespace tessera::text {

/// The bytes of a text from `begin` to before `end`.
struct Span {
  index_t begin = 0;
  index_t end = 0;
  bool operator==(const Span&) const = default;
};

/// The bytes `bytes` of `text`, which must be inside of `text`.
inline std::string_view text_at(std::string_view text, Span bytes) {
  return text.substr(static_cast<std::size_t>(bytes.begin),
                     static_cast<std::size_t>(bytes.end - bytes.begin));
}

/// A token of a text, and its position in the text.
struct Piece {
  index_t id;
  Span bytes;
  index_t word = -1;  // the index of the word that contains the token; -1: the token is a word
};

/// For a token that is not from a text: its value in Encoding::sequence_ids, Encoding::word_ids and
/// Frame::Part::text.
inline constexpr index_t kNoText = -1;

/// A text, or a pair of texts, as tokens. The lists have one entry per token.
struct Encoding {
  std::vector<index_t> ids;
  // The position of the token in its text before normalisation; {0, 0}: a special token that the
  // Frame adds.
  std::vector<Span> offsets;
  std::vector<index_t> type_ids;  // token types of the frame, such as BERT's 0 and 1
  std::vector<index_t>
      sequence_ids;               // the index of the token's text, 0 or 1; kNoText: from the frame
  std::vector<index_t> word_ids;  // the index of the token's word in its text; kNoText: no word
  index_t num_truncated = 0;      // tokens that max_length truncated; 0 for a window
};

/// Gets the number of truncated texts, and the limit in tokens.
using CutReport = std::function<void(index_t texts, index_t tokens)>;
/// Calls `report`, if there is one, if max_length has truncated some of the encodings.
void report_cut(std::span<const Encoding> encodings, index_t max_length, const CutReport& report);

/// The positions of the special tokens around a text and around a pair.
struct Frame {
  /// One special token, or one of the texts.
  struct Part {
    index_t text;  // 0 or 1; kNoText: the token `id`
    index_t type;
    index_t id = 0;
  };
  std::vector<Part> single;
  std::vector<Part> pair;  // empty: pairs are not supported

  /// `[CLS] A [SEP]`, and `[CLS] A [SEP] B [SEP]` with type 1 from B on. If the vocabulary lacks
  /// [CLS] or [SEP], only the missing token is left out. Without [SEP], pairs are not supported.
  /// **Source**: Devlin et al., "BERT", 2018, section 3.
  static Frame bert(const SpecialTokens& special);
};

/// The text of a pair that is truncated if the pair is too long.
enum class Truncation {
  kLongestFirst,  // the longer one, until both are equally long; then both
  kOnlyFirst,
  kOnlySecond,
};

/// The end of a text that is truncated.
enum class Side { kLeft, kRight };

/// The options of encode and its variants.
struct EncodeOptions {
  bool add_special_tokens = true;  // add the special tokens of the frame
  index_t max_length = 0;          // in tokens, including special ones; 0: no limit
  Truncation truncation = Truncation::kLongestFirst;
  Side truncation_side = Side::kRight;
  index_t stride = 0;                 // the number of tokens that a window shares with the next one
  bool split_special_tokens = false;  // true: a "[SEP]" written in a text is ordinary text
};

/// The settings in a tokenizer's files for the models that read its tokens. encode reads only
/// split_special_tokens: pass max_length and truncation_side as EncodeOptions, as TextReader does.
struct TokenizerSettings {
  index_t max_length = 0;               // in tokens, including special ones; 0: no known limit
  bool feeds_type_ids = true;           // whether the model gets token types
  Side padding_side = Side::kRight;     // the end at which the shorter texts of a batch are padded
  Side truncation_side = Side::kRight;  // the end at which long texts are truncated
  bool split_special_tokens = false;    // "[SEP]" in a text is always ordinary text
  std::string continuing_subword_prefix = {};  // of tokens that continue a word: "##"

  bool operator==(const TokenizerSettings&) const = default;
};

/// Two texts that become one sequence.
struct TextPair {
  std::string first;
  std::string second;
};

/// A list as an argument: `{"a", "b"}`, or a vector, an array or a std::span. A ListOf only refers
/// to the elements, so it must not outlive the call.
template <class T>
class ListOf : public std::span<const T> {
 public:
  using std::span<const T>::span;
  ListOf(std::span<const T> list) : std::span<const T>(list) {}
  ListOf(std::initializer_list<T> list) : std::span<const T>(list.begin(), list.size()) {}
  /// Rejects {{"a", "b"}}, which would be one text from two pointers.
  template <std::same_as<const char*> C, std::same_as<T> Text = std::string>
  ListOf(std::initializer_list<std::initializer_list<C>>) = delete;
};

/// Turns texts into token ids and back. Several threads may call the functions of a tokenizer at
/// once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The tokens of a text, with the frame's special tokens, at most options.max_length.
  /// **Errors**: bytes that are not UTF-8; a negative max_length, or one without room for the
  /// special tokens; a token that is not in the vocabulary, if there is no unknown token; with a
  /// tokenizer.json, a text of 4 GB or more, or that takes far more work than with any real
  /// tokenizer.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// Two texts as one sequence. **Errors**: as encode; a frame without pairs; with truncation
  /// kOnlyFirst or kOnlySecond, a text that has no more tokens than must be removed.
  /// **Source**: the longest-first rule is that of the tokenizers library.
  Encoding encode_pair(std::string_view first, std::string_view second,
                       const EncodeOptions& options = {}) const;

  /// All of a long text as windows of at most options.max_length tokens. Each window has the
  /// special tokens of the frame, and neighbouring windows share options.stride tokens of the
  /// text. The first window is the result of encode. **Errors**: as encode; a stride that is
  /// negative, or leaves no new tokens for a window.
  /// **Source**: the stride of the tokenizers library.
  std::vector<Encoding> encode_windows(std::string_view text, const EncodeOptions& options) const;
  /// As encode_windows, for a long pair. options.truncation selects the text to divide. If both
  /// texts are divided, every window of the first text is combined with every window of the second.
  /// **Errors**: as encode_pair and encode_windows.
  std::vector<Encoding> encode_pair_windows(std::string_view first, std::string_view second,
                                            const EncodeOptions& options) const;

  /// encode of each text, or encode_pair of each pair, on all threads. **Errors**: the error of the
  /// first text or pair that has one.
  std::vector<Encoding> encode_batch(ListOf<std::string> texts,
                                     const EncodeOptions& options = {}) const;
  std::vector<Encoding> encode_batch(ListOf<TextPair> pairs,
                                     const EncodeOptions& options = {}) const;

  /// The text of `ids`, as far as the tokens preserve the text. **Errors**: no such id.
  virtual std::string decode(std::span<const index_t> ids) const = 0;
  /// As decode, without special tokens.
  std::string decode_text(std::span<const index_t> ids) const;
  /// Whether an id is that of a special token, which decode_text omits.
  virtual bool is_special(index_t id) const { return special().contains(id); }

  /// The tokenizer as text, from which tokenizer_from_text (tokenizers.h) makes an equal one,
  /// except for settings that only the tokenizer_config.json of a folder has, such as the names of
  /// special tokens and the maximum length.
  virtual std::string to_text() const = 0;
  /// Writes to_text, completely or not at all. **Errors**: as write_file.
  void save(const std::filesystem::path& path) const;

  /// The vocabulary.
  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// The ids of the special tokens.
  const SpecialTokens& special() const { return vocabulary_.special(); }
  /// The positions of the special tokens around texts.
  const Frame& frame() const { return frame_; }
  /// The settings from the tokenizer's files.
  const TokenizerSettings& settings() const { return settings_; }
  /// The number of ids.
  index_t size() const { return vocabulary_.size(); }
  /// As Vocabulary::id and Vocabulary::token.
  index_t id(std::string_view token) const { return vocabulary_.id(token); }
  std::string_view token(index_t id) const { return vocabulary_.token(id); }

 protected:
  /// A tokenizer with Frame::bert of the special tokens of `vocabulary`.
  explicit Tokenizer(Vocabulary vocabulary);
  /// **Errors**: a frame that omits a text, or names a text twice; a token of the frame whose id
  /// is not in the vocabulary.
  Tokenizer(Vocabulary vocabulary, Frame frame, const TokenizerSettings& settings = {});
  Tokenizer(const Tokenizer&) = default;
  Tokenizer& operator=(const Tokenizer&) = default;

 private:
  /// The tokens of `text`, in text order, without the frame's special tokens. `text` is valid
  /// UTF-8.
  virtual std::vector<Piece> split(std::string_view text) const = 0;
  /// As split, except that special tokens written in the text are ordinary text.
  virtual std::vector<Piece> split_plain(std::string_view text) const { return split(text); }
  /// Removes spaces that are not part of a token from its Piece::bytes, for the tokens that remain
  /// after truncation. `text` is their text.
  virtual void trim(std::string_view /*text*/, std::span<Piece> /*pieces*/) const {}

  std::vector<Encoding> encode_texts(std::span<const std::string_view> texts,
                                     const EncodeOptions& options, bool all, const char* op) const;

  Vocabulary vocabulary_;
  Frame frame_;
  TokenizerSettings settings_;
};

}  // namespace tessera::text
