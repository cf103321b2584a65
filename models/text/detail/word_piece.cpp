#include <string>

#include "tessera/models/text/detail/subword_model.h"
#include "tessera/models/text/utf8.h"

namespace tessera::text {

namespace {

/// WordPiece, the subword model of BERT: the longest token that begins the word, then the longest
/// that continues it, ...; a word that cannot be divided in this way is unknown as a whole. Takes
/// time proportional to the word times the longest token.
/// **Source**: Wu et al., "Google's Neural Machine Translation System", 2016; Devlin et al.,
/// "BERT", 2018.
class WordPiece final : public SubwordModel {
 public:
  explicit WordPiece(const Json& json)
      : SubwordModel(read_tokens(json.at("vocab"))),
        trie_(tokens()),
        unknown_(trie_.find(json.text("unk_token", "[UNK]"))),
        continuation_(trie_.walk(Trie::kRoot, json.text("continuing_subword_prefix", "##"))),
        max_characters_(json.integer("max_input_chars_per_word", JsonRange{.low = 0}, 100)) {
    constexpr index_t kLongWord = 1000;  // shorter words limit the search themselves
    if (max_characters_ <= kLongWord) return;
    for (index_t id = 0; id < tokens().size(); ++id) check_walked(tokens()[id], "WordPiece");
  }

  void tokenize(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const override {
    const std::size_t before = pieces.size();
    const auto size = std::ssize(word);
    bool known = size <= max_characters_ || code_point_count(word) <= max_characters_;
    Trie::Node from = Trie::kRoot;
    for (index_t at = 0; known && at < size; from = continuation_) {
      Trie::Match match;
      if (from != Trie::kNone) {
        match = trie_.longest(from, word.substr(static_cast<std::size_t>(at)));
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

 private:
  Trie trie_;
  std::optional<index_t> unknown_;
  Trie::Node continuation_;  // after the prefix of tokens that continue a word
  index_t max_characters_;   // of a word; longer ones are unknown
};

}  // namespace

std::unique_ptr<SubwordModel> read_word_piece(const Json& json) {
  return std::make_unique<WordPiece>(json);
}

}  // namespace tessera::text
