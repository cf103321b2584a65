// Tokenizers described by a tokenizer.json, the format of Hugging Face's tokenizers library.
//
//   text -> added tokens split off -> normalizer -> pre-tokenizer: words
//        -> subword model: tokens -> cut to length -> post-processor: special tokens
//
//   const auto bert = text::load_tokenizer("all-MiniLM-L6-v2");        // tokenizers.h
//   bert->encode("Ein Café").ids;                                     // {101, 16417, 7668, 102}
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/tokenizer.h"
#include "tensor/io/json.h"

namespace tessera::text {

/// The settings of a tokenizer_config.json in addition to a tokenizer.json.
struct TokenizerConfig {
  TokenizerSettings settings = {};
  // The special tokens; absent ones have their usual names ([PAD] or <pad>, ...).
  std::optional<std::string> pad = {};
  std::optional<std::string> unknown = {};
  std::optional<std::string> cls = {};
  std::optional<std::string> sep = {};
  std::optional<std::string> mask = {};
  std::optional<Json> normalizer = {};  // replaces the file's normalizer
};

/// The names of the special tokens: those of `config`; without one, BERT's name if `tokens` has it,
/// else RoBERTa's.
struct SpecialNames {
  SpecialNames(const TokenizerConfig& config, const NumberedTokens& tokens);
  SpecialTokens numbers(const NumberedTokens& tokens) const;

  std::string pad, unknown, cls, sep, mask;
};

/// The tokenizer of a tokenizer.json: ids and offsets are those of the tokenizers library (0.23.2).
///
/// The blocks "truncation" and "padding" are not applied, as in transformers: they remain from an
/// earlier call, and encode has options for both. An added token has the number that the model
/// gives its string, otherwise the number in the file.
/// **Source**: the tokenizer.json of the tokenizers library.
class PipelineTokenizer final : public Tokenizer {
 public:
  /// **Errors**: std::runtime_error that names the file and the place: a part of an unknown kind; a
  /// number with two tokens.
  static PipelineTokenizer from_json(const Json& json, const TokenizerConfig& config = {});
  static PipelineTokenizer from_text(std::string_view text, const std::string& file);

  std::string decode(std::span<const index_t> ids) const override;
  /// A tokenizer.json; the settings of the TokenizerConfig are lost, except the normalizer.
  std::string to_text() const override;
  bool is_special(index_t id) const override;

 private:
  struct Steps;
  PipelineTokenizer(Vocabulary vocabulary, Frame frame, const TokenizerSettings& settings,
                    std::shared_ptr<const Steps> steps);
  std::vector<Piece> split(std::string_view text) const override;
  std::vector<Piece> split_plain(std::string_view text) const override;
  void trim(std::string_view text, std::span<Piece> pieces) const override;

  std::shared_ptr<const Steps> steps_;
};

/// The tokenizer in a model's folder; load_tokenizer (tokenizers.h) lists its files.
/// **Errors**: std::runtime_error that names the file and the place, or the folder if it has none.
PipelineTokenizer load_pipeline_tokenizer(const std::filesystem::path& folder);

}  // namespace tessera::text
