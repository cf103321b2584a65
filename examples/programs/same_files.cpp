#include "examples/programs/same_files.h"

#include <algorithm>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "examples/programs/processes.h"
#include "nn/training/detail/digest.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::examples {

namespace {

namespace fs = std::filesystem;

/// The file itself, or those of the folder; empty if there is neither, which the reader reports.
std::vector<fs::path> files_of(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return {path};
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_model_file(entry->path()) && entry->is_regular_file(error))
      files.push_back(entry->path());
  }
  std::ranges::sort(files);
  return files;
}

std::string content_of(const fs::path& path) {
  constexpr index_t kBlock = 1 << 20;
  const InputFile file(path);
  std::string block;
  nn::Digest digest;
  for (index_t at = 0; at < file.size(); at += kBlock) {
    block.resize(static_cast<std::size_t>(std::min(kBlock, file.size() - at)));
    file.read(at, block.data(), std::ssize(block));
    digest.add(std::as_bytes(std::span(block)));
  }
  return str_cat(file.size(), " bytes with the digest ", digest.value());
}

}  // namespace

bool is_model_file(const fs::path& file) {
  const fs::path name = file.filename();
  const fs::path kind = name.extension();
  return kind == ".json" || kind == ".model" || kind == ".safetensors" || name == "vocab.txt" ||
         name == "merges.txt";
}

void require_same_files(const fs::path& path) {
  if (processes().size() == 1) return;
  const std::vector<fs::path> files = files_of(path);
  const std::string name = path.string();
  std::string names;
  for (const fs::path& file : files) names += file.lexically_relative(path).string() + ' ';
  nn::require_same(processes(), name.c_str(), "the names of the files", names);
  for (const fs::path& file : files) {
    nn::require_same(processes(), name.c_str(), file.string(), content_of(file));
  }
}

std::string contents_digest(const fs::path& path) {
  std::string text;
  for (const fs::path& file : files_of(path)) {
    text += (text.empty() ? "" : ", ") + content_of(file);
  }
  return text;
}

}  // namespace tessera::examples
