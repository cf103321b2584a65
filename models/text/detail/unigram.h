// Unigram, the subword model of SentencePiece: XLM-R, ALBERT, multilingual E5.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "models/text/detail/subword_model.h"
#include "models/text/detail/word_cache.h"

namespace tessera::text {

/// Pieces, by number, and the logarithms of their probabilities. Of equal pieces the last one is
/// used.
struct ScoredPieces {
  TokenList pieces;
  std::vector<double> scores;  // one per piece
};

struct UnigramOptions {
  std::optional<index_t> unknown = {};
  bool byte_fallback = false;  // unknown characters become "<0x41>", ... if these are pieces
};

/// The most probable division of a word into pieces: the one with the greatest sum of scores. A
/// character that is not a piece is unknown, with the lowest score minus 10; adjacent unknown
/// characters are one token. Takes time proportional to the word times the longest piece, which
/// Effort limits, and 16 bytes for each byte of the word.
/// **Source**: Kudo, "Subword Regularization", 2018; ties are resolved as in the tokenizers
/// library.
class Unigram final : public SubwordModel {
 public:
  /// **Errors**: std::invalid_argument: options.unknown is not a piece's number.
  explicit Unigram(ScoredPieces pieces, const UnigramOptions& options = {});

  using SubwordModel::tokenize;
  void tokenize(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const override;

 private:
  struct Way;

  void cut(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const;
  std::vector<Way> best_path(std::string_view word, Effort& effort) const;
  void add_unknown(std::string_view word, Span bytes, std::vector<Piece>& pieces) const;

  std::vector<double> scores_;
  Trie trie_;
  std::optional<index_t> unknown_;
  double unknown_score_;
  ByteTokens bytes_;  // the pieces of byte_fallback
  WordCache cache_;
};

std::unique_ptr<SubwordModel> read_unigram(const Json& json);

}  // namespace tessera::text
