#include "tessera/models/text/tokenizers.h"

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using namespace test;
using Ids = std::vector<index_t>;
using Files = std::vector<std::pair<std::string, std::string>>;

const std::string kVocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncaf\n##e\n##\xc3\xa9\nThe\n";
const std::string kSavedPieces =
    R"({"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"h":4,"i":5,"hi":6,"Ġ":7,"Ġhi":8,"<mask>":9})";
const std::string kMerges = "#version: 0.2\nh i\nĠ hi\n";

std::unique_ptr<Tokenizer> load(const TemporaryFolder& folder, const Files& files) {
  for (const auto& [name, text] : files) folder.write(name, text);
  return load_tokenizer(folder.path());
}

TEST(TokenizerFiles, MakeABertOfAListOfTokens) {
  const TemporaryFolder folder;
  const auto bert = load(folder, {{"vocab.txt", kVocabulary}});
  EXPECT_EQ(bert->encode("The caf\xc3\xa9").ids, (Ids{2, 5, 6, 7, 3}));
  EXPECT_EQ(bert->encode("[MASK]").ids, (Ids{2, 4, 3}));
  EXPECT_EQ(bert->encode_pair("the", "the").type_ids, (Ids{0, 0, 0, 1, 1}));
  EXPECT_EQ(bert->special(),
            (SpecialTokens{.pad = 0, .unknown = 1, .cls = 2, .sep = 3, .mask = 4}));
  EXPECT_EQ(bert->settings().continuing_subword_prefix, "##");
  EXPECT_EQ(bert->settings().max_length, 0);
  const auto cased = load(
      folder,
      {{"tokenizer_config.json",
        R"({"do_lower_case":false,"model_max_length":512,"tokenizer_class":"BertTokenizer"})"}});
  EXPECT_EQ(cased->encode("The caf\xc3\xa9").ids, (Ids{2, 9, 6, 8, 3}));
  EXPECT_EQ(cased->settings().max_length, 512);
  EXPECT_TRUE(cased->settings().feeds_type_ids);
  const auto added = load(folder, {{"tokenizer_config.json",
                                    R"({"added_tokens_decoder":{"10":{"id":10,"content":"x"}}})"}});
  EXPECT_EQ(added->encode("the x").ids, (Ids{2, 5, 10, 3}));
}

TEST(TokenizerFiles, TakeTheLastOfEqualTokensAndNoEmptyOnes) {
  const TemporaryFolder folder;
  const auto bert = load(folder, {{"vocab.txt", kVocabulary + "\r\nthe\n"}});
  EXPECT_EQ(bert->encode("the").ids, (Ids{2, 11, 3}));
  EXPECT_EQ(bert->size(), 12);
  EXPECT_EQ(bert->token(5), "");
}

TEST(TokenizerFiles, MakeAByteLevelTokenizerOfMerges) {
  const TemporaryFolder folder;
  const auto roberta = load(
      folder,
      {{"vocab.json", kSavedPieces},
       {"merges.txt", kMerges},
       {"tokenizer_config.json", R"({"model_max_length":1e30,"tokenizer_class":"RobertaTokenizer",
                 "padding_side":"left","truncation_side":"left","mask_token":{"content":"<mask>"}})"}});
  EXPECT_EQ(roberta->encode("hi hi <mask>").ids, (Ids{0, 6, 8, 9, 2}));
  EXPECT_EQ(roberta->encode("hi hi").offsets, (std::vector<Span>{{0, 0}, {0, 2}, {3, 5}, {0, 0}}));
  EXPECT_EQ(roberta->encode_pair("hi", "hi").ids, (Ids{0, 6, 2, 2, 6, 2}));
  EXPECT_EQ(roberta->settings(), (TokenizerSettings{.feeds_type_ids = false,
                                                    .padding_side = Side::kLeft,
                                                    .truncation_side = Side::kLeft}));
  EXPECT_EQ(roberta->decode_text(roberta->encode("hi hi").ids), "hi hi");
}

TEST(TokenizerFiles, LetTheConfigurationOfABertChangeItsNormalizer) {
  const TemporaryFolder folder;
  const std::string text = load(folder, {{"vocab.txt", kVocabulary}})->to_text();
  folder.write("tokenizer.json", text);
  const auto ids = [&](const std::string& config) {
    return load(folder, {{"tokenizer_config.json", config}})->encode("The caf\xc3\xa9").ids;
  };
  EXPECT_EQ(ids("{}"), (Ids{2, 5, 6, 7, 3}));
  EXPECT_EQ(ids(R"({"do_lower_case":false,"tokenizer_class":"BertTokenizer"})"),
            (Ids{2, 9, 6, 8, 3}));
  EXPECT_EQ(ids(R"({"strip_accents":false,"tokenizer_class":"BertTokenizerFast"})"),
            (Ids{2, 5, 6, 8, 3}));
  EXPECT_EQ(ids(R"({"do_lower_case":false,"tokenizer_class":"PreTrainedTokenizerFast"})"),
            (Ids{2, 5, 6, 7, 3}));
}

TEST(TokenizerFiles, SayWhatIsWrong) {
  const std::vector<std::pair<Files, std::string>> faults = {
      {{}, "must have a tokenizer...vocab.txt"},
      {{{"vocab.json", kSavedPieces}}, "merges.txt"},
      {{{"vocab.txt", "a\nb\n"}}, "vocab.txt...'<unk>'"},
      {{{"vocab.json", R"({"a":"x"})"}, {"merges.txt", kMerges}}, "vocab.json...a...'x'"},
      {{{"tokenizer.json", "[]"}}, "tokenizer.json"}};
  for (const auto& [files, words] : faults) {
    const TemporaryFolder folder;
    expect_refused([&, &chosen = files] { load(folder, chosen); }, words);
  }
  const std::vector<std::pair<std::string, std::string>> configs = {
      {R"({"padding_side":"up"})", "padding_side...'left' or 'right'...'up'"},
      {R"({"model_max_length":"long"})", "model_max_length...'long'"},
      {R"({"model_max_length":-2})", "model_max_length...-2"},
      {R"({"strip_accents":"yes"})", "strip_accents...true or false"},
      {R"({"added_tokens_decoder":{"x":{"content":"y"}}})", "added_tokens_decoder.x...a token id"},
      {R"({"added_tokens_decoder":{"5":["a","b"]}})", "added_tokens_decoder.5...an object"},
      {R"({"added_tokens_decoder":{"99999999999":{"content":"y"}}})",
       "added_tokens_decoder.99999999999...a token id"}};
  for (const auto& [config, words] : configs) {
    const TemporaryFolder folder;
    const Files files = {{"vocab.txt", kVocabulary}, {"tokenizer_config.json", config}};
    expect_refused([&] { load(folder, files); }, "tokenizer_config.json: ..." + words);
  }
}

TEST(LoadTokenizer, TakesFilesAndFolders) {
  const TemporaryFolder folder;
  const std::string text = load(folder, {{"vocab.txt", kVocabulary}})->to_text();
  const Ids ids = {2, 5, 3};
  EXPECT_EQ(load_tokenizer(folder.path())->encode("the").ids, ids);
  EXPECT_EQ(load_tokenizer(folder.write("some.json", text))->encode("the").ids, ids);
  load_tokenizer(folder.path())->save(folder.path() / "saved");
  EXPECT_EQ(load_tokenizer(folder.path() / "saved")->encode("the").ids, ids);
}

}  // namespace
}  // namespace tessera::text
