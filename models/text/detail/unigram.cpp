#include "models/text/detail/unigram.h"

#include <algorithm>
#include <limits>

#include "tensor/error.h"
#include "tensor/io/detail/utf8.h"

namespace tessera::text {

namespace {

constexpr double kUnknownPenalty = 10;

double lowest_of(const std::vector<double>& scores) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const double score : scores) lowest = std::min(lowest, score);
  return lowest;
}

}  // namespace

/// The best path to a position in a word, and its last piece.
struct Unigram::Way {
  static constexpr std::uint32_t kNowhere = 0xffffffff;

  double score = 0;
  std::uint32_t from = kNowhere;  // the beginning of that piece
  std::int32_t id = 0;
};

Unigram::Unigram(ScoredPieces pieces, const UnigramOptions& options)
    : SubwordModel(std::move(pieces.pieces)),
      scores_(std::move(pieces.scores)),
      trie_(tokens()),
      unknown_(options.unknown),
      unknown_score_(lowest_of(scores_) - kUnknownPenalty) {
  require(std::ssize(scores_) == tokens().size(), "Unigram",
          "pieces must have one score each, got ", scores_.size(), " scores for ", tokens().size(),
          " pieces");
  require(!unknown_ || (*unknown_ >= 0 && *unknown_ < tokens().size()), "Unigram",
          "the unknown piece must be at least 0 and below ", tokens().size(), ", got ",
          unknown_.value_or(0));
  for (index_t id = 0; id < tokens().size(); ++id) check_walked(tokens()[id], "Unigram");
  bytes_ = byte_tokens(options.byte_fallback ? &trie_ : nullptr);
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
  const index_t id = trie_.find(word);  // with unusual scores, two unknown parts make a known piece
  if (id != Trie::kNoValue) {
    pieces.push_back({id, bytes});
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

std::unique_ptr<SubwordModel> read_unigram(const Json& json) {
  const Json list = json.at("vocab").as_list();
  const index_t count = list.size();
  if (count > kMostTokens) list.fail("must have at most ", kMostTokens, " pieces, got ", count);
  ScoredPieces scored;
  scored.pieces.reserve(count, 0);
  scored.scores.reserve(static_cast<std::size_t>(count));
  for (const Json& piece : list.items()) {
    if (!piece.is_list() || piece.size() != 2) {
      piece.fail("must be a piece and its score, got ", piece.described());
    }
    scored.pieces.add(piece.item(0).text());
    scored.scores.push_back(piece.item(1).number());
  }
  UnigramOptions options{.unknown = {}, .byte_fallback = json.boolean("byte_fallback", false)};
  if (json.has("unk_id")) {
    options.unknown = json.integer("unk_id", JsonRange{0, count - 1});
  }
  return std::make_unique<Unigram>(std::move(scored), options);
}

}  // namespace tessera::text
