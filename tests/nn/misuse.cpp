// Code that must not compile. misuse_test.cmake compiles this file and requires as many errors as
// there are marks; each line with a mark must be named, with the mark's text.
#include <memory>

#include "tessera/nn/nn.h"

namespace tessera {

/// A module; each number is a different type, for which the compiler reports a new error.
template <int>
struct Part {
  nn::Linear linear{2, 2};

  static void visit(auto& self, auto&& visitor) { visitor("linear", self.linear); }
};

template <int N>
const Part<N>& part();

void constant_modules(const nn::Checkpoint& checkpoint, const nn::StateDict& state) {
  nn::eval(part<1>());                           // misuse: the module, which is const here
  nn::train(part<2>());                          // misuse: the module, which is const here
  nn::set_training(part<3>(), false);            // misuse: the module, which is const here
  nn::set_requires_grad(part<4>());              // misuse: the module, which is const here
  nn::zero_grad(part<5>());                      // misuse: the module, which is const here
  nn::convert(part<6>(), kFloat64);              // misuse: the module, which is const here
  nn::load_state_dict(part<7>(), state);         // misuse: the module, which is const here
  nn::load_module("path", part<8>());            // misuse: the module, which is const here
  nn::load_group(checkpoint, "ema", part<9>());  // misuse: the module, which is const here
}

struct Silent {};

struct Numbered {
  int count = 0;

  static void visit(auto& self, auto&& visitor) { visitor("count", self.count); }
};

struct Shared {
  std::shared_ptr<nn::Linear> linear;

  static void visit(auto& self, auto&& visitor) { visitor("linear", self.linear); }
};

struct Constant {
  const nn::Dropout dropout;

  static void visit(auto& self, auto&& visitor) { visitor("dropout", self.dropout); }
};

void no_modules() {
  nn::state_dict(Silent());    // misuse: it lacks `static void visit(auto& self
  nn::state_dict(Numbered());  // misuse: visit names a number
  nn::state_dict(Shared());    // misuse: visit names a pointer
  nn::state_dict(Constant());  // misuse: visit names a const part
}

void fractions(const Tensor& x) {
  softmax(x, 1.9);   // misuse: deleted
  softmax(x, 1.0F);  // misuse: deleted
  mean(x, true);     // misuse: deleted
}

}  // namespace tessera
