#include "tessera/models/text/detail/pipeline_tokenizer.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tessera/models/text/detail/steps.h"
#include "tessera/models/text/detail/subword_model.h"
#include "tessera/tensor/io/file.h"

namespace tessera::text {

namespace {

/// The name of the unknown token, if the model has one.
std::optional<std::string> unknown_of(const Json& model, const TokenList& tokens) {
  const std::optional<Json> name = model.find("unk_token");
  if (name) return std::string(name->text());
  const std::optional<Json> id = model.find("unk_id");
  if (!id) return std::nullopt;
  return std::string(tokens[id->integer(JsonRange{0, tokens.size() - 1})]);
}

/// The tokens of the model, with room for `more`. Errors: a token that occurs twice.
Vocabulary vocabulary_of(SubwordModel& read, index_t more, const Json& model) {
  try {
    return Vocabulary(read.release_tokens(), {}, more);
  } catch (const std::invalid_argument& error) {
    model.fail(error.what());
  }
}

/// Adds the special tokens that the model has, for folders without tokenizer.json.
void add_defaults(const SpecialNames& names, bool mask_strips, const Vocabulary& tokens,
                  std::vector<AddedToken>& added) {
  std::unordered_set<std::string> known;
  for (const AddedToken& token : added) known.insert(token.content);
  for (const auto* const name : {&names.pad, &names.unknown, &names.cls, &names.sep, &names.mask}) {
    if (!tokens.find(**name) || !known.insert(**name).second) continue;
    const bool strips_left = mask_strips && name == &names.mask;
    added.push_back({.content = **name, .strips_left = strips_left, .special = true});
  }
}

/// Numbers the added tokens of the file and of `config`, and adds them to `tokens`. Errors: as
/// number_tokens and AddedTokens, with the place in the file.
AddedTokens make_added_tokens(const Json& json, const std::vector<AddedToken>& list,
                              Vocabulary& tokens, const TextStep& normalizer) {
  try {
    const index_t model_size = json.at("model").at("vocab").size();
    return AddedTokens(number_tokens(list, model_size, tokens), normalizer);
  } catch (const std::invalid_argument& error) {
    fail_file(json.place() + ": added_tokens", error.what());
  }
}

/// Part of a changed text, as a separate text.
AlignedText part_of(const AlignedText& text, Span bytes) {
  AlignedText part{std::string(text_at(text.text, bytes)), {}, 0, text.effort};
  part.begin = text.origin(bytes.begin, bytes.end).begin;
  if (!text.origins.empty()) {
    part.origins.assign(text.origins.begin() + bytes.begin, text.origins.begin() + bytes.end);
  }
  return part;
}

/// The number of the next word.
index_t next_word(const std::vector<Piece>& pieces) {
  return pieces.empty() ? 0 : pieces.back().word + 1;
}

SpecialTokens numbers_of(const SpecialNames& names, const Vocabulary& tokens) {
  return {.pad = tokens.find(*names.pad),
          .unknown = tokens.find(*names.unknown),
          .cls = tokens.find(*names.cls),
          .sep = tokens.find(*names.sep),
          .mask = tokens.find(*names.mask)};
}

/// A tokenizer.json of `steps`, with the model of `json`.
std::string text_of_steps(const StepsJson& steps, const AddedTokens& added, const Json& json) {
  return JsonObject({{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added.to_json()},
                     {"normalizer", steps.normalizer},
                     {"pre_tokenizer", steps.pre_tokenizer},
                     {"post_processor", steps.post_processor},
                     {"decoder", json.find("decoder")},
                     {"model", json.find("model")}})
             .text() +
         "\n";
}

/// The steps of a text: `added` divides it, then normalizer, pre-tokenizer and model follow between
/// added tokens, and after truncation the post-processor. `decoder` is for the way back.
struct PipelineSteps {
  std::string text = {};     // the steps as a tokenizer.json, a fraction of its Json's memory
  TextStep normalizer = {};  // empty: none; the same for pre-tokenizer and decoder
  TextStep pre_tokenizer = {};
  Decoder decoder = {};
  std::unique_ptr<SubwordModel> model = {};
  AddedTokens added = {};
  PostProcessor post_processor = {};
};

class PipelineTokenizer final : public Tokenizer {
 public:
  PipelineTokenizer(Vocabulary vocabulary, const TokenizerSettings& settings, PipelineSteps steps)
      : Tokenizer(std::move(vocabulary), std::move(steps.post_processor.frame), settings),
        steps_(std::move(steps)) {}

  std::string decode(std::span<const index_t> ids) const override;
  std::string to_text() const override { return steps_.text; }
  bool is_special(index_t id) const override;

 private:
  std::vector<Piece> split(std::string_view text) const override { return pieces_of(text, true); }
  std::vector<Piece> split_plain(std::string_view text) const override {
    return pieces_of(text, false);
  }
  void trim(std::string_view text, std::span<Piece> pieces) const override {
    steps_.post_processor.trim(text, pieces, steps_.added);
  }

  std::vector<Piece> pieces_of(std::string_view text, bool special) const;
  void add_text(AlignedText text, bool special, std::vector<Piece>& pieces) const;
  void add_words(AlignedText text, std::vector<Piece>& pieces) const;

