// States: the data that a later run needs to continue this one, in memory and as files.
//
//   nn::save_module("model.safetensors", model);    // PyTorch's names: PyTorch can read the file
//   nn::load_module("model.safetensors", model);
//
//   nn::Checkpoint run;                             // everything that a run needs to continue
//   run.add("model", nn::state_dict(model)).add("optimizer", optimizer.state());
//   run.set("step", step);
//   nn::save_checkpoint("run.safetensors", run);
//
//   const nn::Checkpoint run = nn::load_checkpoint("run.safetensors");
//   nn::load_group(run, "model", model);
//   optimizer.load_state(run.group("optimizer"));
//
// A checkpoint is saved as one .safetensors file: its tensors are the checkpoint's tensors, and its
// `__metadata__` has the checkpoint's values as texts. So one rename replaces the file, and a
// process that is killed at any moment leaves either the old checkpoint or the new one.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "tessera/nn/module.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/safetensors.h"
#include "tessera/tensor/random.h"

namespace tessera::nn {

/// Writes the module's parameters under PyTorch's names. **Errors**: as save_safetensors and
/// state_dict.
template <class M>
void save_module(const std::filesystem::path& path, const M& module) {
  save_safetensors(path, state_dict(module));
}

/// Copies the tensors of a .safetensors file into the module's parameters; returns the names that
/// are missing and the names that were not used.
///
///     nn::load_module("model.safetensors", encoder, {.prefix = "encoder.", .strict = false});
///
/// **Errors**: as load_safetensors and load_state_dict.
template <class M>
LoadReport load_module(const std::filesystem::path& path, M& module, LoadOptions options = {}) {
  options.file = path.string();
  return load_state_dict(module, load_safetensors(path).tensors, options);
}

/// Named tensors, texts and numbers: the state of an optimiser or a schedule, or of a whole run,
/// with the states of its parts as groups. Numbers are restored exactly. **Errors**: a name that
/// does not exist or has a different type. For a checkpoint from a file the error is a
/// std::runtime_error whose message begins with `file`.
struct Checkpoint {
  StateDict tensors = {};
  std::map<std::string, std::string> values = {};
  std::string file = {};  // the file of origin, for errors; empty: none

  /// Whether there is a value of this name.
  bool has(const std::string& name) const { return values.contains(name); }

  /// Sets a value. Numbers are stored as text that reads as the same number.
  void set(const std::string& name, std::string_view text) { values[name] = text; }
  void set(const std::string& name, std::integral auto value) { values[name] = str_cat(+value); }
  void set(const std::string& name, double value);

  /// The value as text. **Errors**: no such value.
  const std::string& text(const std::string& name) const;
  /// The value as an integer, for index_t and std::uint64_t. **Errors**: no such value; text
  /// that is not an integer; a number that T cannot hold.
  template <class T = index_t>
  T integer(const std::string& name) const;
  /// The value as a number. **Errors**: no such value; text that is not a number.
  double number(const std::string& name) const;
  /// The value as an integer from 0 to 2^53. **Errors**: as number; any other number, with a
  /// message that begins with `op`, or with `file` for a checkpoint from a file.
  index_t count(const char* op, const std::string& name) const;

  /// Adds a group: every tensor and value of `state` under "group.name". **Errors**: a name that
  /// exists already (std::invalid_argument).
  Checkpoint& add(const std::string& group, const Checkpoint& state);
  Checkpoint& add(const std::string& group, const StateDict& state);
  /// As above, for a group with the values seed, stream and position.
  Checkpoint& add(const std::string& group, const Rng::State& state);
  /// The contents of a group: all entries whose names begin with `name` and a dot, under the rest
  /// of their names; empty if there are none.
  Checkpoint group(const std::string& name) const;
  /// The state of a generator that was added as a group. **Errors**: no such group; values that are
  /// not integers of at least 0.
  Rng::State rng(const std::string& group) const;

  /// Throws: for a checkpoint from a file a std::runtime_error whose message begins with `file`,
  /// else a std::invalid_argument whose message begins with `op`.
  template <class... Parts>
  [[noreturn]] void refuse(const char* op, const Parts&... parts) const {
    if (!file.empty()) fail_file(file, parts...);
    fail(op, parts...);
  }
  /// Throws, as refuse, if the checkpoint does not have exactly the names of `wanted`, each tensor
  /// with the same shape; the error lists up to 30 differences.
  void check_names(const char* op, const Checkpoint& wanted) const;

 private:
  [[noreturn]] void fail_value(const std::string& name, const char* wanted) const;
};

/// Writes a checkpoint, completely or not at all. **Errors**: as save_safetensors; a value called
/// `format` or `tessera.checkpoint`.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Reads a file that save_checkpoint wrote. **Errors**: as load_safetensors; a file that is not a
/// checkpoint, or has a different version.
Checkpoint load_checkpoint(const std::filesystem::path& path);

/// Copies the tensors of a group into the module's parameters; returns the names that are missing
/// and the names that were not used. `group` has no dot at its end; the option `prefix` has one.
/// For example, this call reads the tensors "model.encoder.*":
///
///     nn::load_group(checkpoint, "model", encoder, {.prefix = "encoder.", .strict = false});
///
/// **Errors**: as load_state_dict.
template <class M>
LoadReport load_group(const Checkpoint& checkpoint, const std::string& group, M& module,
                      LoadOptions options = {}) {
  const Checkpoint part = checkpoint.group(group);
  options.file = part.file;
  return load_state_dict(module, part.tensors, options);
}

}  // namespace tessera::nn
