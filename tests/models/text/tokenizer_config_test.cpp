// The files next to a tokenizer.json: each key of README.md's table in a folder in which it changes
// the tokens. The ids and offsets are those of the tokenizers library (0.23.2) for the tokenizer
// that transformers builds from the folder.
#include "tessera/models/text/tokenizers.h"
#include "tessera/tensor/error.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using namespace test;
using Ids = std::vector<index_t>;
using Spans = std::vector<Span>;
using FolderFiles = std::map<std::string, std::string>;

constexpr const char* kConfig = "tokenizer_config.json";
constexpr const char* kMap = "special_tokens_map.json";
constexpr const char* kAdded = "added_tokens.json";

/// A special token in tokenizer.json.
std::string special_token(const std::string& content, const std::string& more = "") {
  return R"({"id":0,"content":")" + content + R"(","normalized":false,"special":true)" + more + "}";
}

/// A BERT whose [MASK] is no added token.
std::string bert(const std::string& blocks = "", const std::string& added = "") {
  return R"({)" + blocks + R"("added_tokens":[)" + special_token("[PAD]") + "," +
         special_token("[UNK]") + "," + special_token("[CLS]") + "," + special_token("[SEP]") +
         added + R"(],
   "normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,
                 "strip_accents":null,"lowercase":true},
   "pre_tokenizer":{"type":"BertPreTokenizer"},
   "post_processor":{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]},
   "model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,
      "[SEP]":3,"[MASK]":4,"the":5,"cat":6,"[":7,"]":8,"sep":9,"mask":10,"<":11,">":12,"ent":13}}})";
}

const std::string kVocabJson =
    R"({"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"h":4,"i":5,"hi":6,"Ġ":7,"Ġhi":8,"<mask>":9})";

std::string roberta(const std::string& space, const std::string& trims = "true") {
  return R"({"added_tokens":[)" + special_token("<mask>", R"(,"lstrip":true)") + R"(],
   "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":)" +
         space + R"(,"trim_offsets":true},
   "post_processor":{"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",0],
                     "trim_offsets":)" +
         trims + R"(,"add_prefix_space":)" + space + R"(},
   "model":{"type":"BPE","unk_token":"<unk>","merges":["h i","Ġ hi"],"vocab":)" +
         kVocabJson + "}}";
}

std::unique_ptr<Tokenizer> load(const FolderFiles& files) {
  const TemporaryFolder folder;
  for (const auto& [name, text] : files) folder.write(name, text);
  return load_tokenizer(folder.path());
}

Encoding encode(FolderFiles files, const std::string& text) {
  if (!files.contains("tokenizer.json")) files["tokenizer.json"] = bert();
  return load(files)->encode(text);
}
Ids ids(const FolderFiles& files, const std::string& text) {
  return encode(files, text).ids;
}

const Ids kWithout = {2, 5, 11, 13, 12, 6, 3};  // "the <ent> cat" without an added token
const Ids kWith = {2, 5, 14, 6, 3};

TEST(TokenizerConfig, AddsTheTokensOfAddedTokensDecoder) {
  EXPECT_EQ(ids({}, "the <ent> cat"), kWithout);
  EXPECT_EQ(
      ids({{kConfig, R"({"added_tokens_decoder":{"14":{"content":"<ent>"}}})"}}, "the <ent> cat"),
      kWith);
  // In the order of the numbers in the file, which are not the tokens' numbers.
  EXPECT_EQ(ids({{kConfig, R"({"added_tokens_decoder":
                     {"30":{"content":"<b>"},"100":{"content":"<c>"},"20":{"content":"<a>"}}})"}},
                "<a> <b> <c>"),
            (Ids{2, 14, 15, 16, 3}));
  // The flags replace those of tokenizer.json.
  const FolderFiles flags = {
      {"tokenizer.json", bert("", "," + special_token("[MASK]"))},
      {kConfig, R"({"added_tokens_decoder":{"4":{"content":"[MASK]","lstrip":true,
                           "rstrip":false,"single_word":false,"normalized":false,"special":true}}})"}};
  EXPECT_EQ(encode(flags, "the [MASK] cat").offsets,
            (Spans{{0, 0}, {0, 3}, {3, 10}, {11, 14}, {0, 0}}));
  // A saved tokenizer has them.
  const auto saved = tokenizer_from_text(
      load({{"tokenizer.json", bert()},
            {kConfig, R"({"added_tokens_decoder":{"14":{"content":"<ent>","rstrip":true}}})"}})
          ->to_text(),
      "saved");
  EXPECT_EQ(saved->encode("the <ent> cat").ids, kWith);
  EXPECT_EQ(saved->encode("<ent> cat").offsets[1], (Span{0, 6}));
}

