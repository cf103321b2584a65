// Writes the files of one model of a family.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "models/hugging_face/detail/json_edit.h"
#include "models/hugging_face/folder.h"
#include "nn/state_dict.h"

namespace tessera::models {

/// The name of the operation in its errors.
inline constexpr const char* kSaveFolderOp = "save_folder";

/// The form in which a folder's model is saved.
struct SavedModel {
  std::string_view task;             // "ForSequenceClassification"; empty: only the encoder
  nn::StateDict parameters;          // by our names
  std::vector<Rename> renames = {};  // of the parameters, as for load_model
  JsonMembers config = {};           // further changes to config.json
};

/// Writes config.json, model.safetensors and the tokenizer's files of a model that was opened
/// `from` a folder.
/// **Errors**: std::invalid_argument: a parameter that no model of the family has, or one of the
/// encoder with a shape different from that in `from`; std::runtime_error that names the file.
void write_model(const std::filesystem::path& to, const ModelFolder& from, const SavedModel& model);

/// Copies the files of a tokenizer that exist.
void copy_tokenizer(const std::filesystem::path& to, const std::filesystem::path& from);

}  // namespace tessera::models
