#include "models/hugging_face/folder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::models {

namespace fs = std::filesystem;

/// Tensors that are there, by their names in the files, in the order of our parameter's rows.
struct ModelFolder::Found {
  std::vector<std::string> names;
  Halves halves = Halves::kKept;
};

namespace {

constexpr const char* kMergeAdapter =
    "; merge the adapter (LoRA) into its model and save that model";

/// Throws if the config is of a model whose weights are not what they seem.
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
      encoder(family->options(config)),
      files_(folder),
      group_size_(family->group_size != nullptr ? family->group_size(config) : 1) {
  for (const std::string& name : files_.names()) {
    if (name.find(".lora_") == std::string::npos) continue;
    fail_file(files_.file_of(name), "tensor ", printable(name), ": must not be of an adapter",
              kMergeAdapter);
  }
  check_embeddings();
  check_layers();
  check_layer_count();
}

/// So that no model is made for tables that are nowhere, as for layers.
void ModelFolder::check_embeddings() const {
  const index_t d_model = encoder.encoder.width();
  const index_t width = encoder.embedding_width.value_or(d_model);
  found_as("embeddings.word_embeddings.weight", {encoder.vocabulary_size, width});
  if (encoder.positions == Positions::kLearned) {
    const index_t before = encoder.padding_id ? *encoder.padding_id + 1 : 0;
    found_as("embeddings.position_embeddings.weight", {encoder.max_tokens + before, width});
  }
  if (encoder.token_types > 0) {
    found_as("embeddings.token_type_embeddings.weight", {encoder.token_types, width});
  }
  if (width != d_model) found_as("embeddings.projection.weight", {d_model, width});
}

/// So that no model is made for layers that are nowhere, or without a part of what they are.
void ModelFolder::check_layers() const {
  for (std::size_t i = 0; i < encoder.encoder.layers.size(); ++i) {
    const EncoderLayerOptions& layer = encoder.encoder.layers[i];
    const index_t rows = layer.dim_feedforward * (layer.feed_forward.gated ? 2 : 1);
    const std::string name = str_cat("encoder.layers.", i, '.');
    found_as(name + "linear1.weight", {rows, layer.d_model});
    found_as(name + "linear2.weight", {layer.d_model, layer.dim_feedforward});
    found_as(name + "self_attn.in_proj_weight", {3 * layer.d_model, layer.d_model});
    found_as(name + "self_attn.out_proj.weight", {layer.d_model, layer.d_model});
    check_biases(name, layer);
  }
}

/// A layer that is left out changes every number too.
void ModelFolder::check_layer_count() const {
  const auto layers = std::ssize(encoder.encoder.layers);
  for (const WeightName& line : family->encoder_names) {
    for (const std::string& name : our_names(line, layers + 1)) {
      if (!name.starts_with(str_cat("encoder.layers.", layers, '.'))) continue;
      const auto found = find(name);
      if (!found) continue;
      fail_file(files_.file_of(found->names.front()), "tensor ", printable(found->names.front()),
                ": layer number must be less than ", layers, ", the layers in config.json, got ",
                layers);
    }
  }
}

/// A bias that is left out, because the config says so or by default, changes every number.
void ModelFolder::check_biases(const std::string& layer, const EncoderLayerOptions& options) const {
  const bool attention = options.attention.bias.value_or(options.bias);
  const bool output = options.feed_forward.bias.value_or(options.bias);
  const std::pair<const char*, bool> biases[] = {
      {"self_attn.in_proj_bias", attention},
      {"self_attn.out_proj.bias", attention},
      {"linear1.bias", options.feed_forward.input_bias.value_or(output)},
      {"linear2.bias", output},
      {"norm1.bias", options.norm.bias.value_or(options.bias)},
      {"norm2.bias", options.norm.bias.value_or(options.bias)},
  };
  for (const auto& [name, wanted] : biases) {
    const auto found = wanted ? std::nullopt : find(layer + name);
    if (!found) continue;
    fail_file(files_.file_of(found->names.front()), "tensor ", printable(found->names.front()),
              ": must be absent, because the model in config.json has no such bias");
  }
}

std::vector<WeightSource> ModelFolder::sources(const std::string& name) const {
  std::vector<WeightSource> all;
  for (const auto& lines : {family->encoder_names, family->head_names}) {
    for (const WeightName& line : lines) {
      if (auto source = source_of(line, name, group_size_)) all.push_back(std::move(*source));
    }
  }
  return all;
}

/// The name that a tensor really has in the files.
std::optional<std::string> ModelFolder::spelling_of(const std::string& theirs) const {
  for (std::string& spelling : spellings(theirs, family->prefix)) {
    if (files_.shape(spelling) != nullptr) return std::move(spelling);
  }
  return {};
}

std::optional<ModelFolder::Found> ModelFolder::find(const std::string& name) const {
  for (const WeightSource& source : sources(name)) {
    Found found{{}, source.halves};
    for (const std::string& theirs : source.names) {
      if (auto spelling = spelling_of(theirs)) found.names.push_back(std::move(*spelling));
    }
    if (found.names.size() == source.names.size()) return found;
  }
  return {};
}

void ModelFolder::fail_missing(const std::string& name) const {
  const std::vector<WeightSource> places = sources(name);
  if (places.empty()) {
    fail_file(path.string(), "parameter must be one of the family ", family->name, ", got ",
              printable(name));
  }
  const std::vector<std::string>& names = places.front().names;
  const auto is_missing = [&](const std::string& theirs) { return !spelling_of(theirs); };
  const std::string& theirs = *std::find_if(names.begin(), names.end(), is_missing);
  fail_file(files_.file_of(""), "tensor ", printable(std::string(family->prefix) + theirs), " or ",
            printable(theirs), " not found, needed for ", printable(name));
}

ModelFolder::Found ModelFolder::found_as(const std::string& name, const Shape& shape) const {
  const auto found = find(name);
  if (!found) fail_missing(name);
  Shape part = shape;
  const auto parts = std::ssize(found->names);
  if (parts > 1) part[0] /= parts;
  for (const std::string& theirs : found->names) {
    const Shape& is = *files_.shape(theirs);
    if (is == part) continue;
    fail_file(files_.file_of(theirs), "tensor ", printable(theirs), ": shape must be ", part,
              " by config.json, got ", is);
  }
  return *found;
}

bool ModelFolder::has(const std::string& name) const {
  return find(name).has_value();
}

std::optional<Shape> ModelFolder::shape(const std::string& name) const {
  const auto found = find(name);
  if (!found) return {};
  Shape shape = *files_.shape(found->names.front());
  if (!shape.empty()) shape[0] *= std::ssize(found->names);
  return shape;
}

std::string ModelFolder::place(const std::string& name) const {
  const auto found = find(name);
  if (!found) fail_missing(name);
  const std::string& theirs = found->names.front();
  return str_cat(printable(theirs), " in ", escaped(files_.file_of(theirs)));
}

Tensor ModelFolder::weight(const std::string& name, const Shape& shape) const {
  const Found found = found_as(name, shape);
  std::vector<Tensor> parts;
  for (const std::string& theirs : found.names) parts.push_back(files_.read(theirs));
  return joined(found.halves, parts);
}

nn::StateDict ModelFolder::weights() const {
  nn::StateDict state;
  for (const auto& lines : {family->encoder_names, family->head_names}) {
    for (const WeightName& line : lines) {
      for (const std::string& name : our_names(line, std::ssize(encoder.encoder.layers))) {
        if (state.contains(name)) continue;
        if (const auto its_shape = shape(name)) state.emplace(name, weight(name, *its_shape));
      }
    }
  }
  return state;
}

std::string renamed(const std::string& name, const std::vector<Rename>& renames) {
  for (const Rename& rename : renames) {
    if (name.starts_with(rename.from + '.')) return rename.to + name.substr(rename.from.size());
  }
  return name;
}

TokenEncoder load_encoder(const ModelFolder& folder) {
  Rng blank = Rng::blank();
  TokenEncoder encoder(folder.encoder, blank);
  load_weights(encoder, folder);
  nn::eval(encoder);
  return encoder;
}

}  // namespace tessera::models