TEST(TokenizerConfig, AddsTheTokensOfAddedTokensJson) {
  const FolderFiles files = {{kAdded, R"({"<ent>":14})"}};
  EXPECT_EQ(ids(files, "the <ent> cat"), kWith);
  EXPECT_EQ(ids(files, "the <ENT> cat"), kWith);  // normalised
  EXPECT_EQ(ids({{kAdded, R"({"<b>":9,"<a>":8})"}}, "<a> <b>"), (Ids{2, 14, 15, 3}));
  // A special token of this file is not normalised.
  const FolderFiles named = {{kAdded, R"({"<ent>":14})"},
                             {kConfig, R"({"additional_special_tokens":["<ent>"]})"}};
  EXPECT_EQ(ids(named, "the <ent> cat"), kWith);
  EXPECT_EQ(ids(named, "the <ENT> cat"), kWithout);
  // tokenizer.json overrides it, by text and by number.
  const std::string own = bert("", R"(,{"id":14,"content":"<ent>","normalized":false})");
  EXPECT_EQ(ids({{"tokenizer.json", own}, {kAdded, R"({"<ent>":14,"<ENT>":0})"}}, "the <ENT> cat"),
            kWithout);
}

TEST(TokenizerConfig, AddedTokensDecoderReplacesTheOlderFiles) {
  const FolderFiles files = {
      {kConfig, R"({"added_tokens_decoder":{}})"},
      {kAdded, R"({"<ent>":14})"},
      {kMap, R"({"mask_token":"[MASK]","additional_special_tokens":["cat"]})"}};
  EXPECT_EQ(ids(files, "the <ent> [MASK]"), (Ids{2, 5, 11, 13, 12, 7, 10, 8, 3}));
  FolderFiles all = files;
  all["tokenizer.json"] = bert();
  EXPECT_FALSE(load(all)->is_special(6));
}

TEST(TokenizerConfig, NamedSpecialTokensAreAddedTokens) {
  EXPECT_EQ(load({{"tokenizer.json", roberta("true")}, {"config.json", R"({"model_type":"bert"})"}})
                ->size(),
            10);  // without BERT's names, which it lacks
  EXPECT_EQ(ids({}, "the [MASK]"), (Ids{2, 5, 7, 10, 8, 3}));
  for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                          "cls_token", "mask_token", "image_token"}) {
    EXPECT_EQ(ids({{kConfig, str_cat(R"({")", key, R"(":"[MASK]"})")}}, "the [MASK]"),
              (Ids{2, 5, 4, 3}))
        << key;
  }
  // One that the model lacks gets the next number.
  const auto lacks = load({{"tokenizer.json", bert()}, {kConfig, R"({"mask_token":"<ent>"})"}});
  EXPECT_EQ(lacks->encode("the <ent> cat").ids, kWith);
  EXPECT_EQ(lacks->special().mask, 14);
  EXPECT_TRUE(lacks->is_special(14));
  // In transformers' order, after added_tokens_decoder.
  EXPECT_EQ(ids({{kConfig, R"({"mask_token":"<m>","eos_token":"<e>","bos_token":"<b>",
                   "additional_special_tokens":["<x>"],"cls_token":"<c>",
                   "added_tokens_decoder":{"70":{"content":"<d>"}}})"}},
                "<d> <b> <e> <c> <m> <x>"),
            (Ids{2, 14, 15, 16, 17, 18, 19, 3}));
  // Added tokens that are named become special.
  const std::string plain = bert("", R"(,{"id":14,"content":"<ent>","normalized":false})");
  EXPECT_FALSE(load({{"tokenizer.json", plain}})->is_special(14));
  EXPECT_TRUE(
      load({{"tokenizer.json", plain}, {kConfig, R"({"eos_token":"<ent>"})"}})->is_special(14));
}

