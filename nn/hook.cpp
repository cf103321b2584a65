#include "tessera/nn/hook.h"

#include <cstdio>
#include <exception>

#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/rearrange.h"

namespace tessera::nn {

namespace {

constexpr const char* kHookOp = "Hook";

using tessera::detail::thread_context;

/// Whether `name` matches a pattern: * matches any characters except a dot, ** any characters.
bool matches_pattern(std::string_view pattern, std::string_view name) {
  // reached[n]: the part of the pattern read so far matches the first n characters.
  std::vector<bool> reached(name.size() + 1, false);
  reached[0] = true;
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    if (pattern[p] != '*') {
      for (std::size_t n = name.size(); n > 0; --n) {
        reached[n] = reached[n - 1] && name[n - 1] == pattern[p];
      }
      reached[0] = false;
      continue;
    }
    const bool takes_dots = p + 1 < pattern.size() && pattern[p + 1] == '*';
    if (takes_dots) ++p;
    for (std::size_t n = 1; n <= name.size(); ++n) {
      if (reached[n - 1] && (takes_dots || name[n - 1] != '.')) reached[n] = true;
    }
  }
  return reached[name.size()];
}

std::string point_name(const char* name) {
  std::string path = ModulePath::current(name);
  return path.empty() ? "output" : path;
}

/// Whether a hook has returned the point itself, which counts as no replacement: replaced weights
/// take a slower path, which rounds differently.
bool is_same(const Tensor& a, const Tensor& b) {
  return a.untyped_data() == b.untyped_data() && a.shape() == b.shape() &&
         a.strides() == b.strides() && a.dtype() == b.dtype() && a.grad_slot() == b.grad_slot();
}

}  // namespace

Hook::Hook(Pattern pattern, Function function)
    : pattern_(std::move(pattern)),
      function_(std::make_shared<const Function>(std::move(function))),
      context_(&thread_context),
      number_(++context_->last_hook),
      older_(context_->newest_hook) {
  require(static_cast<bool>(*function_), kHookOp, "function must not be empty");
  if (older_ != nullptr) older_->newer_ = this;
  context_->newest_hook = context_->active_hook = this;
}

Hook::~Hook() {
  if (context_ != &thread_context) {
    std::fputs("Hook: must be destroyed in the thread that made it\n", stderr);
    std::terminate();
  }
  if (older_ != nullptr) older_->newer_ = newer_;
  (newer_ != nullptr ? newer_->older_ : context_->newest_hook) = older_;
  context_->active_hook = newest_active();
}

Hook* Hook::newest_active() {
  Hook* newest = thread_context.newest_hook;
  return newest != nullptr && newest->number_ > thread_context.paused_up_to ? newest : nullptr;
}

bool Hook::is_called_for(std::string_view name) const {
  return number_ > thread_context.paused_up_to && matches_pattern(pattern_.text, name);
}

Tensor Hook::call(const HookPoint& point) {
  ++calls_;
  const std::shared_ptr<const Function> function = function_;  // the function may destroy the hook
  const std::uint64_t version = point.value.storage().version();
  Tensor y = (*function)(point);
  require(point.value.storage().version() == version, kHookOp, "hook point ", point.name,
          " must not be modified; return a new tensor");
  if (!y.defined()) return y;
  require(y.shape() == point.value.shape() && y.dtype() == point.value.dtype(), kHookOp,
          "hook point ", point.name, " must be replaced by a tensor of shape ", point.value.shape(),
          " and dtype ", point.value.dtype(), ", got ", y.shape(), " and ", y.dtype());
  return is_same(y, point.value) ? Tensor() : y;
}

PausedHooks::PausedHooks()
    : outer_(std::exchange(thread_context.paused_up_to, thread_context.last_hook)) {
  thread_context.active_hook = nullptr;
}

PausedHooks::~PausedHooks() {
  thread_context.paused_up_to = outer_;
  thread_context.active_hook = Hook::newest_active();
}

