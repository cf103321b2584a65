#include "examples/programs/named_tokenizer.h"

#include <algorithm>
#include <filesystem>

#include "models/text/tokenizers.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/profile_span.h"

namespace tessera::examples {

bool has_whole_units(const std::string& name) {
  return name == "words" || name == "characters";
}

std::unique_ptr<text::Tokenizer> named_tokenizer(const std::string& name,
                                                 std::span<const std::string> texts,
                                                 text::VocabularyOptions options) {
  const std::vector<std::string> kinds = text::tokenizer_kinds();
  if (std::find(kinds.begin(), kinds.end(), name) != kinds.end()) {
    if (options.max_size == 0 && !has_whole_units(name)) options.max_size = kSubwords;
    const ProfileScope scope("learn tokenizer");
    return text::make_tokenizer(name, texts, options);
  }
  require(std::filesystem::exists(name), "--tokenizer", "must be ", kTokenizerHelp, ", got ",
          printable(name));
  auto tokenizer = text::load_tokenizer(name);
  const text::SpecialTokens& special = tokenizer->special();
  require(special.pad && special.unknown && special.cls && special.mask, "--tokenizer",
          printable(name), " must have tokens for padding, unknown, first and mask, got no ",
          !special.pad       ? "padding"
          : !special.unknown ? "unknown"
          : !special.cls     ? "first"
                             : "mask",
          " token");
  return tokenizer;
}

}  // namespace tessera::examples