TEST(TokenizerConfig, NamedTokensMayHaveFlags) {
  const std::string mask =
      R"({"mask_token":{"content":"[MASK]","lstrip":true,"normalized":false}})";
  for (const char* file : {kConfig, kMap}) {
    EXPECT_EQ(encode({{file, mask}}, "the [MASK] cat").offsets[2], (Span{3, 10})) << file;
    // The flags of tokenizer.json override them.
    EXPECT_EQ(encode({{file, mask}, {"tokenizer.json", bert("", "," + special_token("[MASK]"))}},
                     "the [MASK] cat")
                  .offsets[2],
              (Span{4, 10}))
        << file;
  }
  // Some classes let the mask take the white space before it.
  const auto begin = [](const std::string& name) {
    return encode({{kConfig, R"({"mask_token":"[MASK]","tokenizer_class":")" + name + "\"}"}},
                  "the [MASK] cat")
        .offsets[2]
        .begin;
  };
  EXPECT_EQ(begin("AlbertTokenizerFast"), 3);
  EXPECT_EQ(begin("MPNetTokenizer"), 3);
  EXPECT_EQ(begin("BertTokenizer"), 4);
  EXPECT_EQ(begin("DebertaV2Tokenizer"), 4);
  EXPECT_EQ(begin("PreTrainedTokenizerFast"), 4);
}

TEST(TokenizerConfig, TheOlderMapOverridesTheConfiguration) {
  const auto tokenizer =
      load({{"tokenizer.json", bert()},
            {kConfig, R"({"mask_token":"the","cls_token":"cat"})"},
            {kMap, R"({"mask_token":"[MASK]","pad_token":{"content":"[UNK]"}})"}});
  EXPECT_EQ(tokenizer->special().mask, 4);
  EXPECT_EQ(tokenizer->special().pad, 1);
  EXPECT_EQ(tokenizer->special().cls, 6);
  EXPECT_FALSE(tokenizer->is_special(5));
}

TEST(TokenizerConfig, AddsFurtherSpecialTokens) {
  for (const char* config :
       {R"({"additional_special_tokens":["<ent>"]})",
        R"({"additional_special_tokens":[{"content":"<ent>","normalized":false}]})",
        R"({"extra_special_tokens":["<ent>"]})",
        R"({"extra_special_tokens":{"entity_token":"<ent>"}})"}) {
    const auto tokenizer = load({{"tokenizer.json", bert()}, {kConfig, config}});
    EXPECT_EQ(tokenizer->encode("the <ent> cat").ids, kWith) << config;
    EXPECT_EQ(tokenizer->encode("the <ENT> cat").ids, kWithout) << config;
    EXPECT_TRUE(tokenizer->is_special(14)) << config;
  }
  EXPECT_EQ(ids({{kConfig, R"({"additional_special_tokens":["<b>","<a>"]})"},
                 {kMap, R"({"additional_special_tokens":["<c>","<b>"]})"}},
                "<a> <b> <c>"),
            (Ids{2, 15, 14, 16, 3}));
}

TEST(TokenizerConfig, AClassNamesItsTokens) {
  const auto mask = [](const std::string& config) {
    return ids({{kConfig, config}}, "[MASK]") == Ids{2, 4, 3};
  };
  EXPECT_TRUE(mask(R"({"tokenizer_class":"BertTokenizer"})"));
  EXPECT_TRUE(mask(R"({"tokenizer_class":"ElectraTokenizerFast"})"));
  EXPECT_FALSE(mask(R"({"tokenizer_class":"PreTrainedTokenizerFast"})"));
  EXPECT_FALSE(mask(R"({"tokenizer_class":"OwnTokenizer"})"));
  EXPECT_FALSE(mask("{}"));
  EXPECT_FALSE(mask(R"({"tokenizer_class":"BertTokenizer","mask_token":null})"));
  EXPECT_EQ(ids({{"config.json", R"({"tokenizer_class":"BertTokenizer"})"}}, "[MASK]"),
            (Ids{2, 4, 3}));
}

