// A tokenizer.json and, after a zero byte, a text: both read or refused.
#include <stdexcept>

#include "tessera/models/text/tokenizers.h"
#include "tests/fuzz/target.h"

namespace tessera::test {

void fuzz_tokenizer(std::string_view bytes) {
  const auto [file, given] = split_at_zero(bytes);
  const std::string_view text = given.empty() ? "Ein Caf\xc3\xa9, 42 [MASK]\n lions" : given;
  const auto tokenizer = text::tokenizer_from_text(file, "tokenizer.json");
  try {
    const text::Encoding encoding = tokenizer->encode(text);
    tokenizer->decode(encoding.ids);
    tokenizer->encode_pair(text, "a b", {.max_length = 12});
    tokenizer->encode_windows(text, {.max_length = 8, .stride = 1, .split_special_tokens = true});
  } catch (const std::invalid_argument&) {  // not UTF-8, a token without a number, ...
  }
  const auto again = text::tokenizer_from_text(tokenizer->to_text(), "again");
  expect(again->vocabulary() == tokenizer->vocabulary(), "to_text has another vocabulary");
}

}  // namespace tessera::test
