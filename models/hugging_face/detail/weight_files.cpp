#include "tessera/models/hugging_face/detail/weight_files.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/json.h"

namespace tessera::models {

namespace fs = std::filesystem;

namespace {

/// No real model has more than a few hundred.
constexpr index_t kMaxFiles = 10'000;

constexpr const char* kOneFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

/// The name of a file in the folder of the index.
std::string file_name(const Json& value) {
  const std::string_view name = value.text();
  const bool is_plain = name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
  if (!is_plain || !name.ends_with(".safetensors") || name.starts_with('.')) {
    value.fail("must be the name of a .safetensors file in the same folder, got ",
               value.described());
  }
  return std::string(name);
}

/// The indices of an element by its number in row-major order.
Shape place_of(index_t element, Shape shape) {
  for (index_t axis = shape.size() - 1; axis >= 0; --axis) {
    const index_t size = shape[axis];
    shape[axis] = element % size;
    element /= size;
  }
  return shape;
}

[[noreturn]] void fail_without_weights(const fs::path& folder) {
  const bool has_pickle = fs::exists(folder / "pytorch_model.bin") ||
                          fs::exists(folder / "pytorch_model.bin.index.json");
  fail_file(folder.string(), "must have model.safetensors or model.safetensors.index.json",
            has_pickle ? ", got pytorch_model.bin, a Python pickle; save it as safetensors" : "");
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& path) {
  const fs::path one = fs::is_directory(path) ? path / kOneFile : path;
  const fs::path index = path / kIndex;
  if (fs::exists(one)) {
    main_ = one.string();
    files_.emplace_back(one);
    for (const auto& [name, shape] : files_.front().shapes()) file_of_.emplace(name, 0);
  } else if (fs::exists(index)) {
    main_ = index.string();
    read_index(index);
  } else {
    fail_without_weights(path);
  }
}

void WeightFiles::read_index(const fs::path& path) {
  std::map<std::string, std::size_t> opened;
  for (const Json& entry : read_json(path).at("weight_map").as_object().items()) {
    const std::string file = file_name(entry);
    const auto [at, is_new] = opened.emplace(file, files_.size());
    if (is_new) {
      if (std::ssize(files_) == kMaxFiles)
        entry.fail("number of files must be at most ", kMaxFiles, ", got more");
      // Links must work: the hub's own cache is a folder of links.
      files_.emplace_back(path.parent_path() / file);
    }
    const std::string name(entry.key());
    if (!files_[at->second].shapes().contains(name)) {
      entry.fail("tensor ", printable(name), " not found in ", printable(file));
    }
    file_of_.emplace(name, at->second);
  }
}

std::vector<std::string> WeightFiles::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : file_of_) names.push_back(name);
  return names;
}

const Shape* WeightFiles::shape(const std::string& name) const {
  const auto found = file_of_.find(name);
  return found == file_of_.end() ? nullptr : &files_[found->second].shapes().at(name);
}

Tensor WeightFiles::read(const std::string& name, const Shape& shape) const {
  const auto found = file_of_.find(name);
  if (found == file_of_.end()) fail_file(main_, "tensor ", printable(name), " not found");
  const SafetensorsFile& file = files_[found->second];
  if (const Shape& is = file.shapes().at(name); is != shape) {
    fail_file(file.name(), "tensor ", printable(name), ": shape must be ", shape,
              " by config.json, got ", is);
  }
  const Tensor tensor = file.read(name);
  if (!is_floating(tensor.dtype())) {
    fail_file(file.name(), "tensor ", printable(name),
              ": dtype must be F16, BF16, F32 or F64, got integers");
  }
  return tensor.to(kFloat32);
}

Tensor WeightFiles::read_as_stored(const std::string& name) const {
  const auto found = file_of_.find(name);
  if (found == file_of_.end()) fail_file(main_, "tensor ", printable(name), " not found");
  return files_[found->second].read(name);
}

nn::ParameterSource WeightFiles::source() const {
  return nn::ParameterSource([this](const std::string& name, const Shape& shape, const nn::Init&) {
    return read(name, shape);
  });
}

void WeightFiles::require_finite_weights() const {
  for (const auto& [name, file] : file_of_) {
    if (!files_[file].can_read(name)) continue;
    const Tensor tensor = files_[file].read(name);
    if (!is_floating(tensor.dtype())) continue;
    const Tensor weight = tensor.to(kFloat32).contiguous();
    const std::span values(weight.data<float>(), static_cast<std::size_t>(weight.count()));
    const auto found = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
    if (found == values.end()) continue;
    fail_file(file_of(name), "tensor ", printable(name), ": weights must be finite, got ", *found,
              " at ", place_of(found - values.begin(), weight.shape()));
  }
}

bool has_weight_files(const fs::path& folder) {
  return fs::exists(folder / kOneFile) || fs::exists(folder / kIndex);
}

const std::string& WeightFiles::file_of(const std::string& name) const {
  const auto found = file_of_.find(name);
  return found == file_of_.end() ? main_ : files_[found->second].name();
}

}  // namespace tessera::models