TEST(TokenizerConfig, PadTokenOfTheBlockPadding) {
  const FolderFiles files = {{"tokenizer.json", bert(R"("padding":{"pad_token":"[MASK]"},)")}};
  EXPECT_EQ(load(files)->special().pad, 4);
  EXPECT_EQ(ids(files, "[MASK]"), (Ids{2, 4, 3}));
  FolderFiles named = files;
  named[kConfig] = R"({"pad_token":"[UNK]"})";
  EXPECT_EQ(load(named)->special().pad, 1);
}

TEST(TokenizerConfig, AddPrefixSpaceReplacesThatOfThePreTokenizer) {
  const auto first = [](const std::string& in_file, const std::string& config) {
    return ids({{"tokenizer.json", roberta(in_file)}, {kConfig, config}}, "hi hi")[1];
  };
  const std::string bare = R"({"tokenizer_class":"PreTrainedTokenizerFast"})";
  EXPECT_EQ(first("false", bare), 6);
  EXPECT_EQ(first("true", bare), 8);
  for (const std::string name : {"PreTrainedTokenizerFast", "RobertaTokenizer", "GPT2Tokenizer"}) {
    const std::string start = R"({"tokenizer_class":")" + name + R"(","add_prefix_space":)";
    EXPECT_EQ(first("false", start + "true}"), 8) << name;
    EXPECT_EQ(first("true", start + "false}"), 6) << name;
  }
  EXPECT_EQ(first("true", R"({"tokenizer_class":"RobertaTokenizer"})"), 6);  // the class's default
  // Only that of ByteLevel, as in transformers 4.
  std::string metaspace = bert();
  const std::string words = R"({"type":"BertPreTokenizer"})";
  metaspace.replace(metaspace.find(words), words.size(),
                    R"({"type":"Metaspace","replacement":"t","add_prefix_space":true})");
  EXPECT_EQ(ids({{"tokenizer.json", metaspace}, {kConfig, R"({"add_prefix_space":false})"}}, "he"),
            (Ids{2, 5, 3}));
}

TEST(TokenizerConfig, TrimOffsetsReplacesThatOfThePostProcessorOfRoberta) {
  const auto offsets = [](const std::string& in_file, const std::string& config) {
    return encode({{"tokenizer.json", roberta("false", in_file)}, {kConfig, config}},
                  "hi hi <mask>")
        .offsets;
  };
  const Spans trimmed = {{0, 0}, {0, 2}, {3, 5}, {6, 12}, {0, 0}};
  const Spans whole = {{0, 0}, {0, 2}, {2, 5}, {5, 12}, {0, 0}};
  const std::string start = R"({"tokenizer_class":"RobertaTokenizerFast","trim_offsets":)";
  EXPECT_EQ(offsets("true", start + "false}"), whole);
  EXPECT_EQ(offsets("false", start + "true}"), trimmed);
  EXPECT_EQ(offsets("false", R"({"tokenizer_class":"RobertaTokenizer"})"), trimmed);
  EXPECT_EQ(offsets("false", R"({"trim_offsets":true})"), whole);  // another class
}

TEST(TokenizerConfig, SidesComeFromTheConfigurationOrTheBlocks) {
  const std::string blocks = R"("truncation":{"direction":"Left"},"padding":{"direction":"Left"},)";
  const auto settings = [&](const std::string& config) {
    return load({{"tokenizer.json", bert(blocks)}, {kConfig, config}})->settings();
  };
  EXPECT_EQ(settings("{}").truncation_side, Side::kLeft);
  EXPECT_EQ(settings("{}").padding_side, Side::kLeft);
  EXPECT_EQ(settings(R"({"truncation_side":"right"})").truncation_side, Side::kRight);
  EXPECT_EQ(settings(R"({"truncation_side":"right"})").padding_side, Side::kLeft);
  EXPECT_EQ(settings(R"({"padding_side":"right"})").padding_side, Side::kRight);
  EXPECT_EQ(load({{"tokenizer.json", bert()}})->settings().truncation_side, Side::kRight);
}

