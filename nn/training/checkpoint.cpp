#include "tessera/nn/training/checkpoint.h"

#include <cmath>

#include "tessera/nn/detail/differences.h"
#include "tessera/tensor/detail/parse_number.h"
#include "tessera/tensor/format.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::nn {

namespace {

constexpr const char* kMark = "tessera.checkpoint";  // marks a checkpoint file; the value is the
                                                     // version
constexpr const char* kVersion = "1";
constexpr const char* kFormat = "format";  // save_safetensors adds it

/// The entries of `from` whose names begin with "group.", under the rest of their names.
template <class T>
std::map<std::string, T> group_of(const std::map<std::string, T>& from, const std::string& group) {
  std::map<std::string, T> part;
  const std::string start = group + '.';
  for (auto at = from.lower_bound(start); at != from.end() && at->first.starts_with(start); ++at) {
    part.emplace_hint(part.end(), at->first.substr(start.size()), at->second);
  }
  return part;
}

template <class T>
void compare_names(const std::map<std::string, T>& wanted, const std::map<std::string, T>& given,
                   Differences& differences) {
  for (const auto& [name, value] : wanted) {
    if (!given.contains(name)) differences.add("missing: ", name);
  }
  for (const auto& [name, value] : given) {
    if (!wanted.contains(name)) differences.add("unexpected: ", name);
  }
}

}  // namespace

void Checkpoint::set(const std::string& name, double value) {
  values[name] = shortest(value);
}

const std::string& Checkpoint::text(const std::string& name) const {
  const auto found = values.find(name);
  if (found == values.end()) refuse("Checkpoint", "value ", printable(name), " is missing");
  return found->second;
}

template <class T>
T Checkpoint::integer(const std::string& name) const {
  T value = 0;
  if (!parse_number(text(name), value)) fail_value(name, "an integer within range");
  return value;
}

template index_t Checkpoint::integer(const std::string& name) const;
template std::uint64_t Checkpoint::integer(const std::string& name) const;

double Checkpoint::number(const std::string& name) const {
  double value = 0;
  if (!parse_number(text(name), value)) fail_value(name, "a number");
  return value;
}

index_t Checkpoint::count(const char* op, const std::string& name) const {
  const double value = number(name);
  const bool is_count = value >= 0 && value <= 0x1p53 && value == std::floor(value);
  if (!is_count) refuse(op, name, " must be an integer of at least 0, got ", value);
  return static_cast<index_t>(value);
}

void Checkpoint::fail_value(const std::string& name, const char* wanted) const {
  refuse("Checkpoint", "value ", printable(name), " must be ", wanted, ", got ",
         printable(text(name)));
}

// ---- groups ----

Checkpoint& Checkpoint::add(const std::string& group, const Checkpoint& state) {
  add(group, state.tensors);
  for (const auto& [name, value] : state.values) {
    const bool is_new = values.emplace(group + '.' + name, value).second;
    require(is_new, "Checkpoint", "values must have different names, got 2 values called ",
            printable(group + '.' + name));
  }
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& group, const StateDict& state) {
  for (const auto& [name, tensor] : state) {
    const bool is_new = tensors.emplace(group + '.' + name, tensor).second;
    require(is_new, "Checkpoint", "tensors must have different names, got 2 tensors called ",
            printable(group + '.' + name));
  }
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& group, const Rng::State& state) {
  Checkpoint part;
  part.set("seed", state.seed);
  part.set("stream", state.stream);
  part.set("position", state.position);
  return add(group, part);
}

Checkpoint Checkpoint::group(const std::string& name) const {
  return {group_of(tensors, name), group_of(values, name),
          file.empty() ? std::string() : str_cat(file, ": ", name)};
}

Rng::State Checkpoint::rng(const std::string& group) const {
  const auto number = [&](const char* name) { return integer<std::uint64_t>(group + name); };
  return {number(".seed"), number(".stream"), number(".position")};
}

void Checkpoint::check_names(const char* op, const Checkpoint& wanted) const {
  Differences differences;
  compare_names(wanted.tensors, tensors, differences);
  compare_names(wanted.values, values, differences);
  for (const auto& [name, tensor] : tensors) {
    const auto want = wanted.tensors.find(name);
    if (want == wanted.tensors.end()) continue;
    const Shape& shape = want->second.shape();
    if (!tensor.defined() || !(tensor.shape() == shape)) {
      differences.add(name, " must have shape ", shape, ", got ",
                      tensor.defined() ? str_cat(tensor.shape()) : "none");
    }
  }
  const std::string text = differences.text();
  if (!text.empty()) refuse(op, "state must fit, got:", text);
}

// ---- files ----

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  std::map<std::string, std::string> texts = checkpoint.values;
  for (const char* const name : {kMark, kFormat}) {
    require(!checkpoint.has(name), "save_checkpoint", "values must not have the reserved name ",
            name);
  }
  texts[kMark] = kVersion;
  save_safetensors(path, checkpoint.tensors, texts);
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  const ProfileScope scope("load checkpoint");
  Safetensors content = load_safetensors(path);
  Checkpoint checkpoint{std::move(content.tensors), std::move(content.metadata), path.string()};
  if (!checkpoint.has(kMark))
    fail_file(checkpoint.file, "must be a checkpoint, got a file of tensors only");
  if (checkpoint.text(kMark) != kVersion) {
    fail_file(checkpoint.file, "the checkpoint's version must be ", kVersion, ", got ",
              printable(checkpoint.text(kMark)));
  }
  checkpoint.values.erase(kMark);
  checkpoint.values.erase(kFormat);
  return checkpoint;
}

}  // namespace tessera::nn
