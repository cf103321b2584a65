// Vocabularies: the numbers of words or characters.
//
//   auto words = Vocabulary::of_words({"The cat sat.", "The mat"}, {.min_count = 1});
//   words.encode("the cat flew");       // {4, 5, Vocabulary::kUnknown}
//   words.save("words.txt");            // one token a line
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::text {

/// The words of a text: cut at ASCII's white space, each ASCII punctuation mark a word of its own,
/// A to Z as small letters. Everything beyond ASCII belongs to the word in which it stands.
std::vector<std::string> split_words(std::string_view text);

/// The code points of a text, as UTF-8. Errors: bytes that are not UTF-8.
std::vector<std::string> split_characters(std::string_view text);

struct VocabularyOptions {
  index_t min_count = 1;  // rarer tokens are left out
  index_t max_size = 0;   // of the whole vocabulary, the special tokens included; 0: no limit
};

/// Numbers for the tokens of a text, which are its words or its characters.
///
/// The first four numbers are those of the special tokens, which no text contains; the others go by
/// count, the most frequent first, and of equally frequent ones the one that appears first.
class Vocabulary {
 public:
  static constexpr index_t kPad = 0;
  static constexpr index_t kUnknown = 1;
  static constexpr index_t kCls = 2;
  static constexpr index_t kMask = 3;
  static constexpr index_t kSpecialCount = 4;

  /// **Errors**: options that are negative or leave no room.
  static Vocabulary of_words(std::span<const std::string> texts,
                             const VocabularyOptions& options = {});
  static Vocabulary of_characters(std::span<const std::string> texts,
                                  const VocabularyOptions& options = {});

  index_t size() const { return static_cast<index_t>(tokens_.size()); }
  /// The token's number, kUnknown if it has none.
  index_t id(std::string_view token) const;
  /// "[PAD]", "[UNK]", "[CLS]" and "[MASK]" for the first four. Errors: no such number.
  const std::string& token(index_t id) const;
  /// Whether the tokens are words, not characters.
  bool has_words() const { return has_words_; }

  /// The numbers of a text's tokens; nothing is added in front or behind.
  std::vector<index_t> encode(std::string_view text) const;
  /// The tokens of `ids`, words with a space between them. Errors: no such number.
  std::string decode(std::span<const index_t> ids) const;

  /// The vocabulary as text, from which from_text makes the same again: "words" or "characters" in
  /// the first line, then a token a line, \n, \r and \\ for a line feed, a carriage return and a
  /// backslash.
  std::string to_text() const;
  /// **Errors**: std::runtime_error that begins with `file`: text that to_text does not make.
  static Vocabulary from_text(std::string_view text, const std::string& file);

  /// Writes to_text, whole or not at all. **Errors**: as write_file.
  void save(const std::filesystem::path& path) const;
  /// **Errors**: as from_text, and no such file.
  static Vocabulary load(const std::filesystem::path& path);

  bool operator==(const Vocabulary& other) const {
    return has_words_ == other.has_words_ && tokens_ == other.tokens_;
  }

 private:
  explicit Vocabulary(bool has_words);
  static Vocabulary build(bool has_words, std::span<const std::string> texts,
                          const VocabularyOptions& options);
  std::vector<std::string> split(std::string_view text) const;
  /// Gives the token the next number, unless it has one.
  bool add(std::string token);

  bool has_words_;
  std::vector<std::string> tokens_;
  std::map<std::string, index_t, std::less<>> ids_;
};

}  // namespace tessera::text
