// A tokenizer's folder: files that a zero byte separates, each absent if it is empty.
#include <array>
#include <filesystem>
#include <stdexcept>

#include "tessera/models/text/tokenizers.h"
#include "tests/fuzz/target.h"

namespace tessera::test {

void fuzz_tokenizer_config(std::string_view bytes) {
  constexpr std::array kNames = {"tokenizer_config.json", "special_tokens_map.json",
                                 "added_tokens.json", "tokenizer.json", "vocab.txt"};
  const std::filesystem::path folder = fuzz_folder() / "tokenizer_config";
  std::filesystem::create_directory(folder);
  for (const char* name : kNames) {
    const auto [file, rest] = split_at_zero(bytes);
    bytes = rest;
    std::filesystem::remove(folder / name);
    if (!file.empty()) fuzz_file(std::filesystem::path("tokenizer_config") / name, file);
  }
  const auto tokenizer = text::load_tokenizer(folder);
  const auto again = text::tokenizer_from_text(tokenizer->to_text(), "again");
  expect(again->vocabulary().size() == tokenizer->vocabulary().size(), "to_text has other tokens");
  try {
    const auto pair = tokenizer->encode_pair("Lions [MASK] </s>", "a b", {.max_length = 12});
    tokenizer->decode_text(pair.ids);
  } catch (const std::invalid_argument&) {  // a token without a number, ...
  }
}

}  // namespace tessera::test
