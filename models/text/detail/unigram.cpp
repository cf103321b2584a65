#include <algorithm>
#include <limits>

#include "tessera/models/text/detail/subword_model.h"
#include "tessera/models/text/detail/word_cache.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/detail/utf8.h"

namespace tessera::text {

namespace {

/// The pieces of `[[piece, score], ...]`, by number.
TokenList read_pieces(const Json& list) {
  const index_t count = list.as_list().size();
  if (count > kMostTokens) list.fail("must have at most ", kMostTokens, " pieces, got ", count);
  TokenList pieces;
  pieces.reserve(count, 0);
  for (const Json& piece : list.items()) {
    if (!piece.is_list() || piece.size() != 2) {
      piece.fail("must be a piece and its score, got ", piece.described());
    }
    pieces.add(piece.item(0).text());
  }
  return pieces;
}

/// The scores of the same list.
std::vector<double> read_scores(const Json& list) {
  std::vector<double> scores;
  scores.reserve(static_cast<std::size_t>(list.size()));
  for (const Json& piece : list.items()) scores.push_back(piece.item(1).number());
  return scores;
}

/// Unigram, the subword model of SentencePiece: XLM-R, ALBERT, multilingual E5. The most probable
/// division of a word into pieces: the one with the greatest sum of scores, which are logarithms of
/// probabilities. The last of equal pieces is used. A character that is not a piece is unknown,
/// with the lowest score minus 10; adjacent unknown characters are one token. Takes time
/// proportional to the word times the longest piece, which Effort limits, and 16 bytes for each
/// byte of the word.
/// **Source**: Kudo, "Subword Regularization", 2018; ties are resolved as in the tokenizers
/// library.
class Unigram final : public SubwordModel {
 public:
  explicit Unigram(const Json& json);

  void tokenize(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const override;

 private:
  /// The best path to a position in a word, and its last piece.
  struct Way {
    static constexpr std::uint32_t kNowhere = 0xffffffff;

    double score = 0;
    std::uint32_t from = kNowhere;  // the beginning of that piece
    std::int32_t id = 0;
  };

  void cut(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const;
  std::vector<Way> best_path(std::string_view word, Effort& effort) const;
  void add_unknown(std::string_view word, Span bytes, std::vector<Piece>& pieces) const;

  std::vector<double> scores_;
  Trie trie_;
  std::optional<index_t> unknown_;
  double unknown_score_;
  ByteTokens bytes_;  // the pieces "<0x41>", ... for unknown characters, with "byte_fallback"
  WordCache cache_;
};

Unigram::Unigram(const Json& json)
    : SubwordModel(read_pieces(json.at("vocab"))),
      scores_(read_scores(json.at("vocab"))),
      trie_(tokens()),
      bytes_(byte_tokens(json.boolean("byte_fallback", false) ? &trie_ : nullptr)) {
  constexpr double kUnknownPenalty = 10;
  double lowest = std::numeric_limits<double>::infinity();
  for (const double score : scores_) lowest = std::min(lowest, score);
  unknown_score_ = lowest - kUnknownPenalty;
  if (json.has("unk_id")) unknown_ = json.integer("unk_id", JsonRange{0, tokens().size() - 1});
  for (index_t id = 0; id < tokens().size(); ++id) check_walked(tokens()[id], "Unigram");
}

/// The best path in forward direction: for each position at which one of its pieces begins, the end
/// of the piece as `from`, and its number.
std::vector<Unigram::Way> Unigram::best_path(std::string_view word, Effort& effort) const {
  require(word.size() < Way::kNowhere, "encode", "a word must have less than ", Way::kNowhere,
          " bytes, got ", word.size());
  std::vector<Way> best(word.size() + 1);
  for (std::size_t at = 0; at < word.size();) {
    const double score = best[at].score;
    const auto offer = [&](std::size_t size, double of_piece, std::optional<index_t> id) {
      Way& way = best[at + size];
      if (way.from != Way::kNowhere && !(score + of_piece > way.score)) return;
      way = {score + of_piece, static_cast<std::uint32_t>(at),
             static_cast<std::int32_t>(unknown_id(id, word))};
    };
    const std::string_view rest = word.substr(at);
    const std::size_t character = std::max<std::size_t>(detail::code_point_size(rest), 1);
    bool known = false;
    const std::size_t steps =
        trie_.each_prefix(Trie::kRoot, rest, [&](std::size_t size, index_t id) {
          offer(size, scores_[static_cast<std::size_t>(id)], id);
          known = known || size == character;
        });
    effort.spend(static_cast<index_t>(steps));
    if (!known) offer(character, unknown_score_, unknown_);
    at += character;
  }
  Way last = best.back();
  for (std::size_t end = word.size(); end > 0;) {
    const std::size_t begin = last.from;
    last.from = static_cast<std::uint32_t>(end);
    std::swap(last, best[begin]);
    end = begin;
  }
  return best;
}

void Unigram::add_unknown(std::string_view word, Span bytes, std::vector<Piece>& pieces) const {
  word = text_at(word, bytes);
  // With unusual scores, two unknown parts make a known piece.
  if (const std::optional<index_t> id = trie_.find(word)) {
    pieces.push_back({*id, bytes});
  } else if (has_all(bytes_, word)) {
    for (const char c : word) pieces.push_back({bytes_[static_cast<unsigned char>(c)], bytes});
  } else {
    pieces.push_back({unknown_id(unknown_, word), bytes});
  }
}

void Unigram::cut(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const {
  const std::vector<Way> path = best_path(word, effort);
  const auto next = [&](std::size_t at) { return std::size_t{path[at].from}; };
  for (std::size_t at = 0; at < word.size();) {
    const index_t id = path[at].id;
    Span bytes = {static_cast<index_t>(at), static_cast<index_t>(at = next(at))};
    if (id != unknown_) {
      pieces.push_back({id, bytes});
      continue;
    }
    while (at < word.size() && path[at].id == unknown_) at = next(at);
    bytes.end = static_cast<index_t>(at);
    add_unknown(word, bytes, pieces);
  }
}

void Unigram::tokenize(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const {
  // Whether a text is refused must not depend on the words of earlier texts, which are cached.
  Effort uncounted(std::ssize(word));
  Effort& counted = WordCache::may_know(word) ? uncounted : effort;
  cache_.get(word, pieces,
             [&](std::string_view text, std::vector<Piece>& into) { cut(text, into, counted); });
}

}  // namespace

std::unique_ptr<SubwordModel> read_unigram(const Json& json) {
  return std::make_unique<Unigram>(json);
}

}  // namespace tessera::text