bool is_hooked(const char* name) {
  if (!has_active_hook()) return false;
  const std::string full = point_name(name);
  for (const Hook* hook = thread_context.newest_hook; hook != nullptr; hook = hook->older_) {
    if (hook->is_called_for(full)) return true;
  }
  return false;
}

Tensor replacement(const char* name, const Tensor& y) {
  const std::string full = point_name(name);
  HookPoint point = {.name = full, .value = y};
  if (const HookedTexts* const texts = thread_context.texts) point.texts = texts->texts_;
  if (const HookedRows* const rows = thread_context.rows) {
    point.batch_first = rows->batch_first_;
    const UnpaddedRows& unpadded = rows->unpadded_;
    const bool is_unpadded =
        unpadded && y.rank() == 3 && y.size(0) == 1 && y.size(1) == unpadded.rows();
    if (is_unpadded) point.unpadded = unpadded;
  }
  std::vector<index_t> numbers;  // of the hooks to call; a hook may make and destroy other hooks
  for (const Hook* hook = thread_context.newest_hook; hook != nullptr; hook = hook->older_) {
    if (hook->is_called_for(full)) numbers.push_back(hook->number_);
  }
  Tensor result;
  const PausedHooks paused;
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    Hook* hook = thread_context.newest_hook;
    while (hook != nullptr && hook->number_ != *number) hook = hook->older_;
    if (hook == nullptr) continue;
    const Tensor other = hook->call(point);
    if (other.defined()) result = point.value = other;
  }
  return result;
}

index_t HookPoint::batch() const {
  if (unpadded) return unpadded.batch();
  require(batch_first, "HookPoint", "batch_first must be true to choose texts, got false");
  require(value.rank() == 3, "HookPoint", name, " must have shape (B, T, D), got ", value.shape());
  return value.size(0);
}

/// The rows of text i among all rows of `value`.
HookPoint::Rows HookPoint::rows_of(index_t i) const {
  require(0 <= i && i < batch(), "HookPoint", "text must be from 0 to ", batch() - 1, ", got ", i);
  if (unpadded) return {unpadded.offsets()[i], unpadded.offsets()[i + 1] - unpadded.offsets()[i]};
  const index_t count = value.size(-2);
  return {i * count, count};
}

Tensor HookPoint::text(index_t i) const {
  const Rows rows = rows_of(i);
  return value.flatten(0, -2).slice(0, rows.first, rows.first + rows.count);
}

Tensor HookPoint::with_token(index_t i, index_t token, const Tensor& vector) const {
  const Rows rows = rows_of(i);
  require(0 <= token && token < rows.count, "HookPoint", "token must be from 0 to ", rows.count - 1,
          ", got ", token);
  require(vector.shape() == Shape({value.size(-1)}), "HookPoint", "vector must have shape (",
          value.size(-1), "), got ", vector.shape());
  const index_t row = rows.first + token;
  return slice_scatter(value.flatten(0, -2), vector.unsqueeze(0), 0, row, row + 1)
      .reshape(value.shape());
}

Tensor HookPoint::without_head(index_t head, index_t heads) const {
  require(heads > 0 && value.rank() > 0 && value.size(-1) % heads == 0, "HookPoint",
          "heads must divide the width of ", name, ", ", value.shape(), ", got ", heads);
  require(0 <= head && head < heads, "HookPoint", "head must be from 0 to ", heads - 1, ", got ",
          head);
  const index_t width = value.size(-1) / heads;
  const index_t begin = head * width;
  const Tensor columns = value.slice(-1, begin, begin + width);
  return slice_scatter(value, zeros_like(columns), -1, begin, begin + width);
}

std::vector<std::pair<std::string, Shape>> hook_points(const std::function<void()>& run) {
  std::vector<std::pair<std::string, Shape>> points;
  const Hook hook(
      "**", [&](const HookPoint& point) { points.emplace_back(point.name, point.value.shape()); });
  run();
  return points;
}

}  // namespace tessera::nn
