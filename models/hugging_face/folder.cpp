#include "tessera/models/hugging_face/folder.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tessera/models/hugging_face/detail/family.h"
#include "tessera/models/hugging_face/detail/weight_files.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"

namespace tessera::models {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMergeAdapter =
    "; merge the adapter (LoRA) into its model and save that model";

/// Throws if the config describes weights that must not be used as they are.
void check_weights_are_plain(const Json& config) {
  if (const auto pruned = config.find("pruned_heads")) {
    const bool has_items = pruned->is_object() || pruned->is_list();
    if (!has_items || pruned->size() > 0) {
      pruned->fail("must be empty, got ", pruned->described(), "; pruned heads are not supported");
    }
  }
  if (const auto quantised = config.find("quantization_config")) {
    quantised->fail("must be absent, got ", quantised->described(),
                    "; save the model without quantisation");
  }
}

Json checked_config(const fs::path& folder) {
  for (const char* name : {"adapter_config.json", "adapter_model.safetensors"}) {
    if (fs::exists(folder / name))
      fail_file((folder / name).string(), "must be absent", kMergeAdapter);
  }
  Json config = read_json(folder / "config.json", kSmallJson).as_object();
  check_weights_are_plain(config);
  return config;
}

}  // namespace

ModelFolder::ModelFolder(const fs::path& folder)
    : path(folder),
      config(checked_config(folder)),
      family(&family_of(config)),
      options(family->options(config)),
      files_(std::make_shared<const WeightFiles>(folder)),
      group_size_(family->group_size != nullptr ? family->group_size(config) : 1) {
  for (const std::string& name : files_->names()) {
    if (name.find(".lora_") == std::string::npos) continue;
    fail_file(files_->file_of(name), "tensor ", printable(name), ": must not be of an adapter",
              kMergeAdapter);
  }
}

std::vector<TensorNames> ModelFolder::names_of(const std::string& name) const {
  std::vector<TensorNames> all;
  for (const auto& lines : {family->encoder_names, family->head_names}) {
    for (const WeightName& line : lines) {
      auto tensors = tensor_names(line, name, group_size_);
      if (!tensors) continue;
      if (line.joined == Joined::kQueriesKeysValues) {
        const EncoderLayerOptions& layer = options.encoder.layers.front();
        const index_t heads = layer.num_key_value_heads.value_or(layer.nhead);
        tensors->shares = {layer.nhead, heads, heads};
      }
      all.push_back(std::move(*tensors));
    }
  }
  return all;
}

/// The name of a tensor as the files spell it.
std::optional<std::string> ModelFolder::spelling_of(const std::string& theirs) const {
  for (std::string& spelling : spellings(theirs, family->prefix)) {
    if (files_->shape(spelling) != nullptr) return std::move(spelling);
  }
  return {};
}

std::optional<TensorNames> ModelFolder::find(const std::string& name) const {
  for (const TensorNames& tensors : names_of(name)) {
    TensorNames found = tensors;
    found.names.clear();
    for (const std::string& theirs : tensors.names) {
      if (auto spelling = spelling_of(theirs)) found.names.push_back(std::move(*spelling));
    }
    if (found.names.size() == tensors.names.size()) return found;
  }
  return {};
}

void ModelFolder::fail_missing(const std::string& name) const {
  const std::vector<TensorNames> places = names_of(name);
  if (places.empty()) {
    fail_file(path.string(), "parameter must be one of the family ", family->name, ", got ",
              printable(name));
  }
  const std::vector<std::string>& names = places.front().names;
  const auto is_missing = [&](const std::string& theirs) { return !spelling_of(theirs); };
  const std::string& theirs = *std::find_if(names.begin(), names.end(), is_missing);
  fail_file(files_->file_of(""), "tensor ", printable(std::string(family->prefix) + theirs), " or ",
            printable(theirs), " not found, needed for ", printable(name));
}

TensorNames ModelFolder::find_or_fail(const std::string& name) const {
  auto found = find(name);
  if (!found) fail_missing(name);
  return std::move(*found);
}

bool ModelFolder::has(const std::string& name) const {
  return find(name).has_value();
}

std::optional<Shape> ModelFolder::shape(const std::string& name) const {
  const auto found = find(name);
  if (!found) return {};
  Shape shape = *files_->shape(found->names.front());
  for (std::size_t i = 1; i < found->names.size() && !shape.empty(); ++i) {
    const Shape& next = *files_->shape(found->names[i]);
    shape[0] += next.empty() ? 0 : next[0];
  }
  return shape;
}

std::string ModelFolder::place(const std::string& name) const {
  const std::string theirs = find_or_fail(name).names.front();
  return str_cat(printable(theirs), " in ", escaped(files_->file_of(theirs)));
}

Tensor ModelFolder::weight(const std::string& name, const Shape& shape) const {
  const TensorNames found = find_or_fail(name);
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < found.names.size(); ++i) {
    Shape part = shape;
    if (found.names.size() > 1 && !part.empty()) part[0] = found.rows_of(i, shape[0]);
    parts.push_back(files_->read(found.names[i], part));
  }
  return joined(found, parts);
}

nn::ParameterSource ModelFolder::source(const std::vector<Rename>& renames) const {
  return nn::ParameterSource(
      [this, renames](const std::string& name, const Shape& shape, const nn::Init&) {
        return weight(renamed(name, renames), shape);
      });
}

void ModelFolder::require_encoder_in(const nn::StateDict& model,
                                     const std::vector<Rename>& renames) const {
  std::set<std::string> names;
  for (const auto& [name, tensor] : model) names.insert(renamed(name, renames));
  const auto layers = std::ssize(options.encoder.layers);
  for (const WeightName& line : family->encoder_names) {
    if (!line.ours.starts_with("encoder.")) continue;
    for (const std::string& name : our_names(line, layers + 1)) {
      const auto left_out = names.contains(name) ? std::nullopt : find(name);
      if (!left_out) continue;
      const std::string& theirs = left_out->names.front();
      const std::string count =
          line.ours.starts_with("encoder.layers.") ? str_cat(layers, " layers and ") : "";
      fail_file(files_->file_of(theirs), "tensor ", printable(theirs),
                ": must be absent, because the model in config.json has ", count, "no ",
                printable(name));
    }
  }
}

std::string renamed(const std::string& name, const std::vector<Rename>& renames) {
  for (const Rename& rename : renames) {
    if (name.starts_with(rename.from + '.')) return rename.to + name.substr(rename.from.size());
  }
  return name;
}

TokenEncoder load_encoder(const ModelFolder& folder) {
  return load_model<TokenEncoder>(folder.options, folder);
}

}  // namespace tessera::models
