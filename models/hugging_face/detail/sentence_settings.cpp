#include "tessera/models/hugging_face/detail/sentence_settings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/json_edit.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/json.h"

namespace tessera::models {

namespace {

using Path = std::filesystem::path;

/// Throws if a key of `json` has an object with a value that could change results.
void refuse_arguments(const Json& json, const char* key) {
  constexpr std::array<std::string_view, 9> kHarmless = {
      "trust_remote_code",   "torch_dtype",       "dtype",
      "attn_implementation", "add_pooling_layer", "low_cpu_mem_usage",
      "device_map",          "use_fast",          "use_cache"};
  const auto arguments = json.find(key);
  if (!arguments) return;
  for (const Json& argument : arguments->as_object().items()) {
    if (argument.is_null() || std::ranges::find(kHarmless, argument.key()) != kHarmless.end()) {
      continue;
    }
    argument.fail("must be absent, got ", argument.described(), "; this argument is not supported");
  }
}

/// Throws for the keys of sentence_bert_config.json that would change results and are not
/// supported.
void check_transformer(const Json& json) {
  for (const char* key : {"model_args", "model_kwargs", "tokenizer_args", "processor_kwargs",
                          "config_args", "config_kwargs"}) {
    refuse_arguments(json, key);
  }
  for (const char* key :
       {"tokenizer_name_or_path", "query_length", "document_length", "query_expansion"}) {
    if (const auto found = json.find(key)) {
      found->fail("must be absent or null, got ", found->described());
    }
  }
  config::want_text(json, "transformer_task", "feature-extraction");
  config::want_text(json, "module_output_name", "token_embeddings");
  if (const auto modality = json.find("modality_config")) {
    const Json text = modality->at("text");
    config::want_text(text, "method", "forward");
    config::want_text(text, "method_output_name", "last_hidden_state");
  }
  if (const auto calls = json.find("processing_kwargs")) {
    refuse_arguments(*calls, "common");
    refuse_arguments(*calls, "text");
  }
}

/// Returns the most tokens of a text.
index_t read_lengths(const Path& folder, SentenceSettings& settings) {
  for (const char* family :
       {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"}) {
    const auto json =
        find_json(folder / (std::string("sentence_") + family + "_config.json"), kSmallJson);
    if (!json || json->as_object().size() == 0) continue;
    check_transformer(*json);
    settings.lower_case = json->boolean("do_lower_case", false);
    return json->integer("max_seq_length", JsonRange{1, kLongestText}, 0);
  }
  return 0;
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

std::pair<SentenceSettings, index_t> read_settings(const Path& folder, const Path& encoder_folder,
                                                   std::string_view model_type) {
  SentenceSettings settings;
  const index_t max_length = encoder_folder.empty() ? 0 : read_lengths(encoder_folder, settings);
  if (const auto json = find_json(folder / "config_sentence_transformers.json", kSmallJson)) {
    config::want_text(*json, "model_type", model_type);
    read_prompts(*json, settings);
    const auto name = json->find("similarity_fn_name");
    if (name && model_type == "ColBERT") {
      config::want_text(*json, "similarity_fn_name", "MaxSim");
    } else if (name) {
      settings.similarity = similarity_named(*name);
    }
    settings.truncate_dim = json->integer("truncate_dim", JsonRange{1, config::kMaxWidth}, 0);
  }
  return {std::move(settings), max_length};
}

std::string prompt_of(const char* op, const SentenceSettings& settings,
                      const TaskOptions& options) {
  if (options.prompt) return *options.prompt;
  const auto& name = options.prompt_name ? options.prompt_name : settings.default_prompt;
  if (!name) return {};
  const auto found = settings.prompts.find(*name);
  if (found != settings.prompts.end()) return found->second;
  std::string names;
  for (const auto& [known, text] : settings.prompts) {
    names += (names.empty() ? "one of " : ", ") + printable(known);
  }
  fail(op, "prompt_name must be ",
       names.empty() ? "absent, because the folder has no prompts" : names, ", got ",
       printable(*name));
}

TaskOptions options_for(const SentenceSettings& settings, TaskOptions options,
                        std::initializer_list<const char*> names) {
  if (options.prompt || options.prompt_name) return options;
  const auto* const found = std::find_if(names.begin(), names.end(), [&](const char* name) {
    return settings.prompts.contains(name);
  });
  if (found != names.end()) options.prompt_name = *found;
  return options;
}

void write_settings(const Path& to, const Path& encoder_to, const SentenceSettings& settings,
                    index_t max_length, const Path& from, const JsonMembers& more) {
  JsonMembers prompts;
  for (const auto& [name, text] : settings.prompts) {
    prompts.emplace_back(name, JsonText(text, "save_folder"));
  }
  JsonMembers changes = {
      {"prompts", JsonObject(kObjectInLine).add(prompts)},
      {"default_prompt_name", settings.default_prompt},
      {"similarity_fn_name", kSimilarities[static_cast<std::size_t>(settings.similarity)]},
  };
  for (const auto& member : more) {
    std::erase_if(changes, [&](const auto& change) { return change.first == member.first; });
    changes.push_back(member);
  }
  const std::string file = "config_sentence_transformers.json";
  const auto old = find_json(from / file);
  if (settings.truncate_dim > 0 || (old && old->has("truncate_dim"))) {
    const index_t columns = settings.truncate_dim;
    changes.emplace_back("truncate_dim", columns > 0 ? std::optional(columns) : std::nullopt);
  }
  write_text(to / file, old ? edited(*old, changes) : file_of(changes));
  if (encoder_to.empty()) return;
  write_text(encoder_to / "sentence_bert_config.json",
             file_of({{"max_seq_length", max_length > 0 ? std::optional(max_length) : std::nullopt},
                      {"do_lower_case", settings.lower_case}}));
}

}  // namespace tessera::models
