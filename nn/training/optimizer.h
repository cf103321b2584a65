// The common form of all optimisers: groups of parameters, the tensors that are kept for each
// parameter, states, and a rule that updates weights. The rules SGD, Adam and AdamW are in optim.h.
//
//   nn::set_requires_grad(model);
//   nn::AdamW optimizer(model, {.lr = 1e-3});
//   tape.backward(loss);
//   optimizer.step();
//   optimizer.zero_grad();
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "nn/training/checkpoint.h"
#include "nn/training/parameters.h"

namespace tessera::nn {

/// Some adjacent elements of a parameter, with all data that one step needs.
struct ParameterSlice {
  DType dtype;
  index_t count;
  void* weights;
  const void* gradient;
  std::array<void*, 2> kept;  // elements of the rule's tensors, in the order of Rule::kept
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

/// The numbers that are allowed for an option.
enum class OptionRange {
  kAtLeast0,  // finite and >= 0
  kBelow1,    // in [0, 1)
  kFinite,    // any finite number
};

/// An option with its name in errors.
struct NamedNumber {
  std::string name;
  double value;
  OptionRange range;
};

/// The error of the first number that is outside its range; empty if all are valid.
std::string wrong_number(std::initializer_list<NamedNumber> numbers);

/// One algorithm and its options, which are plain numbers. To add an optimiser, write a struct
/// MyRule derived from Rule. MyRule needs a type `Options`, which has `lr` and `weight_decay`, and
/// a constructor that takes these `Options`. The optimiser is then `OptimizerOf<MyRule>`.
struct Rule {
  virtual ~Rule() = default;

  /// The name in errors: "AdamW".
  virtual const char* name() const = 0;
  /// The names of the tensors that the rule keeps for each parameter, at most two. The tensors have
  /// the parameter's shape, and are zeros at first.
  virtual std::vector<const char*> kept() const = 0;
  /// The error in the options; empty if the options are valid.
  virtual std::string wrong() const = 0;
  /// The options by their names in states; without lr and weight_decay, which belong to groups.
  virtual Checkpoint options() const = 0;
  /// A rule with the options of `state`. The ranges of the options are not checked: call `wrong` of
  /// the result. **Errors**: an option that is missing or not a number.
  virtual std::unique_ptr<Rule> with(const Checkpoint& state) const = 0;
  /// Values that distinguish the states of this rule from those of other rules that keep tensors of
  /// the same names: Adam and AdamW both keep exp_avg.
  virtual Checkpoint mark() const { return {}; }
  /// Updates weights. Several threads call this function at once, for slices that do not overlap.
  /// The new value of an element must depend only on the data of this element, so that the number
  /// of threads does not change the bits.
  virtual void update(const ParameterSlice& slice) const = 0;
};

/// The common part of all optimisers: everything except their rules.
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

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// The rule's name.
  const char* name() const { return name_; }
  const std::vector<Group>& groups() const { return groups_; }
  /// All parameters, in the order of the groups.
  const Parameters& variables() const { return variables_; }

  /// Changes every parameter that has a gradient, in one parallel region, and adds 1 to the version
  /// of the parameter's memory, so that packed weights are packed again. Allocates no memory after
  /// the first call.
  /// **Errors**, each naming the parameter: a tape has recorded ops and has not run backward, so
  /// the tape may read the parameter again; the parameter was converted or prepacked after the
  /// optimiser was made; the parameter's gradient is not contiguous. After an error nothing is
  /// changed.
  void step();

  /// Makes the gradients of all parameters undefined.
  void zero_grad();

  /// Sets the learning rate of all groups. **Errors**: a rate that is negative or not finite.
  void set_lr(double lr);
  /// Sets the learning rate of one group. **Errors**: as above; a group that does not exist.
  void set_lr(std::size_t group, double lr);

  /// Replaces the parameters, group by group. The optimiser then has no steps and no kept tensors,
  /// as at first; rates and options stay.
  /// **Errors**: as the constructor; a different number of groups. After an error nothing is
  /// changed.
  void set_parameters(std::vector<Parameters> groups);

  /// Everything that a later run needs to continue this one: the settings, and for each parameter
  /// NAME the tensors that the rule keeps, NAME.exp_avg and NAME.exp_avg_sq (Adam, AdamW) or
  /// NAME.momentum_buffer (SGD with momentum). After a step the tensors share memory with the
  /// optimiser: store or clone them before the next step. Before the first step each is a
  /// single 0 that is expanded to the shape.
  Checkpoint state() const;
  /// The values of a state without its tensors: for each parameter NAME.step; for each group
  /// group.I.lr, .initial_lr and .weight_decay; and the options.
  Checkpoint settings() const;
  /// Takes over a state, options included. **Errors**: as check_state; then nothing is changed.
  void load_state(const Checkpoint& state);
  /// **Errors**: a state that does not match, whose error lists up to 30 differences; the state of
  /// a different algorithm; numbers out of range.
  void check_state(const Checkpoint& state) const;

 protected:
  Optimizer(std::vector<ParameterGroup> groups, std::unique_ptr<Rule> rule, double lr,
            double weight_decay);
  ~Optimizer() = default;

 private:
  /// A slice, and the number of elements of all slices before it.
  struct Piece {
    index_t first, count;
    ParameterSlice slice;
  };

  void take(std::vector<Group> groups);
  void check_step() const;
  std::unique_ptr<Rule> rule_of(const Checkpoint& state) const;
  std::string name_of_kept(std::size_t variable, std::size_t kept) const;
  void allocate();
  void open_pieces();
  template <class F>
  void for_each_group_number(const F& f) const;

  std::unique_ptr<Rule> rule_;
  const char* name_;
  std::vector<const char*> kept_names_;
  std::vector<Group> groups_;
  Parameters variables_;
  std::vector<std::vector<Tensor>> kept_;  // of each of `variables_`; none before the first step
  std::vector<index_t> steps_;             // of each of `variables_`
  std::vector<Piece> pieces_;              // kept between steps to reuse their memory
};

namespace detail {

/// Throws if the parameter's module has replaced the parameter, by convert or prepack.
void require_current(const char* op, const Parameter& parameter);

}  // namespace detail

/// The optimiser of a rule. **Errors**: no parameter; a parameter that requires no gradient, is not
/// contiguous, appears twice, has the name of a different one, or shares memory with a different
/// variable; options out of range; a rule that keeps more than two tensors.
template <class MyRule>
class OptimizerOf final : public Optimizer {
 public:
  using Options = typename MyRule::Options;

  explicit OptimizerOf(std::vector<ParameterGroup> groups, const Options& options = {})
      : Optimizer(std::move(groups), std::make_unique<MyRule>(options), options.lr,
                  options.weight_decay) {}
  explicit OptimizerOf(const Parameters& parameters, const Options& options = {})
      : OptimizerOf(std::vector<ParameterGroup>{ParameterGroup{parameters}}, options) {}
  template <class M>
  explicit OptimizerOf(const M& module, const Options& options = {})
      : OptimizerOf(parameters(module), options) {}
};

}  // namespace tessera::nn
