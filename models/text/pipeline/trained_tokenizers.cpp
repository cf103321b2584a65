#include "models/text/pipeline/trained_tokenizers.h"

#include <memory>
#include <string_view>
#include <vector>

#include "models/text/pipeline/byte_characters.h"
#include "models/text/pipeline/normalizer.h"
#include "models/text/pipeline/pre_tokenizer.h"
#include "models/text/pipeline/subword_trainer.h"
#include "models/text/utf8.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/io/json.h"

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
constexpr const char* kByteLevel =
    R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})";

/// The parts of a tokenizer.json, each as JSON.
struct PipelineParts {
  std::string normalizer;
  std::string pre_tokenizer;
  std::string post_processor;
  std::string decoder;
};

WordCounts count_words(std::span<const std::string> texts, const PipelineParts& parts) {
  std::unique_ptr<Normalizer> normalizer;
  if (parts.normalizer != "null") {
    normalizer = read_normalizer(parse_json(parts.normalizer, "normalizer"));
  }
  const auto pre_tokenizer = read_pre_tokenizer(parse_json(parts.pre_tokenizer, "pre_tokenizer"));
  WordCounts counts;
  for (const std::string& text : texts) {
    if (const std::size_t bad = find_invalid_utf8(text); bad != std::string::npos) {
      fail("train", "byte ", bad, " of a text must be UTF-8, got ", printable(text.substr(bad, 1)));
    }
    Words words;
    words.text.text = text;
    if (normalizer != nullptr) normalizer->apply(words.text);
    words.spans = {{0, std::ssize(words.text.text)}};
    pre_tokenizer->apply(words);
    for (const Span span : words.spans) {
      ++counts[std::string(text_at(words.text.text, span))];
    }
  }
  return counts;
}

std::string added_tokens() {
  std::string json;
  for (std::size_t id = 0; id < kSpecial.size(); ++id) {
    json += str_cat(id == 0 ? "" : ",\n    ", R"({"id": )", id, R"(, "content": ")", kSpecial[id],
                    R"(", "single_word": false, "lstrip": false, "rstrip": false, )",
                    R"("normalized": false, "special": true})");
  }
  return json;
}

std::string vocabulary_json(const std::vector<std::string>& tokens) {
  std::string json;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    json += str_cat(id == 0 ? "" : ",\n      ", json_quoted(tokens[id]), ": ", id);
  }
  return json;
}

std::string merges_json(const Merges& merges) {
  std::string json;
  for (const auto& [left, right] : merges) {
    json += str_cat(json.empty() ? "" : ",\n      ", '[', json_quoted(left), ", ",
                    json_quoted(right), ']');
  }
  return json;
}

std::string tokenizer_json(const PipelineParts& parts, const std::string& model) {
  return str_cat("{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n",
                 "  \"added_tokens\": [", added_tokens(),
                 "],\n  \"normalizer\": ", parts.normalizer,
                 ",\n  \"pre_tokenizer\": ", parts.pre_tokenizer,
                 ",\n  \"post_processor\": ", parts.post_processor,
                 ",\n  \"decoder\": ", parts.decoder, ",\n  \"model\": {", model, "}\n}\n");
}

}  // namespace

std::string train_word_piece(std::span<const std::string> texts, const TokenizerTraining& options) {
  const PipelineParts parts = {
      .normalizer = str_cat(R"({"type": "BertNormalizer", "clean_text": true, )",
                            R"("handle_chinese_chars": true, "strip_accents": null, "lowercase": )",
                            options.lower_case ? "true" : "false", '}'),
      .pre_tokenizer = R"({"type": "BertPreTokenizer"})",
      .post_processor = kBertTemplate,
      .decoder = R"({"type": "WordPiece", "prefix": "##", "cleanup": true})"};
  const LearnedSubwords learned =
      learn_subwords(count_words(texts, parts), {.vocabulary_size = options.vocabulary_size,
                                                 .min_count = options.min_count,
                                                 .special = kSpecial,
                                                 .most_characters = options.most_characters,
                                                 .prefix = "##"});
  return tokenizer_json(
      parts, str_cat(R"("type": "WordPiece", "unk_token": "[UNK]", )",
                     R"("continuing_subword_prefix": "##", "max_input_chars_per_word": 100,)",
                     "\n    \"vocab\": {", vocabulary_json(learned.tokens), '}'));
}

std::string train_byte_pair(std::span<const std::string> texts, const TokenizerTraining& options) {
  const PipelineParts parts = {.normalizer = "null",
                               .pre_tokenizer = kByteLevel,
                               .post_processor = str_cat(R"({"type": "Sequence", "processors": [)",
                                                         kByteLevel, ", ", kBertTemplate, "]}"),
                               .decoder = kByteLevel};
  SubwordLearning learning = {.vocabulary_size = options.vocabulary_size,
                              .min_count = options.min_count,
                              .special = kSpecial};
  for (int byte = 0; byte < 256; ++byte) {
    learning.alphabet.emplace_back(character_of_byte(static_cast<unsigned char>(byte)));
  }
  const LearnedSubwords learned = learn_subwords(count_words(texts, parts), learning);
  return tokenizer_json(
      parts, str_cat(R"("type": "BPE", "dropout": null, "unk_token": null, )",
                     R"("continuing_subword_prefix": null, "end_of_word_suffix": null, )",
                     R"("fuse_unk": false, "byte_fallback": false, "ignore_merges": false,)",
                     "\n    \"vocab\": {", vocabulary_json(learned.tokens), "},\n    \"merges\": [",
                     merges_json(learned.merges), ']'));
}

}  // namespace tessera::text