  PipelineSteps steps_;
};

void add_token(const AddedToken& token, Span bytes, std::vector<Piece>& pieces) {
  pieces.push_back({token.id, bytes, next_word(pieces)});
}

std::vector<Piece> PipelineTokenizer::pieces_of(std::string_view text, bool special) const {
  constexpr std::size_t kUsualBytes = 3;  // of a token
  constexpr std::size_t kMostAhead = 1 << 24;
  require(text.size() <= Origin::kMostBytes, "encode", "a text must have at most ",
          Origin::kMostBytes, " bytes, got ", text.size());
  std::vector<Piece> pieces;
  // For a text of a megabyte, growing the list took as long as everything else.
  pieces.reserve(std::min(text.size() / kUsualBytes, kMostAhead) + 1);
  Effort effort(std::ssize(text));
  const auto add_part = [&](const AddedToken* token, Span bytes) {
    if (token != nullptr) {
      add_token(*token, bytes, pieces);
    } else {
      add_text({std::string(text_at(text, bytes)), {}, bytes.begin, &effort}, special, pieces);
    }
  };
  steps_.added.cut(text, AddedTokens::In::kGivenText, special, effort, std::ref(add_part));
  return pieces;
}

/// Adds the tokens of a text without added tokens, except those that are searched after
/// normalisation.
void PipelineTokenizer::add_text(AlignedText text, bool special, std::vector<Piece>& pieces) const {
  if (steps_.normalizer) steps_.normalizer(text);
  if (text.text.empty()) return;
  constexpr auto kWhere = AddedTokens::In::kNormalizedText;
  if (!steps_.added.any(kWhere)) {
    text.begin = text.origin(0, std::ssize(text.text)).begin;
    add_words(std::move(text), pieces);
    return;
  }
  const auto add_part = [&](const AddedToken* token, Span bytes) {
    if (token != nullptr) {
      add_token(*token, text.origin(bytes.begin, bytes.end), pieces);
    } else {
      add_words(part_of(text, bytes), pieces);
    }
  };
  steps_.added.cut(text.text, kWhere, special, *text.effort, std::ref(add_part));
}

void PipelineTokenizer::add_words(AlignedText text, std::vector<Piece>& pieces) const {
  text.words = {{0, std::ssize(text.text)}};
  if (steps_.pre_tokenizer) steps_.pre_tokenizer(text);
  const std::string_view all = text.text;
  text.effort->keep(std::ssize(all));
  for (const Span word : text.words) {
    if (word.begin == word.end) continue;
    const std::size_t before = pieces.size();
    const index_t number = next_word(pieces);
    steps_.model->tokenize(text_at(all, word), pieces, *text.effort);
    text.effort->check_tokens(std::ssize(pieces));
    for (std::size_t i = before; i < pieces.size(); ++i) {
      pieces[i].word = number;
      Span& bytes = pieces[i].bytes;
      bytes = text.origin(word.begin + bytes.begin, word.begin + bytes.end);
    }
  }
}

bool PipelineTokenizer::is_special(index_t id) const {
  const AddedToken* const token = steps_.added.find(id);
  return token != nullptr && token->special;
}

std::string PipelineTokenizer::decode(std::span<const index_t> ids) const {
  std::vector<std::string> tokens;
  for (const index_t id : ids) {
    const AddedToken* const added = steps_.added.find(id);
    const std::string_view text = added != nullptr ? added->found_as : token(id);
    if (!text.empty()) tokens.emplace_back(text);
  }
  const bool spaced = !steps_.decoder;
  if (!spaced) steps_.decoder(tokens);
  std::string all;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (spaced && i > 0) all += ' ';
    all += tokens[i];
  }
  return all;
}

}  // namespace

std::unique_ptr<Tokenizer> pipeline_tokenizer(const Json& json, const TokenizerConfig& config) {
  const Json model = json.at("model");
  const StepsJson parts = config.steps ? *config.steps : StepsJson::of(json);
  PipelineSteps steps;
  if (parts.normalizer) steps.normalizer = read_normalizer(*parts.normalizer);
  if (parts.pre_tokenizer) steps.pre_tokenizer = read_pre_tokenizer(*parts.pre_tokenizer);
  if (const auto part = json.find("decoder")) steps.decoder = read_decoder(*part);
  steps.model = read_subword_model(model);
  std::vector<AddedToken> added = read_added_tokens(json);
  added.insert(added.end(), config.added.begin(), config.added.end());
  Vocabulary tokens = vocabulary_of(*steps.model, std::ssize(added), model);
  SpecialNames names = config.names;
  if (!names.unknown) names.unknown = unknown_of(model, tokens.tokens());
  names = complete_names(names, tokens);
  const bool has_no_class =
      config.tokenizer_class != nullptr && config.tokenizer_class->name.empty();
  if (has_no_class) add_defaults(names, config.tokenizer_class->mask_strips, tokens, added);
  steps.added = make_added_tokens(json, added, tokens, steps.normalizer);
  steps.post_processor = PostProcessor(parts.post_processor, tokens.tokens());
  tokens.set_special(numbers_of(names, tokens));
  TokenizerSettings settings = config.settings;
  settings.continuing_subword_prefix =
      model.text("continuing_subword_prefix", model.text("type", "") == "WordPiece" ? "##" : "");
  steps.text = text_of_steps(parts, steps.added, json);
  return std::make_unique<PipelineTokenizer>(std::move(tokens), settings, std::move(steps));
}

}  // namespace tessera::text
