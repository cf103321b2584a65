// Hooks: read or replace intermediate results of a model.
//
//   // Layer 5 without head 3 of 12.
//   const nn::Hook hook("layers.5.self_attn.heads", [](const nn::HookPoint& point) {
//     return point.without_head(3, 12);
//   });
//   const Tensor y = model.encode(texts);
//
// An intermediate result is called a hook point. The module that computes it gives it a short
// name, `q = hooked("q", q)`. ModulePath adds the path of the module before this name:
// "layers.5.self_attn.q". models/README.md lists the points.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/tensor/module_path.h"
#include "tessera/tensor/ops/unpad_rows.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// One point of a forward pass, as passed to a hook.
///
/// `name` and `texts` are valid only while the hook's function runs. Most points are the vectors of
/// tokens, in one of two layouts: (B, T, D), or, without padding, (1, N, D), in which the N real
/// tokens of all texts follow one another. `text` and `with_token` find a token in both layouts.
struct HookPoint {
  std::string_view name;       // "layers.5.self_attn.heads"
  Tensor value;                // a variable if a tape records it
  UnpaddedRows unpadded = {};  // the unpadding of the rows of `value`, if they are unpadded
  // The index of each text of the batch among the texts of the call; in a QuestionAnswerer, the
  // index of each window. Empty if the model was not called with texts.
  std::span<const index_t> texts = {};
  bool batch_first = true;  // if false, the points of a layer are (T, B, D)

  /// The number of texts in the batch. **Errors**: a value that is not (B, T, D) or unpadded; a
  /// model that is not batch_first.
  index_t batch() const;
  /// The vectors of text i of the batch, (T, D); if rows are unpadded, only those of real tokens.
  /// **Errors**: as batch; no such text.
  Tensor text(index_t i) const;
  /// `value` with the vector of one token of text i replaced by `vector` (D). Gradients flow to
  /// both `value` and `vector`.
  /// **Errors**: as text; no such token; a vector of a different shape.
  Tensor with_token(index_t i, index_t token, const Tensor& vector) const;
  /// `value` with 0 in the columns of head number `head`, counted from 0. The last axis is divided
  /// equally into `heads` heads.
  /// **Errors**: heads that do not divide the axis; no such head.
  Tensor without_head(index_t head, index_t heads) const;

 private:
  struct Rows {
    index_t first;
    index_t count;
  };
  Rows rows_of(index_t i) const;
};

/// A function of a HookPoint that returns nothing or a tensor.
template <class F>
concept HookFunction = std::is_void_v<std::invoke_result_t<F&, const HookPoint&>> ||
    std::is_convertible_v<std::invoke_result_t<F&, const HookPoint&>, Tensor>;

/// While a Hook exists, it calls a function for each point whose name matches a pattern, in the
/// forward passes of the thread that made the Hook.
///
/// In a pattern `*` matches any characters except a dot, `**` any characters: "layers.*" matches
/// the outputs of layers, "layers.**" everything in them. The function takes a HookPoint and
/// returns nothing, or a tensor that replaces the point. This tensor must have the shape and dtype
/// of the point. A tape records how the function computes the tensor, so gradients flow through it.
/// An undefined tensor keeps the point. Several hooks are called from the oldest to the newest, and
/// each gets the result of the previous ones. While the function runs, all hooks are paused except
/// those that the function makes, so it may run a model itself. The function must not replace or
/// destroy the model that calls it. A pattern that matches no point is not an error: see calls().
///
/// While a hook exists, fused operations are computed one by one, bitwise the same. Layers do not
/// use gradient checkpoints, and batches of texts run in the hook's thread. Without a hook, a point
/// costs one comparison of a pointer.
///
/// **Errors**: an empty function; a returned tensor of a different shape or dtype; a function that
/// writes into the point's elements. Exceptions of the function are passed on to the caller of the
/// model. Destruction in a different thread calls std::terminate.
/// **Source**: torch.nn.Module.register_forward_hook, whose hooks belong to a module.
class Hook {
 public:
  using Function = std::function<Tensor(const HookPoint& point)>;

