#include "tessera/models/text/detail/tokenizer_class.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "tessera/tensor/error.h"

namespace tessera::text {

namespace {

namespace fs = std::filesystem;

constexpr DefaultNames kBert = {"", "", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
constexpr DefaultNames kRoberta = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
constexpr DefaultNames kMpnet = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"};
constexpr DefaultNames kHerbert = {"", "", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
constexpr DefaultNames kAlbert = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"};
constexpr DefaultNames kDeberta = {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};

constexpr DefaultNames kQwen = {"", "<|endoftext|>", "<|endoftext|>", "", "<|endoftext|>", "", ""};
constexpr DefaultNames kGpt2 = {"<|endoftext|>", "<|endoftext|>", "<|endoftext|>", "", "", "", ""};

/// **Source**: the constructors of the classes in transformers 4.57.
constexpr TokenizerClass kClasses[] = {
    {"bert", ClassFiles::kWordPiece, kBert, true, false},
    {"electra", ClassFiles::kWordPiece, kBert, true, false},
    {"convbert", ClassFiles::kWordPiece, kBert, true, false},
    {"mobilebert", ClassFiles::kWordPiece, kBert, true, false},
    {"squeezebert", ClassFiles::kWordPiece, kBert, true, false},
    {"layoutlm", ClassFiles::kWordPiece, kBert, true, false},
    {"dprcontextencoder", ClassFiles::kWordPiece, kBert, true, false},
    {"dprquestionencoder", ClassFiles::kWordPiece, kBert, true, false},
    {"nomicbert", ClassFiles::kWordPiece, kBert, true, false},
    {"distilbert", ClassFiles::kWordPiece, kBert, false, false},
    {"mpnet", ClassFiles::kWordPiece, kMpnet, false, true},
    {"roberta", ClassFiles::kByteLevel, kRoberta, false, true},
    {"longformer", ClassFiles::kByteLevel, kRoberta, false, true},
    {"bart", ClassFiles::kByteLevel, kRoberta, false, true},
    {"gpt2", ClassFiles::kPlainByteLevel, kGpt2, false, false},
    {"herbert", ClassFiles::kWordEnds, kHerbert, true, false},
    {"xlmroberta", ClassFiles::kNone, kRoberta, false, true},
    {"camembert", ClassFiles::kNone, kRoberta, false, true},
    {"albert", ClassFiles::kNone, kAlbert, true, true},
    {"deberta", ClassFiles::kNone, kDeberta, true, true},
    {"debertav2", ClassFiles::kNone, kDeberta, true, false},
    {"qwen2", ClassFiles::kNone, kQwen, false, false},
    {"tokenizersbackend", ClassFiles::kNone, {}, false, false},
    {"bertjapanese", ClassFiles::kOwnCode, {}, false, false},
    {"bertweet", ClassFiles::kOwnCode, {}, false, false},
    {"canine", ClassFiles::kOwnCode, {}, false, false},
    {"phobert", ClassFiles::kOwnCode, {}, false, false},
    {"roformer", ClassFiles::kOwnCode, {}, false, false},
    {"xlm", ClassFiles::kOwnCode, {}, false, false},
};

// For folders that name no class; the names depend on the vocabulary.
constexpr TokenizerClass kUsualText = {"", ClassFiles::kWordPiece, {}, true, false};
constexpr TokenizerClass kUsualPairs = {"", ClassFiles::kByteLevel, {}, true, true};

constexpr const char* kCure =
    "; save a tokenizer.json with transformers: AutoTokenizer.from_pretrained(FOLDER)"
    ".save_pretrained(FOLDER)";

[[noreturn]] void refuse(const Json& name) {
  name.fail(
      "must be a class that Tessera builds without tokenizer.json, such as BertTokenizer, "
      "RobertaTokenizer or HerbertTokenizer, got ",
      name.is_text() ? printable(name.text()) : name.described(), kCure);
}

}  // namespace

const TokenizerClass* find_class(std::string_view name) {
  for (const std::string_view end : {"Fast", "Tokenizer"}) {
    if (name.ends_with(end)) name.remove_suffix(end.size());
  }
  std::string key;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    key += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  const auto* const found =
      std::ranges::find_if(kClasses, [&](const TokenizerClass& one) { return one.name == key; });
  return found == std::end(kClasses) ? nullptr : found;
}

std::optional<Json> named_class(const fs::path& folder, const std::optional<Json>& config) {
  const auto name = config ? config->find("tokenizer_class") : std::nullopt;
  if (name) return name;
  const auto model = find_json(folder / "config.json", kSmallJson);
  if (!model) return std::nullopt;
  const auto own = model->find("tokenizer_class");
  return own ? own : model->find("model_type");
}

bool is_generic_class(std::string_view name) {
  return name.starts_with("PreTrained") || name == "TokenizersBackend";
}

const TokenizerClass& class_of_files(const fs::path& folder, const std::optional<Json>& config,
                                     const std::optional<Json>& name) {
  const bool has_text = fs::exists(folder / "vocab.txt");
  const bool has_files = has_text || fs::exists(folder / "vocab.json");
  const bool is_class = name && name->key() == "tokenizer_class";
  const auto code = config && !is_class ? config->find("auto_map") : std::nullopt;
  if (code && code->has("AutoTokenizer")) {
    const Json own = code->at("AutoTokenizer");  // [slow, fast], or the name of one
    refuse(own.is_list() && own.size() > 0 ? own.item(0) : own);
  }
  const TokenizerClass* const known = name ? find_class(name->text()) : nullptr;
  if (known != nullptr && known->files != ClassFiles::kNone) return *known;
  // Without a vocabulary, the generic class just lacks its file.
  if (name && (has_files || (is_class && !is_generic_class(name->text())))) refuse(*name);
  return has_text ? kUsualText : kUsualPairs;
}

void check_class(const std::optional<Json>& name) {
  const TokenizerClass* const known = name ? find_class(name->text()) : nullptr;
  if (known == nullptr || known->files != ClassFiles::kOwnCode) return;
  name->fail("must be a class that Tessera builds, got ", printable(name->text()),
             ", which finds words by a dictionary or by code of its own");
}

}  // namespace tessera::text
