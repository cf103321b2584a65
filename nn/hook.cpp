#include "nn/hook.h"

#include <algorithm>

#include "tensor/error.h"
#include "tensor/ops/rearrange.h"

namespace tessera::nn {

namespace {

constexpr const char* kHookOp = "Hook";

struct Batch {
  PackedRows packed;
  std::span<const index_t> texts;
};

thread_local std::vector<const Hook*> hooks;  // from the oldest to the newest
thread_local Batch current_batch;

/// No hook is called while one of these is in scope.
class PausedHooks {
 public:
  PausedHooks() { active_hooks = 0; }
  // A hook that the running one made is counted, one that it destroyed is not.
  ~PausedHooks() { active_hooks = static_cast<int>(hooks.size()); }
  PausedHooks(const PausedHooks&) = delete;
  PausedHooks& operator=(const PausedHooks&) = delete;
};

/// Whether `name` matches a pattern in which each * stands for any characters.
bool matches_pattern(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;  // the last one, which takes the name up to `taken`
  std::size_t taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('*') == std::string_view::npos;
}

std::string step_name(const char* name) {
  std::string path = ModulePath::current(name);
  return path.empty() ? "output" : path;
}

bool is_same(const Tensor& a, const Tensor& b) {
  return a.untyped_data() == b.untyped_data() && a.shape() == b.shape() &&
         a.strides() == b.strides() && a.dtype() == b.dtype() && a.grad_slot() == b.grad_slot();
}

}  // namespace

Hook::Hook(std::string pattern, Function function, int)
    : pattern_(std::move(pattern)), function_(std::move(function)) {
  require(static_cast<bool>(function_), kHookOp, "function must not be empty");
  hooks.push_back(this);
  ++active_hooks;
}

Hook::~Hook() {
  const auto found = std::ranges::find(hooks, this);
  if (found == hooks.end()) std::terminate();
  hooks.erase(found);
  if (active_hooks > 0) --active_hooks;
}

bool Hook::matches(std::string_view name) const {
  return matches_pattern(pattern_, name);
}

Tensor Hook::call(const Step& step) const {
  const std::uint64_t version = step.value.storage().version();
  Tensor y = function_(step);
  require(step.value.storage().version() == version, kHookOp, "the function must not write into ",
          step.name, ", return another tensor");
  if (!y.defined()) return y;
  require(y.shape() == step.value.shape() && y.dtype() == step.value.dtype(), kHookOp, step.name,
          " must be replaced by a tensor of shape ", step.value.shape(), " and dtype ",
          step.value.dtype(), ", got ", y.shape(), " and ", y.dtype());
  return is_same(y, step.value) ? Tensor() : y;
}

bool is_hooked(const char* name) {
  if (active_hooks == 0) return false;
  const std::string full = step_name(name);
  return std::ranges::any_of(hooks, [&](const Hook* hook) { return hook->matches(full); });
}

Tensor replacement(const char* name, const Tensor& y) {
  const std::string full = step_name(name);
  Step step = {.name = full, .value = y, .texts = current_batch.texts};
  const PackedRows& packed = current_batch.packed;
  if (packed && y.rank() == 3 && y.size(0) == 1 && y.size(1) == packed.rows()) step.packed = packed;
  Tensor result;
  const std::vector<const Hook*> called = hooks;  // a hook may make or destroy others
  const PausedHooks paused;
  for (const Hook* const hook : called) {
    if (std::ranges::find(hooks, hook) == hooks.end() || !hook->matches(full)) continue;
    const Tensor other = hook->call(step);
    if (other.defined()) result = step.value = other;
  }
  return result;
}

HookedBatch::HookedBatch(const PackedRows& packed)
    : packed_(current_batch.packed), texts_(current_batch.texts) {
  current_batch.packed = packed;
}

HookedBatch::HookedBatch(std::span<const index_t> texts)
    : packed_(current_batch.packed), texts_(current_batch.texts) {
  current_batch.texts = texts;
}

HookedBatch::~HookedBatch() {
  current_batch = {packed_, texts_};
}

index_t Step::batch() const {
  if (packed) return packed.batch();
  require(value.rank() >= 2, kHookOp, name, " must have rows of tokens, got shape ", value.shape());
  return value.rank() == 2 ? 1 : value.size(0);
}

/// The first row of text i among all rows of `value`, and how many rows it has.
index_t Step::first_row(index_t i, index_t* count) const {
  require(0 <= i && i < batch(), kHookOp, "text must be from 0 to ", batch() - 1, ", got ", i);
  if (packed) {
    const index_t* const offsets = packed.offsets();
    *count = offsets[i + 1] - offsets[i];
    return offsets[i];
  }
  *count = value.size(-2);
  return i * *count;
}

Tensor Step::text(index_t i) const {
  index_t count = 0;
  const index_t first = first_row(i, &count);
  if (packed) return value.squeeze(0).slice(0, first, first + count);
  return value.rank() == 2 ? value : value.select(0, i);
}

Tensor Step::with_token(index_t i, index_t token, const Tensor& vector) const {
  index_t count = 0;
  const index_t first = first_row(i, &count);
  require(0 <= token && token < count, kHookOp, "token must be from 0 to ", count - 1, ", got ",
          token);
  const Tensor rows = value.flatten(0, -2);
  return slice_scatter(rows, vector.unsqueeze(0), 0, first + token, first + token + 1)
      .reshape(value.shape());
}

std::vector<StepInfo> steps_of(const std::function<void()>& run) {
  std::vector<StepInfo> steps;
  const Hook hook("*", [&](const Step& step) {
    steps.push_back({std::string(step.name), step.value.shape()});
  });
  run();
  return steps;
}

}  // namespace tessera::nn