  template <HookFunction F>
  [[nodiscard]] Hook(std::string pattern, F function)
      : Hook(Pattern{std::move(pattern)}, returning_tensor(std::move(function))) {}
  ~Hook();
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  /// The number of calls of the function.
  index_t calls() const { return calls_; }

 private:
  friend class PausedHooks;
  friend bool is_hooked(const char* name);
  friend Tensor replacement(const char* name, const Tensor& y);

  struct Pattern {
    std::string text;
  };

  Hook(Pattern pattern, Function function);
  bool is_called_for(std::string_view name) const;
  static Hook* newest_active();
  Tensor call(const HookPoint& point);

  template <class F>
  static Function returning_tensor(F function) {
    if constexpr (requires { static_cast<bool>(function == nullptr); }) {
      if (function == nullptr) return {};
    }
    if constexpr (std::is_void_v<std::invoke_result_t<F&, const HookPoint&>>) {
      return [function = std::move(function)](const HookPoint& point) mutable {
        function(point);
        return Tensor();
      };
    } else {
      return function;
    }
  }

  Pattern pattern_;
  std::shared_ptr<const Function> function_;  // outlives a hook that destroys itself
  index_t calls_ = 0;
  tessera::detail::ThreadContext* context_;  // of the thread that made the hook
  index_t number_;                           // among this thread's hooks, in the order of creation
  Hook* older_;
  Hook* newer_ = nullptr;
};

/// The names and shapes of the hook points that `run` computes, in order:
/// `hook_points([&] { model(tokens); })`.
/// **Errors**: those of `run`; an empty function (std::bad_function_call).
std::vector<std::pair<std::string, Shape>> hook_points(const std::function<void()>& run);

// ---- for modules ----

/// Whether this thread has a hook that is not paused.
inline bool has_active_hook() {
  return tessera::detail::thread_context.active_hook != nullptr;
}

/// Pauses the existing hooks while in scope.
class PausedHooks {
 public:
  PausedHooks();
  ~PausedHooks();
  PausedHooks(const PausedHooks&) = delete;
  PausedHooks& operator=(const PausedHooks&) = delete;

 private:
  index_t outer_;
};

/// Whether a hook would be called for this point of the current ModulePath.
bool is_hooked(const char* name);

/// The tensor by which hooks replace this point of the current ModulePath; undefined if no hook
/// replaces the point. If `name` is "", the point is the module's own output, and its name is the
/// path, or "output" if the path is empty.
/// **Shapes**: those of y. **Errors**: an undefined y; those of Hook, and of the hooks' functions.
Tensor replacement(const char* name, const Tensor& y);

/// The point, or the tensor by which hooks replace it: `y = hooked("norm1", norm1(x))`.
/// **Errors**: if hooks are active, as replacement.
inline Tensor hooked(const char* name, Tensor y) {
  if (!has_active_hook()) return y;
  Tensor other = replacement(name, y);
  return other.defined() ? other : y;
}

/// Sets the layout of rows of tokens for the points in its scope.
class HookedRows {
 public:
  explicit HookedRows(UnpaddedRows unpadded, bool batch_first = true)
      : unpadded_(std::move(unpadded)),
        batch_first_(batch_first),
        outer_(std::exchange(tessera::detail::thread_context.rows, this)) {}
  ~HookedRows() { tessera::detail::thread_context.rows = outer_; }
  HookedRows(const HookedRows&) = delete;
  HookedRows& operator=(const HookedRows&) = delete;

 private:
  friend Tensor replacement(const char* name, const Tensor& y);

  UnpaddedRows unpadded_;
  bool batch_first_;
  const HookedRows* outer_;
};

/// Sets the indices of the batch's texts for the points in its scope.
class HookedTexts {
 public:
  explicit HookedTexts(std::span<const index_t> texts)
      : texts_(texts), outer_(std::exchange(tessera::detail::thread_context.texts, this)) {}
  ~HookedTexts() { tessera::detail::thread_context.texts = outer_; }
  HookedTexts(const HookedTexts&) = delete;
  HookedTexts& operator=(const HookedTexts&) = delete;

 private:
  friend Tensor replacement(const char* name, const Tensor& y);

  std::span<const index_t> texts_;
  const HookedTexts* outer_;
};

}  // namespace tessera::nn
