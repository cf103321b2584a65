// What the JSON files of a sentence-transformers folder say besides its modules, and what they want
// done to a text before its tokenizer sees it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "models/hugging_face/similarity.h"

namespace tessera::models {

struct SentenceSettings {
  bool lower_case = false;                          // before the tokenizer
  std::map<std::string, std::string> prompts = {};  // texts to put in front, by their names
  std::optional<std::string> default_prompt = {};   // the name of the one that is used unasked
  Similarity similarity = Similarity::kCosine;
};

/// Reads config_sentence_transformers.json of `folder`, and sentence_bert_config.json, under any of
/// its names, of the encoder's own folder. None must be there. `max_length` is set to the tokens of
/// a text, the special ones included, if the folder limits them.
/// **Errors**: std::runtime_error that names the file, the key, what is wanted and what is there.
SentenceSettings read_sentence_settings(const std::filesystem::path& folder,
                                        const std::filesystem::path& encoder_folder,
                                        index_t& max_length);

/// Writes those files, the latter as sentence_bert_config.json. Other keys of the former are those
/// that the folder `from` has.
void write_sentence_settings(const std::filesystem::path& to,
                             const std::filesystem::path& encoder_to,
                             const SentenceSettings& settings, index_t max_length,
                             const std::filesystem::path& from);

/// A text without the white space at its ends, as Python's str.strip(), and in lower case if
/// wanted. What is not UTF-8 stays as it is.
std::string cleaned(std::string_view text, bool lower_case);

}  // namespace tessera::models