TEST(TokenizerConfig, MaxLenIsTheOlderNameOfModelMaxLength) {
  const auto length = [](const std::string& config) {
    return load({{"tokenizer.json", bert()}, {kConfig, config}})->settings().max_length;
  };
  EXPECT_EQ(length(R"({"max_len":5})"), 5);
  EXPECT_EQ(length(R"({"max_len":5,"model_max_length":7})"), 7);
  EXPECT_EQ(length(R"({"model_max_length":Infinity})"), 0);  // no limit
  EXPECT_EQ(length(R"({"max_len":1e30})"), 0);
  EXPECT_EQ(length(R"({"max_len":5,"model_max_length":null})"), 0);
}

TEST(TokenizerConfig, ModelInputNamesOrTheClassDecideTokenTypes) {
  const auto types = [](const std::string& config) {
    return load({{"tokenizer.json", bert()}, {kConfig, config}})->settings().feeds_type_ids;
  };
  EXPECT_TRUE(types("{}"));
  EXPECT_TRUE(types(R"({"tokenizer_class":"BertTokenizer"})"));
  for (const std::string name : {"DistilBertTokenizer", "MPNetTokenizerFast", "RobertaTokenizer",
                                 "XLMRobertaTokenizer", "TokenizersBackend"}) {
    EXPECT_FALSE(types(R"({"tokenizer_class":")" + name + "\"}")) << name;
  }
  EXPECT_FALSE(types(R"({"tokenizer_class":"BertTokenizer","model_input_names":["input_ids"]})"));
  EXPECT_TRUE(
      types(R"({"tokenizer_class":"RobertaTokenizer","model_input_names":["token_type_ids"]})"));
}

TEST(TokenizerConfig, SplitSpecialTokensMakesThemOrdinaryText) {
  const FolderFiles files = {{kConfig, R"({"split_special_tokens":true,"added_tokens_decoder":
                            {"14":{"content":"<ent>"}}})"}};
  EXPECT_EQ(ids(files, "the [SEP] <ent>"), (Ids{2, 5, 7, 9, 8, 14, 3}));  // <ent> is not special
  EXPECT_EQ(ids({{kConfig, R"({"split_special_tokens":false})"}}, "[SEP]"), (Ids{2, 3, 3}));
}

/// Keys that change no number, in transformers or here.
TEST(TokenizerConfig, IgnoresKeysWithoutEffect) {
  const std::string config = R"({"clean_up_tokenization_spaces":true,"do_basic_tokenize":false,
      "never_split":["cat"],"chat_template":"x","name_or_path":"x","max_length":3,"stride":1,
      "truncation_strategy":"only_first","pad_to_multiple_of":8,"pad_token_type_id":1,
      "special_tokens_map_file":"x","tokenizer_file":"x","vocab_file":"x","processor_class":"x",
      "pad_token_id":9,"trim_offsets":false,"errors":"replace","add_bos_token":false,
      "auto_map":{"AutoTokenizer":["a.B",null]},"backend":"tokenizers","is_local":true})";
  EXPECT_EQ(ids({{kConfig, config}}, "the cat [SEP]"), (Ids{2, 5, 6, 3, 3}));
}

