// Sees what modules compute on their way: the name and the tensor of every step.
//
//   const nn::Observer observer([](const std::string& name, const Tensor& y) {
//     std::cout << name << ' ' << y.shape() << '\n';  // layers.0.self_attn.in_proj (2, 9, 192)
//   });
//   encoder(x);
//
// A module names a step where it has computed it, `observe("in_proj", qkv)`, and an ObservedPath
// says in which part of which model that is. Nobody passes anything down, results have the bits that
// they have unseen, and where nobody observes each of these costs one check.
#pragma once

#include <functional>
#include <string>

#include "tensor/tensor.h"

namespace tessera::nn {

/// Calls `see` for each step of the forward passes of its thread, from construction to destruction.
/// One made while another observes takes over until it ends: they end in the reverse order of their
/// making, as scopes do.
///
/// A name is a path of modules as in a state dict, and says what was computed in the same pass:
/// "layers.0.linear1+activation", "layers.0.linear2+residual". A step of fused attention that is
/// never in memory has no name; `with_weights` of an encoder makes its weights. Tensors come without
/// history, so that a tape may record meanwhile; a backward that computes a layer again
/// (gradient_checkpoint) shows its steps again, then with the names that they have in that layer.
/// **Errors**: what `see` throws comes out of the forward pass.
class Observer {
 public:
  using See = std::function<void(const std::string& name, const Tensor& y)>;

  explicit Observer(See see);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

 private:
  friend class ObservedPath;
  friend void observe(const char* name, const Tensor& y);

  See see_;
  std::string path_;  // "layers.0.self_attn.", of the module that computes
  Observer* previous_;
};

/// Who observes this thread; null where nobody does.
inline constinit thread_local Observer* active_observer = nullptr;

/// Shows `y` to the observer, under this name in the present path. A module's own output has the
/// name "": it gets the module's path, or is "output" where that is empty.
void observe(const char* name, const Tensor& y);

/// The same in an expression: `y = observed("norm1", norm1(x))`.
inline Tensor observed(const char* name, Tensor y) {
  if (active_observer != nullptr) observe(name, y);
  return y;
}

/// Steps are those of a part of the module while one of these is in scope: "self_attn", or number
/// `i` of "layers".
class ObservedPath {
 public:
  explicit ObservedPath(const char* part) {
    if (active_observer != nullptr) enter(part);
  }
  ObservedPath(const char* list, index_t i) {
    if (active_observer != nullptr) enter(std::string(list) + '.' + std::to_string(i));
  }
  ~ObservedPath() {
    if (observer_ != nullptr) observer_->path_.resize(before_);
  }
  ObservedPath(const ObservedPath&) = delete;
  ObservedPath& operator=(const ObservedPath&) = delete;

 private:
  void enter(const std::string& part);

  Observer* observer_ = nullptr;
  std::size_t before_ = 0;  // the length of the path outside
};

}  // namespace tessera::nn
