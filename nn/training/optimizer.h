// The common part of all optimisers: groups of parameters, the tensors that are kept for each
// parameter, and states. The algorithms SGD, Adam and AdamW are in optim.h.
//
//   nn::set_requires_grad(model);
//   nn::AdamW optimizer(model, {.lr = 1e-3});
//   tape.backward(loss);
//   optimizer.step();
//   optimizer.zero_grad();
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "tessera/nn/training/checkpoint.h"
#include "tessera/nn/training/parameters.h"

namespace tessera::nn {

/// Some adjacent elements of a parameter, with all data that one step needs.
struct ParameterSlice {
  DType dtype;
  index_t count;
  void* weights;
  const void* gradient;
  std::array<void*, 2> kept;  // elements of the kept tensors, in the order of their names
  index_t steps;              // earlier steps of this parameter
  double lr, weight_decay;    // of the parameter's group

  /// The elements as T, which must be their type.
  template <class T>
  T* weights_as() const {
    return static_cast<T*>(weights);
  }
  template <class T>
  const T* gradient_as() const {
    return static_cast<const T*>(gradient);
  }
  template <class T>
  T* kept_as(std::size_t i) const {
    return static_cast<T*>(kept[i]);
  }
};

/// Groups of parameters, and all parts of an optimiser except its algorithm.
///
/// To add an algorithm, derive a class that passes an Algorithm to the constructor, and define
/// update().
/// **Errors** of constructors: no parameter; a parameter that requires no gradient, is not
/// contiguous, appears twice, has the name of a different one, or shares memory with a different
/// variable; options out of range.
/// **Source**: torch.optim.Optimizer, for groups, step and zero_grad.
class Optimizer {
 public:
  /// Parameters with their own learning rate and weight decay.
  struct Group {
    Parameters parameters;
    double lr;
    double initial_lr;  // the rate that schedules multiply
    double weight_decay;
  };

  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// The name of the algorithm: "AdamW".
  const char* name() const { return algorithm_.name; }
  const std::vector<Group>& groups() const { return groups_; }
  /// All parameters, in the order of the groups.
  const Parameters& parameters() const { return variables_; }

  /// Changes every parameter that has a gradient, in one parallel region, and adds 1 to the version
  /// of the parameter's memory, so that packed weights are packed again. Allocates no memory after
  /// the first call.
  /// **Errors**: no parameter has a gradient; and, each naming the parameter: a tape has recorded
  /// ops and has not run backward, so the tape may read the parameter again; the model has replaced
  /// the parameter, by convert(), prepack() or `=` (found only if nothing else holds it); the
  /// parameter's gradient is not contiguous, or has a different shape or dtype. After an error
  /// nothing is changed.
  void step();

  /// Makes the gradients of all parameters undefined.
  void zero_grad();

  /// Sets the learning rate of all groups. Before the first scheduler is made, also sets the
  /// initial rate, which schedules multiply.
  /// **Errors**: a rate that is negative or not finite.
  void set_lr(double lr);
  /// Sets the learning rate of one group. **Errors**: as above; a group that does not exist.
  void set_lr(std::size_t group, double lr);

  /// Everything that a later run needs to continue this one: the options; for each group
  /// group.I.lr, .initial_lr and .weight_decay; for each parameter NAME.step and the kept tensors,
  /// NAME.exp_avg and NAME.exp_avg_sq (Adam, AdamW) or NAME.momentum_buffer (SGD with momentum).
  /// After a step the tensors share memory with the optimiser: store or clone them before the next
  /// step. Before the first step each is a single 0 that is expanded to the shape.
  Checkpoint state() const;
  /// Restores the state of an optimiser with the same algorithm and options; the numbers of groups
  /// may be different.
  /// **Errors**: a state that does not match, whose error lists up to 30 differences; different
  /// options; numbers out of range. After an error nothing is changed.
  void load_state(const Checkpoint& state);

 protected:
  /// The name of an algorithm, and its part of the state.
  struct Algorithm {
    const char* name;
    // All options except lr and weight_decay, which belong to groups.
    std::map<std::string, double> options;
    // The names of at most two tensors per parameter, which have its shape and begin as zeros.
    std::vector<const char*> kept;
  };

  /// `lr` and `weight_decay` are for groups without their own.
  Optimizer(Algorithm algorithm, std::vector<ParameterGroup> groups, double lr,
            double weight_decay);

 private:
  /// Updates weights. Several threads call this function at once, for slices that do not overlap.
  /// The new value of an element must depend only on the data of this element, so that the number
  /// of threads does not change the bits.
  virtual void update(const ParameterSlice& slice) const = 0;

  /// A slice, and the number of elements of all slices before it.
  struct Piece {
    index_t first, count;
    ParameterSlice slice;
  };

  friend class LRScheduler;

  void check_step() const;
  void allocate();
  void open_pieces();

  Algorithm algorithm_;
  std::vector<Group> groups_;
  bool is_scheduled_ = false;  // a scheduler was made: set_lr changes no initial_lr
  Parameters variables_;
  std::vector<std::vector<Tensor>> kept_;  // of each of `variables_`; none before the first step
  std::vector<index_t> steps_;             // of each of `variables_`
  std::vector<Piece> pieces_;              // kept between steps to reuse their memory
};

}  // namespace tessera::nn