TEST(TokenizerConfig, SaysWhatIsWrong) {
  const std::vector<std::array<std::string, 3>> faults = {
      {kConfig, R"({"fast_tokenizer_files":["tokenizer.json","tokenizer.4.0.0.json"]})",
       "tokenizer_config.json: fast_tokenizer_files[1]...'tokenizer.4.0.0.json'; rename"},
      {kConfig, R"({"split_special_tokens":"yes"})", "split_special_tokens"},
      {kConfig, R"({"mask_token":3})", "tokenizer_config.json: mask_token"},
      {kConfig, R"({"additional_special_tokens":"x"})", "additional_special_tokens"},
      {kConfig, R"({"add_prefix_space":1})", "tokenizer_config.json: add_prefix_space"},
      {kMap, R"({"mask_token":{"lstrip":true}})", "special_tokens_map.json: mask_token...content"},
      {kAdded, R"({"x":-1})", "added_tokens.json: x...-1"},
      {kAdded, R"({")" + std::string(1001, 'x') + R"(":20})", "1000 bytes...1001"},
      {kConfig, R"({"mask_token":")" + std::string(1001, 'x') + R"("})", "mask_token...1001"}};
  for (const auto& [file, text, says] : faults) {
    expect_refused(
        [&, &name = file, &value = text] {
          ids({{"tokenizer.json", roberta("true")}, {name, value}}, "x");
        },
        says);
  }
}

// ---- folders without tokenizer.json ----

const std::string kVocabTxt = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n";
const std::string kTwoMerges = "#version: 0.2\nh i\nĠ hi\n";

TEST(TokenizerClass, UnknownClassesAreRefusedByName) {
  const auto named = [](const std::string& name) {
    return R"({"tokenizer_class":")" + name + "\"}";
  };
  for (const std::string name :
       {"CLIPTokenizerFast", "EsmTokenizer", "FunnelTokenizer", "OwnTokenizer",
        "XLMRobertaTokenizer", "PreTrainedTokenizerFast"}) {
    for (const char* file : {kConfig, "config.json"}) {
      const FolderFiles files = {{"vocab.txt", kVocabTxt}, {file, named(name)}};
      expect_refused([&] { load(files); }, str_cat(file, ": tokenizer_class: ...'", name,
                                                   "'; save a tokenizer.json with transformers"));
    }
    EXPECT_EQ(ids({{kConfig, named(name)}}, "the cat"), (Ids{2, 5, 6, 3})) << name;
  }
  // transformers does not use a tokenizer.json of these classes, or replaces its steps by code.
  for (const std::string name : {"BertJapaneseTokenizer", "RoFormerTokenizerFast", "XLMTokenizer",
                                 "PhobertTokenizer", "BertweetTokenizer", "CanineTokenizer"}) {
    const FolderFiles files = {{"vocab.txt", kVocabTxt}, {kConfig, named(name)}};
    const std::string error =
        "tokenizer_class: ...'" + name + "', which finds words by a dictionary";
    expect_refused([&] { load(files); }, error);
    expect_refused([&] { ids({{kConfig, named(name)}}, "the cat"); }, error);
  }
  const FolderFiles none = {{kConfig, named("XLMRobertaTokenizer")}};
  expect_refused([&] { load(none); }, "tokenizer_class: ...'XLMRobertaTokenizer'; save");
  expect_refused(
      [&] {
        load({{kConfig, R"({"tokenizer_class":"PreTrainedTokenizerFast"})"}});
      },
      "must have a tokenizer...got none; save a tokenizer.json");
  const FolderFiles own = {{"vocab.txt", kVocabTxt},
                           {kConfig, R"({"auto_map":{"AutoTokenizer":["own.Own",null]}})"}};
  expect_refused([&] { load(own); },
                 "tokenizer_config.json: auto_map...'own.Own'; save a tokenizer.json");
  for (const std::string type : {"roformer", "xlm", "clip", "esm"}) {
    const FolderFiles files = {{"vocab.txt", kVocabTxt},
                               {"config.json", R"({"model_type":")" + type + "\"}"}};
    expect_refused([&] { load(files); }, "config.json: model_type...'" + type);
  }
}

