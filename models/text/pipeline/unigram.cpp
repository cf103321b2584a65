#include "models/text/pipeline/unigram.h"

#include <algorithm>
#include <limits>

#include "models/text/utf8.h"
#include "tensor/error.h"

namespace tessera::text {

namespace {

constexpr double kUnknownPenalty = 10;

double lowest_of(const std::vector<double>& scores) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const double score : scores) lowest = std::min(lowest, score);
  return lowest;
}

/// The best way to a place in a word, and the piece by which it ends.
struct Way {
  static constexpr std::uint32_t kNowhere = 0xffffffff;

  double score = 0;
  std::uint32_t begin = kNowhere;  // of that piece
  std::int32_t id = 0;
};

}  // namespace

Unigram::Unigram(ScoredPieces pieces, const UnigramOptions& options)
    : SubwordModel(std::move(pieces.pieces)),
      scores_(std::move(pieces.scores)),
      trie_(tokens()),
      unknown_(options.unknown),
      unknown_score_(lowest_of(scores_) - kUnknownPenalty) {
  require(std::ssize(scores_) == tokens().size(), "Unigram", tokens().size(), " pieces have ",
          scores_.size(), " scores");
  require(!unknown_ || (*unknown_ >= 0 && *unknown_ < tokens().size()), "Unigram",
          "the unknown piece has number ", unknown_.value_or(0), " of ", tokens().size());
  for (index_t id = 0; id < tokens().size(); ++id) check_walked(tokens()[id], "Unigram");
  bytes_ = byte_tokens(options.byte_fallback ? &trie_ : nullptr);
}

std::vector<Piece> Unigram::best_path(std::string_view word) const {
  require(word.size() < Way::kNowhere, "encode", "a word of ", word.size(), " bytes");
  std::vector<Way> best(word.size() + 1);
  for (std::size_t at = 0; at < word.size();) {
    const double score = best[at].score;
    const auto offer = [&](std::size_t size, double of_piece, std::optional<index_t> id) {
      Way& way = best[at + size];
      if (way.begin != Way::kNowhere && !(score + of_piece > way.score)) return;
      way = {score + of_piece, static_cast<std::uint32_t>(at),
             static_cast<std::int32_t>(unknown_id(id, word))};
    };
    const std::string_view rest = word.substr(at);
    const std::size_t character = std::max<std::size_t>(code_point_size(rest), 1);
    bool known = false;
    trie_.each_prefix(rest, [&](std::size_t size, index_t id) {
      offer(size, scores_[static_cast<std::size_t>(id)], id);
      known = known || size == character;
    });
    if (!known) offer(character, unknown_score_, unknown_);
    at += character;
  }
  std::vector<Piece> path;
  for (std::size_t end = word.size(); end > 0; end = best[end].begin) {
    path.push_back({best[end].id, {best[end].begin, static_cast<index_t>(end)}});
  }
  std::reverse(path.begin(), path.end());
  return path;
}

void Unigram::add_unknown(std::string_view word, Span bytes, std::vector<Piece>& pieces) const {
  word = text_at(word, bytes);
  const index_t id = trie_.find(word);  // with strange scores, two unknowns make a known piece
  if (id != Trie::kNoValue) {
    pieces.push_back({id, bytes});
  } else if (has_all(bytes_, word)) {
    for (const char c : word) pieces.push_back({bytes_[static_cast<unsigned char>(c)], bytes});
  } else {
    pieces.push_back({unknown_id(unknown_, word), bytes});
  }
}

void Unigram::cut(std::string_view word, std::vector<Piece>& pieces) const {
  const std::vector<Piece> path = best_path(word);
  for (std::size_t i = 0; i < path.size();) {
    Piece piece = path[i++];
    if (piece.id != unknown_) {
      pieces.push_back(piece);
      continue;
    }
    while (i < path.size() && path[i].id == unknown_) piece.bytes.end = path[i++].bytes.end;
    add_unknown(word, piece.bytes, pieces);
  }
}

void Unigram::tokenize(std::string_view word, std::vector<Piece>& pieces) const {
  cache_.get(word, pieces,
             [this](std::string_view text, std::vector<Piece>& into) { cut(text, into); });
}

std::unique_ptr<SubwordModel> read_unigram(const Json& json) {
  const Json list = json.at("vocab").as_list();
  const index_t count = list.size();
  if (count > kMostTokens) list.fail("wanted at most ", kMostTokens, " pieces, got ", count);
  ScoredPieces scored;
  scored.pieces.reserve(count, 0);
  scored.scores.reserve(static_cast<std::size_t>(count));
  for (const Json& piece : list.items()) {
    if (!piece.is_list() || piece.size() != 2) {
      piece.fail("wanted a piece and its score, got ", piece.described());
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
