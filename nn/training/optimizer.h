// The common form of all optimisers: parameters in groups, what is kept of each, states, and a rule
// that says how a weight moves. The rules themselves, SGD, Adam and AdamW, are in optim.h.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nn/training/checkpoint.h"
#include "nn/training/chunks.h"
#include "nn/training/communicator.h"
#include "nn/training/kept_state.h"
#include "nn/training/parameters.h"

namespace tessera::nn {

/// Neighbouring elements of one parameter that has a gradient, at one step.
struct Stretch {
  DType dtype;
  index_t count;
  void* weights;
  const void* gradient;
  std::array<void*, 2> kept;  // what the rule keeps, in the order of Rule::kept
  index_t steps;              // that this parameter has made before
  double lr, weight_decay;    // of its group

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

/// One algorithm. To add an optimiser, write one such struct, with a type `Options` that has `lr`
/// and `weight_decay`, and `using Mine = OptimizerOf<MyRule>`.
struct Rule {
  /// The numbers that are allowed for an option.
  enum class Range { kAtLeast0, kBelow1, kFinite };
  using Visit = std::function<void(const char* option, double& value, Range range)>;

  virtual ~Rule() = default;

  /// The name in errors: "AdamW".
  virtual const char* name() const = 0;
  /// The names of the tensors of a parameter's shape that are kept of each, zeros at first; no
  /// more than two.
  virtual std::vector<const char*> kept() const = 0;
  /// Calls `visit` with each option but lr and weight_decay, which belong to groups. States use
  /// these names.
  virtual void for_each_option(const Visit& visit) = 0;
  /// What tells a state from those of rules that keep tensors of the same names.
  virtual Checkpoint mark() const { return {}; }
  /// The rule that options break which are each within their range; empty: none.
  virtual std::string conflict() const { return {}; }
  /// Moves weights. Called by several threads at once, for stretches that do not overlap; an
  /// element's new value depends on nothing but that element, so that no bit depends on threads.
  virtual void update(const Stretch& stretch) const = 0;
};

/// The common part of all optimisers: everything except their rules.
class Optimizer {
 public:
  struct Group {
    Parameters parameters;
    double lr;
    double initial_lr;  // at first; schedules multiply it
    double weight_decay;
  };

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Changes every parameter that has a gradient, in one parallel region, and bumps the versions of
  /// their memory, so that packed weights are packed anew. Allocates nothing after the first time.
  /// **Errors**, each naming the parameter: a tape may read it again, because it has recorded ops
  /// and not run backward; it was converted after the optimiser was made; its gradient is not
  /// contiguous. Then nothing is changed.
  ///
  /// If processes share it: reads the gradients and moves only the weights of the own chunks,
  /// to the bits that they have without sharing. Who shares it sends the others' values around; the
  /// versions are bumped for these too.
  void step();

  /// Forgets the gradients of all parameters.
  void zero_grad();

  const std::vector<Group>& groups() const { return groups_; }
  /// All parameters, in the order of the groups: in this order chunks number them.
  const Parameters& variables() const { return kept_.parameters(); }
  /// Sets the learning rate of all groups, or of one. **Errors**: not a number >= 0.
  void set_lr(double lr);
  void set_lr(std::size_t group, double lr);

  /// Everything a later run needs to continue as this one would: the settings, and for each parameter
  /// NAME what the rule keeps of it, NAME.exp_avg and NAME.exp_avg_sq (Adam, AdamW) or
  /// NAME.momentum_buffer (SGD with momentum). After a step the tensors share memory with the
  /// optimiser: store or clone them before the next one.
  ///
  /// If processes share it, all of them call this together. Rank 0 has the whole state, a copy
  /// with the bits of one without sharing; the others have only the settings.
  Checkpoint state() const;
  /// The values of a state without its tensors: for each parameter NAME.step; for each group
  /// group.I.lr, .initial_lr and .weight_decay; and the options. Any process may call this by itself.
  Checkpoint settings() const;
  /// Takes over a whole state, options included; where processes share it, each its own parts.
  /// **Errors**: those of check_state; then nothing is changed.
  void load_state(const Checkpoint& state);
  /// **Errors**: a state that does not fit, of which the error lists the differences.
  void check_state(const Checkpoint& state) const;

  // ---- many processes ----

  /// Divides the work and the memory of this optimiser among processes, for good: the parameters
  /// are cut into chunks (nn/training/chunks.h), and from here on this process keeps what the rule
  /// needs only for its own chunks, and moves only these. What was kept before stays.
  ///
  ///     optimizer.share(processes);       // of three processes, here rank 1
  ///     optimizer.kept_bytes();           // about a third
  ///     nn::clip_grad_norm(optimizer, 1); // called by all together, as state()
  ///     optimizer.step();                 // own chunks
  ///
  /// All processes call it together. One process alone changes nothing. `processes` must outlive the
  /// optimiser's use. **Errors**: the processes disagree on the rule, the parameters' names, shapes
  /// and dtypes, or the settings; it is shared already by another number of processes; more chunks
  /// than Communicator::kMostTags / 2. Then nothing is changed.
  void share(Communicator& processes);
  /// Who shares it; null: nobody.
  Communicator* processes() const { return kept_.processes(); }
  /// All chunks in the order of `variables`; none where nobody shares it.
  const std::vector<Chunk>& chunks() const { return kept_.chunks(); }
  /// The memory that this process keeps for the rule. Unshared optimisers take theirs at the first
  /// step or load_state, and have none before.
  index_t kept_bytes() const { return kept_.bytes(); }

 protected:
  Optimizer(std::vector<ParameterGroup> groups, std::unique_ptr<Rule> rule, double lr,
            double weight_decay);
  ~Optimizer() = default;

 private:
  /// A stretch, and how many elements those before it have together.
  struct Piece {
    index_t first, count;
    Stretch stretch;
  };

  void add_group(ParameterGroup group, double lr, double weight_decay);
  void check_parameter(const Parameter& parameter) const;
  void check_step() const;
  void check_options(const Checkpoint& state) const;
  void set_options(const Checkpoint& state) const;
  void collect();
  template <class F>
  void for_each_group_number(const F& f) const;

  std::unique_ptr<Rule> rule_;
  const char* name_;
  std::vector<Group> groups_;
  detail::KeptState kept_;
  std::vector<index_t> steps_;  // of each of `variables`
  std::vector<Piece> pieces_;   // kept between steps for their memory
};

/// The optimiser of a rule. **Errors**: no parameter; one that requires no gradient, is not
/// contiguous, or appears twice; options out of range.
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
