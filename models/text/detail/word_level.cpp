#include "models/text/detail/word_level.h"

namespace tessera::text {

WordLevel::WordLevel(TokenList vocabulary, std::string_view unknown)
    : SubwordModel(std::move(vocabulary)),
      vocabulary_(tokens(), "WordLevel"),
      unknown_(vocabulary_.number(unknown)) {}

void WordLevel::tokenize(std::string_view word, std::vector<Piece>& pieces,
                         Effort& /*effort*/) const {
  if (word.empty()) return;
  const std::optional<index_t> id = vocabulary_.number(word);
  pieces.push_back({id ? *id : unknown_id(unknown_, word), {0, std::ssize(word)}});
}

std::unique_ptr<SubwordModel> read_word_level(const Json& json) {
  return std::make_unique<WordLevel>(read_tokens(json.at("vocab")),
                                     json.text("unk_token", "[UNK]"));
}

}  // namespace tessera::text
