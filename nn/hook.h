// Hooks: read or replace what a model computes on its way.
//
//   // Layer 5 without its head 3, of 12 heads with 64 columns each.
//   const nn::Hook hook("layers.5.self_attn.heads", [](const nn::Step& step) {
//     const Tensor& heads = step.value;
//     return slice_scatter(heads, zeros_like(heads.slice(-1, 192, 256)), -1, 192, 256);
//   });
//   const Tensor y = model.encode(texts);
//
// A module names a step where it computes it, `q = hooked("q", q)`, and ModulePath says in which
// part of the model that is. models/README.md lists the steps.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/module_path.h"
#include "tensor/ops/pack_rows.h"
#include "tensor/tensor.h"

namespace tessera::nn {

/// One step of a forward pass, as a hook sees it.
///
/// The rows of a step are the vectors of tokens: (B, T, D), or (1, N, D) of the real tokens of a
/// padded batch, one text after the other. `text` and `with_token` find a token in both.
struct Step {
  std::string_view name;           // "layers.5.self_attn.heads"
  Tensor value;                    // with history if a tape records
  PackedRows packed = {};          // how the rows of `value` are packed, if they are
  std::span<const index_t> texts;  // which of the caller's texts a batch holds; empty: unknown

  /// The number of texts in the batch. **Errors**: a value without rows of tokens.
  index_t batch() const;
  /// The vectors of the real tokens of text i of the batch, (T_i, D); of a padded value those of
  /// padding too. **Errors**: no such text.
  Tensor text(index_t i) const;
  /// `value` with another vector (D) in the place of a token of text i, with both histories.
  /// **Errors**: no such text or token; another size.
  Tensor with_token(index_t i, index_t token, const Tensor& vector) const;

 private:
  index_t first_row(index_t i, index_t* count) const;
};

/// Calls a function for each step of this thread's forward passes whose name matches a pattern,
/// from construction to destruction.
///
/// A `*` in the pattern stands for any characters: "layers.*.self_attn.weights". The function takes
/// a Step and returns nothing, or a tensor that takes the step's place: of its shape and dtype, with
/// its own history, so that gradients flow through it. An undefined tensor keeps the step. Several
/// hooks are called from the oldest to the newest, and each sees what the one before has left.
/// While a hook runs no hook is called, so it may run a model itself.
///
/// Steps that are computed in one pass are computed one by one while a hook exists, which changes
/// no bit; layers do not use gradient checkpoints, and batches of texts run in the thread that made
/// the hook. Without a hook a step costs one check.
///
/// **Errors**: an empty function; a returned tensor of another shape or dtype; a function that
/// writes into the step's elements; destruction in another thread. What the function throws leaves
/// the forward pass.
/// **Source**: torch.nn.Module.register_forward_hook, whose hooks belong to a module.
class Hook {
 public:
  using Function = std::function<Tensor(const Step& step)>;

  template <class F>
  requires std::is_invocable_v<F, const Step&> Hook(std::string pattern, F function)
      : Hook(std::move(pattern), returning_tensor(std::move(function)), 0) {}
  ~Hook();
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  bool matches(std::string_view name) const;
  Tensor call(const Step& step) const;

 private:
  Hook(std::string pattern, Function function, int);

  template <class F>
  static Function returning_tensor(F function) {
    if constexpr (std::is_void_v<std::invoke_result_t<F, const Step&>>) {
      return [function = std::move(function)](const Step& step) {
        function(step);
        return Tensor();
      };
    } else {
      return function;
    }
  }

  std::string pattern_;
  Function function_;
};

/// The number of this thread's hooks; 0 while one of them runs.
inline constinit thread_local int active_hooks = 0;

/// Whether a hook would be called for this step of the present path.
bool is_hooked(const char* name);

/// The tensor that hooks have put in the place of this step, undefined if they keep it. A module's own
/// output has the name "": it gets the module's path, or is "output" if that is empty.
Tensor replacement(const char* name, const Tensor& y);

/// The step as hooks leave it: `y = hooked("norm1", norm1(x))`.
inline Tensor hooked(const char* name, Tensor y) {
  if (active_hooks == 0) return y;
  Tensor other = replacement(name, y);
  return other.defined() ? other : y;
}

/// Tells hooks about the batch that is computed while it is in scope.
class HookedBatch {
 public:
  /// Rows of tokens are packed so.
  explicit HookedBatch(const PackedRows& packed);
  /// The numbers of the batch's texts.
  explicit HookedBatch(std::span<const index_t> texts);
  ~HookedBatch();
  HookedBatch(const HookedBatch&) = delete;
  HookedBatch& operator=(const HookedBatch&) = delete;

 private:
  PackedRows packed_;  // of the batch outside
  std::span<const index_t> texts_;
};

/// The name and shape of a step.
struct StepInfo {
  std::string name;
  Shape shape;
};

/// The steps of what `run` computes, in their order: `steps_of([&] { model(tokens); })`.
std::vector<StepInfo> steps_of(const std::function<void()>& run);

}  // namespace tessera::nn
