#include "models/hugging_face/detail/sentence_settings.h"

#include <array>

#include "models/hugging_face/detail/json_edit.h"
#include "tensor/io/file.h"
#include "tensor/io/json.h"

namespace tessera::models {

namespace {

using Path = std::filesystem::path;

constexpr index_t kLongestText = index_t{1} << 30;

void read_lengths(const Path& folder, SentenceFiles& files) {
  for (const char* family :
       {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"}) {
    const auto json =
        find_json(folder / (std::string("sentence_") + family + "_config.json"), kSmallJson);
    if (!json) continue;
    files.max_length = json->integer("max_seq_length", JsonRange{1, kLongestText}, 0);
    files.settings.lower_case = json->boolean("do_lower_case", false);
    return;
  }
}

/// In the order of the enum.
constexpr std::array<std::string_view, 4> kSimilarities = {"cosine", "dot", "euclidean",
                                                           "manhattan"};

Similarity similarity_named(const Json& name) {
  for (std::size_t i = 0; i < kSimilarities.size(); ++i) {
    if (name.text() == kSimilarities[i]) return static_cast<Similarity>(i);
  }
  name.fail("must be cosine, dot, euclidean or manhattan, got ", name.described());
}

void read_prompts(const Json& json, SentenceSettings& settings) {
  if (const auto prompts = json.find("prompts")) {
    for (const Json& prompt : prompts->as_object().items()) {
      settings.prompts.emplace(prompt.key(), prompt.text());
    }
  }
  const auto name = json.find("default_prompt_name");
  if (!name) return;
  settings.default_prompt = name->text();
  if (!settings.prompts.contains(*settings.default_prompt)) {
    name->fail("must be the name of a prompt, got ", name->described());
  }
}

}  // namespace

SentenceFiles read_sentence_files(const Path& folder, const Path& encoder_folder) {
  SentenceFiles files;
  read_lengths(encoder_folder, files);
  if (const auto json = find_json(folder / "config_sentence_transformers.json", kSmallJson)) {
    read_prompts(*json, files.settings);
    if (const auto name = json->find("similarity_fn_name")) {
      files.settings.similarity = similarity_named(*name);
    }
  }
  return files;
}

void write_sentence_files(const Path& to, const Path& encoder_to, const SentenceFiles& files,
                          const Path& from) {
  const SentenceSettings& settings = files.settings;
  JsonMembers prompts;
  for (const auto& [name, text] : settings.prompts) {
    prompts.emplace_back(name, JsonText(text, "save_folder"));
  }
  const JsonMembers changes = {
      {"prompts", JsonObject(kObjectInLine).add(prompts)},
      {"default_prompt_name", settings.default_prompt},
      {"similarity_fn_name", kSimilarities[static_cast<std::size_t>(settings.similarity)]},
  };
  const std::string file = "config_sentence_transformers.json";
  const auto old = find_json(from / file);
  write_text(to / file, old ? edited(*old, changes) : file_of(changes));
  write_text(encoder_to / "sentence_bert_config.json",
             file_of({{"max_seq_length",
                       files.max_length > 0 ? std::optional(files.max_length) : std::nullopt},
                      {"do_lower_case", settings.lower_case}}));
}

}  // namespace tessera::models