TEST(TokenizerClass, DecidesWhichFilesAreRead) {
  const FolderFiles both = {
      {"vocab.txt", kVocabTxt}, {"vocab.json", kVocabJson}, {"merges.txt", kTwoMerges}};
  const auto size = [&](const std::string& file, const std::string& text) {
    FolderFiles files = both;
    files[file] = text;
    return load(files)->size();
  };
  EXPECT_EQ(load(both)->size(), 7);
  EXPECT_EQ(size(kConfig, R"({"tokenizer_class":"DistilBertTokenizer"})"), 7);
  EXPECT_EQ(size(kConfig, R"({"tokenizer_class":"RobertaTokenizer"})"), 10);
  EXPECT_EQ(size("config.json", R"({"model_type":"longformer"})"), 10);
  EXPECT_EQ(size("config.json", R"({"model_type":"distilbert"})"), 7);
  expect_refused(
      [&] {
        load({{"vocab.txt", kVocabTxt}, {kConfig, R"({"tokenizer_class":"RobertaTokenizer"})"}});
      },
      "must have a tokenizer");
}

TEST(TokenizerClass, OlderFilesHaveTheirAddedTokens) {
  const auto tokens = [](const std::string& file, const std::string& text) {
    return load({{"vocab.txt", kVocabTxt}, {file, text}})->encode("the <ent> cat").ids;
  };
  const Ids with = {2, 5, 7, 6, 3};
  EXPECT_EQ(tokens(kAdded, R"({"<ent>":7})"), with);
  EXPECT_EQ(tokens(kConfig, R"({"added_tokens_decoder":{"9":{"content":"<ent>"}}})"), with);
  EXPECT_EQ(tokens(kConfig, R"({"additional_special_tokens":["<ent>"]})"), with);
  EXPECT_EQ(tokens(kMap, R"({"additional_special_tokens":["<ent>"]})"), with);
}

TEST(TokenizerClass, IsThatOfTheModelIfTheFolderNamesNone) {
  const auto first = [](const std::string& config) {
    return ids({{"tokenizer.json", roberta("true")}, {"config.json", config}}, "hi")[1];
  };
  EXPECT_EQ(first("{}"), 8);
  EXPECT_EQ(first(R"({"model_type":"modernbert"})"), 8);
  EXPECT_EQ(first(R"({"model_type":"roberta"})"), 6);  // add_prefix_space is false by default
  EXPECT_EQ(ids({}, "the [MASK]"), (Ids{2, 5, 7, 10, 8, 3}));
  EXPECT_EQ(ids({{"config.json", R"({"model_type":"bert"})"}}, "the [MASK]"), (Ids{2, 5, 4, 3}));
}

TEST(TokenizerConfig, OnlyClassesLikeBertChangeTheNormalizer) {
  std::string keeps_accents = bert();
  const std::string null = R"("strip_accents":null)";
  keeps_accents.replace(keeps_accents.find(null), null.size(), R"("strip_accents":false)");
  const auto of = [&](const std::string& config, const std::string& text) {
    return ids({{"tokenizer.json", keeps_accents}, {kConfig, config}}, text);
  };
  const Ids unknown = {2, 1, 3};
  EXPECT_EQ(of(R"({"tokenizer_class":"BertTokenizer"})", "th\xc3\xa9"), unknown);
  // null is a value: accents are stripped because the text is in lower case.
  EXPECT_EQ(of(R"({"tokenizer_class":"BertTokenizer","strip_accents":null})", "th\xc3\xa9"),
            (Ids{2, 5, 3}));
  const std::string glued =
      "the\xe6\x88\x91"
      "cat";
  EXPECT_EQ(of(R"({"tokenizer_class":"BertTokenizer","tokenize_chinese_chars":false})", glued),
            unknown);
  for (const std::string name :
       {"MPNetTokenizer", "XLMRobertaTokenizer", "PreTrainedTokenizerFast"}) {
    EXPECT_EQ(of(R"({"tokenizer_class":")" + name + R"(","tokenize_chinese_chars":false})", glued),
              (Ids{2, 5, 1, 6, 3}))
        << name;
  }
}

TEST(TokenizerConfig, ANullNamesNoToken) {
  const auto special = [](const std::string& more) {
    return load({{"tokenizer.json", roberta("false")},
                 {kConfig, R"({"tokenizer_class":"RobertaTokenizer")" + more + "}"}})
        ->special();
  };
  EXPECT_EQ(special("").cls, 0);
  EXPECT_EQ(special(R"(,"cls_token":null)").cls, std::nullopt);
  EXPECT_EQ(special(R"(,"cls_token":null)").sep, 2);
}

