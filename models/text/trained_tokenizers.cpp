#include "tessera/models/text/tokenizers.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/models/text/detail/pipeline_tokenizer.h"
#include "tessera/models/text/detail/steps.h"
#include "tessera/models/text/detail/subword_trainer.h"
#include "tessera/models/text/utf8.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/json.h"

namespace tessera::text {

namespace {

const std::vector<std::string> kSpecial = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

/// `[CLS] A [SEP]`, and `[CLS] A [SEP] B [SEP]`.
constexpr const char* kBertTemplate = R"({
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
    "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
             {"Sequence": {"id": "A", "type_id": 0}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
             {"Sequence": {"id": "B", "type_id": 1}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                       "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}})";

/// The parts of a tokenizer.json.
struct PipelineParts {
  JsonText normalizer;
  JsonText pre_tokenizer;
  JsonText post_processor;
  JsonText decoder;
};

WordCounts count_words(std::span<const std::string> texts, const PipelineParts& parts) {
  const Json written = parse_json(parts.normalizer.text(), "normalizer");
  const TextStep normalizer = written.is_null() ? nullptr : read_normalizer(written);
  const TextStep pre_tokenizer =
      read_pre_tokenizer(parse_json(parts.pre_tokenizer.text(), "pre_tokenizer"));
  WordCounts counts;
  for (const std::string& given : texts) {
    check_utf8(given, "train", &given - texts.data());
    AlignedText text{given, {}};
    if (normalizer) normalizer(text);
    text.words = {{0, std::ssize(text.text)}};
    pre_tokenizer(text);
    for (const Span word : text.words) ++counts[std::string(text_at(text.text, word))];
  }
  return counts;
}

JsonList added_tokens() {
  JsonList list;
  for (std::size_t id = 0; id < kSpecial.size(); ++id) {
    list.add(JsonObject({{"id", id},
                         {"content", kSpecial[id]},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", true}}));
  }
  return list;
}

JsonObject vocabulary(const std::vector<std::string>& tokens) {
  JsonObject numbers;
  for (std::size_t id = 0; id < tokens.size(); ++id) numbers.add(tokens[id], id);
  return numbers;
}

std::unique_ptr<Tokenizer> made(const PipelineParts& parts, const JsonObject& model) {
  const std::string json = JsonObject({{"added_tokens", added_tokens()},
                                       {"normalizer", parts.normalizer},
                                       {"pre_tokenizer", parts.pre_tokenizer},
                                       {"post_processor", parts.post_processor},
                                       {"decoder", parts.decoder},
                                       {"model", model}})
                               .text();
  return pipeline_tokenizer(parse_json(json, "tokenizer.json"));
}

}  // namespace

std::unique_ptr<Tokenizer> train_word_piece(std::span<const std::string> texts,
                                            const TokenizerTrainingOptions& options) {
  const PipelineParts parts = {
      .normalizer = JsonObject({{"type", "BertNormalizer"},
                                {"clean_text", true},
                                {"handle_chinese_chars", true},
                                {"strip_accents", nullptr},
                                {"lowercase", options.lower_case}}),
      .pre_tokenizer = JsonObject({{"type", "BertPreTokenizer"}}),
      .post_processor = JsonText::written(kBertTemplate),
      .decoder = JsonObject({{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}})};
  const std::vector<std::string> tokens =
      learn_subwords(count_words(texts, parts), {.vocab_size = options.vocab_size,
                                                 .min_count = options.min_count,
                                                 .special = kSpecial,
                                                 .max_characters = options.max_characters});
  return made(parts, JsonObject({{"type", "WordPiece"},
                                 {"unk_token", "[UNK]"},
                                 {"continuing_subword_prefix", "##"},
                                 {"max_input_chars_per_word", 100},
                                 {"vocab", vocabulary(tokens)}}));
}

}  // namespace tessera::text
