#include "examples/programs/named_files.h"

#include <algorithm>
#include <system_error>

#include "examples/programs/processes.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/profile_span.h"

namespace tessera::examples {

namespace {

namespace fs = std::filesystem;

constexpr const char* kStandardInput = "/dev/stdin";
constexpr const char* kStandardOutput = "/dev/stdout";
constexpr const char* kStandardError = "/dev/stderr";

bool is_device(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && fs::is_other(path, error);
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// Whether a standard stream of this process was redirected to the file.
bool is_open_as(const char* stream, const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && fs::equivalent(file, stream, error);
}

/// Whether files with this name belong to models: .json, .model and .safetensors, vocab.txt and
/// merges.txt.
bool is_model_file(const fs::path& file) {
  const fs::path name = file.filename();
  const fs::path kind = name.extension();
  return kind == ".json" || kind == ".model" || kind == ".safetensors" || name == "vocab.txt" ||
         name == "merges.txt";
}

/// Whether `file` is, or will be, a file of the model in the folder: a file with such a name in the
/// folder, or the target of such a link.
bool is_of_model(const fs::path& file, const fs::path& folder) {
  constexpr int kDepth = 2;  // models have their modules in subfolders
  std::error_code error;
  if (is_in_folder(file, folder)) {
    fs::path target = file;
    if (fs::is_symlink(file, error)) target = fs::read_symlink(file, error);
    if (is_model_file(file) || is_model_file(target)) return true;
  }
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry.depth() >= kDepth) entry.disable_recursion_pending();
    if (is_model_file(entry->path()) && is_same_file(entry->path(), file)) return true;
  }
  return false;
}

}  // namespace

std::string NamedFiles::named(const std::string& flag) const {
  const auto found = std::ranges::find(all_, flag, &Named::flag);
  const Paths paths = found == all_.end() ? Paths() : found->paths();
  return paths.empty() ? std::string() : paths.front().string();
}

void NamedFiles::check_output(const std::string& program, const Named& output,
                              const fs::path& file) const {
  const auto refuse = [&](const std::string& rule, const std::string& by) {
    fail(program.c_str(), output.flag, " must not be ", rule, ", got ", file.string(), " (", by,
         ')');
  };
  if (is_open_as(kStandardInput, file)) refuse("an input", "standard input");
  if (is_open_as(kStandardOutput, file)) refuse("another output", "standard output");
  // A file that grows may share the stream; one that is replaced would replace the link
  // /dev/stderr.
  if (output.use == FileUse::kReplaced && is_open_as(kStandardError, file))
    refuse("another output", "standard error");
  for (const Named& other : all_) {
    // A checkpoint may be resumed and saved at the same location.
    const bool matters = output.use != FileUse::kCheckpoint || other.use == FileUse::kFolder;
    if (&other == &output || !matters) continue;
    const std::string kind = other.use == FileUse::kInput        ? "an input"
                             : other.use == FileUse::kCheckpoint ? "the checkpoint"
                                                                 : "another output";
    for (const fs::path& path : other.paths()) {
      if (path.empty()) continue;
      const std::string by = other.flag + ' ' + path.string();
      if (is_same_file(file, path)) refuse(kind, by);
      if (other.use == FileUse::kInput && is_folder(path) && is_of_model(file, path)) {
        refuse("a file of " + kind, by);
      }
      if (other.use == FileUse::kFolder && is_in_folder(file, path)) refuse("inside " + kind, by);
    }
  }
}

bool NamedFiles::is_in_new_folder(const fs::path& file) const {
  return std::ranges::any_of(all_, [&](const Named& other) {
    if (other.use != FileUse::kCheckpoint) return false;
    const fs::path checkpoint = other.paths().front();
    return !checkpoint.empty() && is_same_file(checkpoint.parent_path(), folder_of(file));
  });
}

void NamedFiles::check(const std::string& program) const {
  if (!leaves_traces()) return;
  const ProfileScope scope("check files");
  for (const Named& named : all_) {
    for (const fs::path& path : named.paths()) {
      if (named.use == FileUse::kInput && is_open_as(kStandardOutput, path)) {
        fail(program.c_str(), "standard output must not be an input, got ", path.string(), " (",
             named.flag, ')');
      }
      const bool is_file = named.use != FileUse::kInput && named.use != FileUse::kFolder;
      if (is_file && !path.empty() && !is_device(path)) check_output(program, named, path);
    }
  }
  for (const Named& named : all_) {
    if (named.use != FileUse::kReplaced) continue;
    const fs::path path = named.paths().front();
    if (!path.empty() && !is_in_new_folder(path)) check_writable(path);
  }
}

}  // namespace tessera::examples
