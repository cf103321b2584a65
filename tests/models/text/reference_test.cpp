// Tokenizers compared with the results of Hugging Face's tokenizers library for the same texts:
// tests/golden/tokenizers/README.md describes the files.
#include <filesystem>

#include "tessera/models/text/tokenizers.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/json.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using Ids = std::vector<index_t>;

const std::filesystem::path kFolder = std::filesystem::path(TESSERA_GOLDEN_DIR) / "tokenizers";

Ids integers(const Json& list) {
  Ids values;
  for (const Json& value : list.items()) values.push_back(value.integer());
  return values;
}

Ids flat(const std::vector<Span>& spans) {
  Ids values;
  for (const Span span : spans) values.insert(values.end(), {span.begin, span.end});
  return values;
}

std::string shown(const Ids& values) {
  std::string text;
  for (const index_t value : values) text += std::to_string(value) + " ";
  return text;
}

EncodeOptions options_of(const Json& one) {
  EncodeOptions options{.add_special_tokens = !one.has("plain")};
  const std::optional<Json> cut = one.find("max");
  if (!cut) return options;
  const std::string_view strategy = cut->item(1).text();
  options.max_length = cut->item(0).integer();
  options.truncation = strategy == "OnlyFirst"    ? Truncation::kOnlyFirst
                       : strategy == "OnlySecond" ? Truncation::kOnlySecond
                                                  : Truncation::kLongestFirst;
  options.truncation_side = cut->item(2).text() == "Left" ? Side::kLeft : Side::kRight;
  options.stride = cut->item(3).integer();
  return options;
}

/// The differences between an encoding and the file's; empty if there are none.
std::string difference(const Encoding& got, const Json& wanted, bool with_types) {
  const Ids ids = integers(wanted.at("i"));
  const Ids offsets = integers(wanted.at("o"));
  std::string text;
  if (got.ids != ids) text += "\n  ids " + shown(got.ids) + "\n  not " + shown(ids);
  if (flat(got.offsets) != offsets) {
    text += "\n  offsets " + shown(flat(got.offsets)) + "\n      not " + shown(offsets);
  }
  if (!with_types) return text;
  const auto named = wanted.find("t");
  const Ids types = named ? integers(*named) : Ids(ids.size(), 0);
  if (got.type_ids != types)
    text += "\n  types " + shown(got.type_ids) + "\n    not " + shown(types);
  return text;
}

std::vector<Encoding> encoded(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                              const EncodeOptions& options, bool windows) {
  if (texts.size() == 2) {
    return windows ? tokenizer.encode_pair_windows(texts[0], texts[1], options)
                   : std::vector{tokenizer.encode_pair(texts[0], texts[1], options)};
  }
  return windows ? tokenizer.encode_windows(texts[0], options)
                 : std::vector{tokenizer.encode(texts[0], options)};
}

/// The error of one case; empty if there is none.
std::string check(const Tokenizer& tokenizer, const Json& one) {
  std::vector<std::string> texts;
  for (const Json& text : one.at("s").items()) texts.emplace_back(text.text());
  const EncodeOptions options = options_of(one);
  const auto more = one.find("more");
  std::vector<Encoding> got;
  try {
    got = encoded(tokenizer, texts, options, more.has_value());
  } catch (const std::invalid_argument& error) {
    return one.has("fails") ? "" : error.what();
  }
  if (one.has("fails")) return "it should have been refused";
  std::string text = difference(got.front(), one, true);
  if (more && std::ssize(got) != more->size() + 1) {
    return text + "\n  " + std::to_string(got.size()) + " windows";
  }
  for (std::size_t i = 1; i < got.size(); ++i) {
    text += difference(got[i], more->item(static_cast<index_t>(i) - 1), false);
  }
  if (const auto decoded = one.find("d"); decoded && text.empty()) {
    const Ids& ids = got.front().ids;
    const auto compare = [&](const std::string& result, std::string_view wanted) {
      if (result != wanted) text += "\n  decoded " + result + "\n      not " + std::string(wanted);
    };
    compare(tokenizer.decode(ids), decoded->item(0).text());
    compare(tokenizer.decode_text(ids), decoded->item(1).text());
  }
  return text;
}

/// The largest number of failures shown per tokenizer.
constexpr int kShown = 8;

class Reference : public ::testing::TestWithParam<const char*> {};

TEST_P(Reference, AgreesOnEveryCase) {
  const std::string name = GetParam();
  const auto tokenizer = load_tokenizer(kFolder / (name + ".json"));
  int failures = 0;
  int count = 0;
  for (const Json& one : read_json(kFolder / (name + ".cases.json")).items()) {
    const std::string wrong = check(*tokenizer, one);
    if (!wrong.empty() && ++failures <= kShown) {
      std::string texts;
      for (const Json& text : one.at("s").items()) texts += " " + JsonText(text).text();
      ADD_FAILURE() << "case " << count << texts << wrong;
    }
    ++count;
  }
  EXPECT_EQ(failures, 0) << "of " << count;
  EXPECT_GE(count, 200);
}

TEST_P(Reference, SavedAndReadAgainIsTheSame) {
  const std::string name = GetParam();
  const auto tokenizer = load_tokenizer(kFolder / (name + ".json"));
  const std::string text = tokenizer->to_text();
  const auto again = tokenizer_from_text(text, "again");
  EXPECT_EQ(again->to_text(), text);
  EXPECT_EQ(again->vocabulary(), tokenizer->vocabulary());
  const std::string hard =
      "The <mask> wasn't [MASK] unbreakable, Café NEW-TOKEN 1995 \xf0\x9f\x98\x80";
  const Encoding wanted = tokenizer->encode_pair(hard, hard);
  const Encoding got = again->encode_pair(hard, hard);
  EXPECT_EQ(got.ids, wanted.ids);
  EXPECT_EQ(got.offsets, wanted.offsets);
  EXPECT_EQ(got.type_ids, wanted.type_ids);
}

INSTANTIATE_TEST_SUITE_P(All, Reference,
                         ::testing::Values("bert_uncased", "bert_cased", "mpnet", "word_level",
                                           "gpt2", "roberta", "modernbert", "llama3", "llama2",
                                           "clip", "xlm_roberta", "albert", "byte_unigram"),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace tessera::text
