#include "tessera/tensor/autograd/gradient_checkpoint.h"

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/random.h"

namespace tessera {

namespace {

constexpr const char* kCheckpointOp = "gradient_checkpoint";

/// Whether x is a variable but not a leaf. f's own tape gets a leaf in place of such an input.
bool is_computed(const Tensor& x) {
  return x.requires_grad() && x.grad_slot()->recording != 0;
}

/// Sets the thread's generator to `state` while in scope.
class Rewound {
 public:
  explicit Rewound(const Rng::State& state) : now_(default_rng().state()) {
    default_rng().set_state(state);
  }
  ~Rewound() { default_rng().set_state(now_); }
  Rewound(const Rewound&) = delete;
  Rewound& operator=(const Rewound&) = delete;

 private:
  Rng::State now_;
};

/// The backward pass: runs f again.
struct Recomputation {
  std::function<Tensor(std::span<const Tensor>)> f;
  std::vector<Tensor> inputs;
  std::vector<Saved> saved;  // the inputs again, to detect writes to them
  Rng::State rng;

  /// f's arguments. Inputs that are the same variable become one leaf, so their gradients add up in
  /// the same order as without a checkpoint.
  std::vector<Tensor> arguments() const {
    std::vector<Tensor> result = inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t first = first_of(i);
      if (first < i) {
        result[i] = result[first];
      } else if (is_computed(inputs[i])) {
        result[i] = inputs[i].detach().set_requires_grad();
      }
    }
    return result;
  }

  /// The first input that is the same variable as input i.
  std::size_t first_of(std::size_t i) const {
    if (!is_computed(inputs[i])) return i;
    std::size_t first = 0;
    while (inputs[first].grad_slot() != inputs[i].grad_slot()) ++first;
    return first;
  }

  void operator()(const Tensor& dy, Gradients& dx) const {
    for (const Saved& x : saved) x.get();
    const Rewound rewound(rng);
    const std::vector<Tensor> leaves = arguments();
    // The gradient so far comes first, so that the order of the sum is the same as without a
    // checkpoint.
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (is_first(dx, i)) leaves[i].grad_slot()->gradient = dx.take(i);
    }
    Tape tape;
    tape.backward(f(leaves), dy);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!is_first(dx, i)) continue;
      Tensor gradient = std::exchange(leaves[i].grad_slot()->gradient, Tensor());
      if (gradient.defined()) dx.add(i, std::move(gradient));
    }
  }

 private:
  /// Whether input i needs a gradient and no earlier input is the same variable.
  bool is_first(const Gradients& dx, std::size_t i) const {
    return dx.needs_gradient(i) && first_of(i) == i;
  }
};

/// The leaves that f reads itself, without the leaves made for inputs.
GradSlots leaves_of(const Tape& watch, const std::vector<Tensor>& arguments,
                    const std::vector<Tensor>& inputs) {
  GradSlots leaves = watch.leaves();
  std::erase_if(leaves, [&](const auto& leaf) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (is_computed(inputs[i]) && arguments[i].grad_slot() == leaf) return true;
    }
    return false;
  });
  return leaves;
}

/// If f returns a leaf unchanged: the input that the leaf replaces, or the leaf itself.
Tensor original_of(const Tensor& y, const std::vector<Tensor>& arguments,
                   const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (arguments[i].grad_slot() == y.grad_slot()) return inputs[i];
  }
  return y;
}

}  // namespace

Tensor gradient_checkpoint(const std::function<Tensor(std::span<const Tensor>)>& f,
                           const std::vector<Tensor>& inputs) {
  if (active_recorder == nullptr) return f(inputs);
  Recomputation recomputation = {f, inputs, {}, default_rng().state()};
  Tensor y;
  GradSlots leaves;
  {
    // This tape only finds out whether y requires a gradient, also through variables that f
    // captures.
    const Tape watch;
    const std::vector<Tensor> arguments = recomputation.arguments();
    y = f(arguments);  // not the copy in `recomputation`, which would keep what f caches
    if (!y.requires_grad()) return y;
    if (y.grad_slot()->recording == 0) return original_of(y, arguments, inputs);
    require(watch.has_recorded(y), kCheckpointOp,
            "f must return a tensor that it computed or one of its inputs, got a variable computed "
            "outside of f; pass it to f as an input, or detach() it");
    y = y.detach();
    leaves = leaves_of(watch, arguments, inputs);
  }
  GradSlots slots;
  for (const Tensor& x : inputs) {
    slots.push_back(is_computed(x) ? x.grad_slot() : nullptr);
    recomputation.saved.emplace_back(kCheckpointOp, x);
  }
  // The backward itself adds to these leaves; listed here, they are complete only after it.
  slots.insert(slots.end(), leaves.begin(), leaves.end());
  active_recorder->record(kCheckpointOp, y, std::move(slots), std::move(recomputation));
  return y;
}

}  // namespace tessera
