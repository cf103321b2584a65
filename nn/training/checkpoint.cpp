#include "nn/training/checkpoint.h"

#include <array>
#include <charconv>
#include <system_error>

#include "tensor/io/file.h"

namespace tessera::nn {

namespace {

constexpr const char* kMark = "tessera.checkpoint";  // says that a file is one, and its version
constexpr const char* kVersion = "1";
constexpr const char* kFormat = "format";  // save_safetensors adds it

/// Whether all of `text` is a number of this type, which `value` then holds.
template <class T>
bool parse(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end;
}

}  // namespace

void Checkpoint::set(const std::string& name, double value) {
  std::array<char, 32> text{};  // the shortest text that gives the same number again
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  values[name] = std::string(text.data(), end);
}

void Checkpoint::set(const std::string& name, const Rng::State& state) {
  set(name + ".seed", state.seed);
  set(name + ".stream", state.stream);
  set(name + ".position", state.position);
}

const std::string& Checkpoint::text(const std::string& name) const {
  const auto found = values.find(name);
  if (found == values.end()) fail_file(file, "it has no value ", printable(name));
  return found->second;
}

std::int64_t Checkpoint::negative(const std::string& name) const {
  std::int64_t value = 0;
  if (!parse(text(name), value)) fail_value(name, "a whole number");
  return value;
}

std::uint64_t Checkpoint::natural(const std::string& name) const {
  std::uint64_t value = 0;
  if (!parse(text(name), value)) fail_value(name, "a whole number");
  return value;
}

double Checkpoint::number(const std::string& name) const {
  double value = 0;
  if (!parse(text(name), value)) fail_value(name, "a number");
  return value;
}

Rng::State Checkpoint::rng(const std::string& name) const {
  return {natural(name + ".seed"), natural(name + ".stream"), natural(name + ".position")};
}

void Checkpoint::fail_value(const std::string& name, const char* wanted) const {
  fail_file(file, "value ", printable(name), " should be ", wanted, ", not ",
            printable(text(name)));
}

void Checkpoint::add(const std::string& prefix, const StateDict& state) {
  for (const auto& [name, tensor] : state) {
    const bool is_new = tensors.emplace(prefix + '.' + name, tensor).second;
    require(is_new, "Checkpoint", "two tensors of the name ", printable(prefix + '.' + name));
  }
}

StateDict Checkpoint::group(const std::string& prefix) const {
  StateDict state;
  const std::string start = prefix + '.';
  for (auto at = tensors.lower_bound(start); at != tensors.end() && at->first.starts_with(start);
       ++at) {
    state.emplace(at->first.substr(start.size()), at->second);
  }
  return state;
}

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  std::map<std::string, std::string> texts = checkpoint.values;
  for (const char* const name : {kMark, kFormat}) {
    require(!checkpoint.has(name), "save_checkpoint", "no value can have the name ", name);
  }
  texts[kMark] = kVersion;
  save_safetensors(path, checkpoint.tensors, texts);
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  Safetensors content = load_safetensors(path);
  Checkpoint checkpoint{std::move(content.tensors), std::move(content.metadata), path.string()};
  if (!checkpoint.has(kMark)) fail_file(checkpoint.file, "not a checkpoint, only tensors");
  if (checkpoint.text(kMark) != kVersion) {
    fail_file(checkpoint.file, "a checkpoint of version ", printable(checkpoint.text(kMark)),
              ", but this program knows version ", kVersion);
  }
  checkpoint.values.erase(kMark);
  checkpoint.values.erase(kFormat);
  return checkpoint;
}

}  // namespace tessera::nn
