#include "models/text/detail/word_piece.h"

#include <algorithm>

#include "models/text/utf8.h"

namespace tessera::text {

WordPiece::WordPiece(TokenList vocabulary, const WordPieceOptions& options)
    : SubwordModel(std::move(vocabulary)),
      vocabulary_(tokens(), "WordPiece"),
      unknown_(vocabulary_.number(options.unknown)),
      continuation_(vocabulary_.trie.walk(Trie::kRoot, options.prefix)),
      max_characters_(options.max_characters) {
  constexpr index_t kLongWord = 1000;  // shorter words limit the search themselves
  if (max_characters_ <= kLongWord) return;
  for (index_t id = 0; id < tokens().size(); ++id) check_walked(tokens()[id], "WordPiece");
}

void WordPiece::tokenize(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const {
  const std::size_t before = pieces.size();
  const auto size = std::ssize(word);
  bool known = size <= max_characters_ || code_point_count(word) <= max_characters_;
  Trie::Node from = Trie::kRoot;
  for (index_t at = 0; known && at < size; from = continuation_) {
    Trie::Match match;
    if (from != Trie::kNone) {
      match = vocabulary_.trie.longest(from, word.substr(static_cast<std::size_t>(at)));
      effort.spend(static_cast<index_t>(match.steps));
    }
    known = match.value != Trie::kNoValue;
    const index_t end = at + static_cast<index_t>(match.size);
    if (known) pieces.push_back({match.value, {at, end}});
    at = end;
  }
  if (known) return;
  pieces.resize(before);
  pieces.push_back({unknown_id(unknown_, word), {0, size}});
}

std::unique_ptr<SubwordModel> read_word_piece(const Json& json) {
  WordPieceOptions options;
  options.unknown = json.text("unk_token", options.unknown);
  options.prefix = json.text("continuing_subword_prefix", options.prefix);
  options.max_characters =
      json.integer("max_input_chars_per_word", JsonRange{.low = 0}, options.max_characters);
  return std::make_unique<WordPiece>(read_tokens(json.at("vocab")), options);
}

}  // namespace tessera::text
