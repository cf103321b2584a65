#include "models/hugging_face/weight_files.h"

#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/io/json.h"

namespace tessera::models {

namespace fs = std::filesystem;

namespace {

/// A few hundred are more than any model has.
constexpr index_t kMaxFiles = 10'000;

/// The name of a file in the index's own folder.
std::string file_name(const Json& value) {
  const std::string_view name = value.text();
  const bool is_plain = name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
  if (!is_plain || !name.ends_with(".safetensors") || name.starts_with('.')) {
    value.fail("wanted the name of a .safetensors file in the same folder, got ",
               value.described());
  }
  return std::string(name);
}

[[noreturn]] void fail_without_weights(const fs::path& folder) {
  const bool has_pickle = fs::exists(folder / "pytorch_model.bin") ||
                          fs::exists(folder / "pytorch_model.bin.index.json");
  fail_file(folder.string(), "no model.safetensors and no model.safetensors.index.json",
            has_pickle ? "; pytorch_model.bin, a Python pickle, is not read" : "");
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& folder) {
  const fs::path one = folder / "model.safetensors";
  const fs::path index = folder / "model.safetensors.index.json";
  if (fs::exists(one)) {
    main_ = one.string();
    files_.emplace_back(one);
    for (const auto& [name, shape] : files_.front().shapes()) file_of_.emplace(name, 0);
  } else if (fs::exists(index)) {
    main_ = index.string();
    read_index(index);
  } else {
    fail_without_weights(folder);
  }
}

void WeightFiles::read_index(const fs::path& path) {
  std::map<std::string, std::size_t> opened;
  for (const Json& entry : read_json(path).at("weight_map").as_object().items()) {
    const std::string file = file_name(entry);
    const auto [at, is_new] = opened.emplace(file, files_.size());
    if (is_new) {
      if (std::ssize(files_) == kMaxFiles) entry.fail("more than ", kMaxFiles, " files");
      // Not openat without links: the hub's own cache is a folder of links.
      files_.emplace_back(path.parent_path() / file);
    }
    const std::string name(entry.key());
    if (!files_[at->second].shapes().contains(name)) {
      entry.fail("no tensor ", printable(name), " in ", file);
    }
    file_of_.emplace(name, at->second);
  }
}

const Shape* WeightFiles::shape(const std::string& name) const {
  const auto found = file_of_.find(name);
  return found == file_of_.end() ? nullptr : &files_[found->second].shapes().at(name);
}

Tensor WeightFiles::read(const std::string& name) const {
  const auto found = file_of_.find(name);
  if (found == file_of_.end()) fail_file(main_, "no tensor ", printable(name));
  const Tensor tensor = files_[found->second].read(name);
  if (!is_floating(tensor.dtype())) {
    fail_file(file_of(name), "tensor ", printable(name),
              ": wanted floating weights (F16, BF16, F32, F64), got whole numbers");
  }
  return tensor.to(kFloat32);
}

const std::string& WeightFiles::file_of(const std::string& name) const {
  const auto found = file_of_.find(name);
  return found == file_of_.end() ? main_ : files_[found->second].name();
}

}  // namespace tessera::models
