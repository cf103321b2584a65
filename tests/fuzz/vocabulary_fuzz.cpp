// A vocabulary in our format, or a folder's vocab.txt, and, after a zero byte, a text.
#include <stdexcept>

#include "tessera/models/text/tokenizers.h"
#include "tests/fuzz/target.h"

namespace tessera::test {

void fuzz_vocabulary(std::string_view bytes) {
  const auto [file, given] = split_at_zero(bytes);
  const std::string_view text = given.empty() ? "Ein Caf\xc3\xa9, 42 [MASK]\n lions" : given;
  const bool own = file.starts_with('{');
  const auto path = fuzz_file(own ? "words.json" : "vocab.txt", file);
  const auto tokenizer = text::load_tokenizer(own ? path : path.parent_path());
  const auto again = text::tokenizer_from_text(tokenizer->to_text(), "again");
  expect(again->vocabulary() == tokenizer->vocabulary(), "to_text has another vocabulary");
  try {
    const text::Encoding encoding = tokenizer->encode(text, {.max_length = 20});
    tokenizer->decode_text(encoding.ids);
    expect(again->encode(text, {.max_length = 20}).ids == encoding.ids, "to_text has other tokens");
  } catch (const std::invalid_argument&) {  // not UTF-8, a token without a number, ...
  }
}

}  // namespace tessera::test