TEST(TokenizerClass, EndsMayBeAddedTokens) {
  const std::string few = R"({"h":0,"i":1,"hi":2,"\u0120":3,"\u0120hi":4})";
  const FolderFiles files = {{"vocab.json", few},
                             {"merges.txt", kTwoMerges},
                             {kConfig, R"({"tokenizer_class":"RobertaTokenizer"})"}};
  EXPECT_EQ(load(files)->encode("hi").ids, (Ids{5, 2, 6}));  // <s> and </s> of the class
  FolderFiles added = files;
  added[kAdded] = R"({"</s>":5,"<s>":6})";
  EXPECT_EQ(load(added)->encode("hi").ids, (Ids{6, 2, 5}));
}

TEST(TokenizerClass, ByteLevelClassesHaveTheirOwnEnds) {
  const auto encoding = [](const std::string& config) {
    return load({{"vocab.json", kVocabJson}, {"merges.txt", kTwoMerges}, {kConfig, config}})
        ->encode("hi hi");
  };
  EXPECT_EQ(encoding(R"({"tokenizer_class":"RobertaTokenizer"})").ids, (Ids{0, 6, 8, 2}));
  const Encoding plain =
      encoding(R"({"tokenizer_class":"GPT2Tokenizer","bos_token":"<s>","eos_token":"</s>"})");
  EXPECT_EQ(plain.ids, (Ids{6, 8}));
  EXPECT_EQ(plain.offsets, (Spans{{0, 2}, {2, 5}}));
  expect_refused([&] { encoding(R"({"tokenizer_class":"GPT2Tokenizer","add_bos_token":true})"); },
                 "tokenizer_config.json: add_bos_token...");
  // The model has no unknown token: characters that it lacks are left out.
  const Ids lacking =
      load({{"vocab.json", kVocabJson}, {"merges.txt", kTwoMerges}})->encode("hixi").ids;
  EXPECT_EQ(lacking, (Ids{0, 6, 5, 2}));
  EXPECT_EQ(encoding(R"({"tokenizer_class":"BartTokenizer","trim_offsets":false})").offsets,
            (Spans{{0, 0}, {0, 2}, {2, 5}, {0, 0}}));
}

TEST(TokenizerClass, NamesTokensThatTheModelLacks) {
  const auto bert_without = [](const std::string& text) {
    return load({{"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n"},
                 {kConfig, R"({"tokenizer_class":"BertTokenizer",
                      "additional_special_tokens":["<ent>"]})"}})
        ->encode(text)
        .ids;
  };
  EXPECT_EQ(bert_without("the [MASK] <ent>"), (Ids{2, 4, 5, 6, 3}));
}

TEST(TokenizerClass, BuildsHerbert) {
  const auto herbert =
      load({{"vocab.json", R"({"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"<mask>":4,"k":5,"o":6,"t":7,
           "t</w>":8,"ko":9,"kot</w>":10,"K":11,"o</w>":12,"k</w>":13,".</w>":14})"},
            {"merges.txt", "#version: 0.2\nk o\nko t</w>\n"},
            {kConfig, R"({"tokenizer_class":"HerbertTokenizerFast","mask_token":"<mask>"})"}});
  const Encoding e = herbert->encode("kot Ko kok. <mask>x");
  EXPECT_EQ(e.ids, (Ids{0, 10, 11, 12, 9, 13, 14, 4, 3, 2}));
  EXPECT_EQ(
      e.offsets,
      (Spans{
          {0, 0}, {0, 3}, {4, 5}, {5, 6}, {7, 9}, {9, 10}, {10, 11}, {12, 18}, {18, 19}, {0, 0}}));
  EXPECT_EQ(herbert->encode_pair("kot", "kot").type_ids, (Ids{0, 0, 0, 1, 1}));
  EXPECT_EQ(herbert->decode_text(Ids{0, 10, 11, 12, 2}), "kot Ko");
}

}  // namespace
}  // namespace tessera::text
