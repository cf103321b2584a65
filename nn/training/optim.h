// Optimisers: SGD, Adam, AdamW.
//
//   nn::set_requires_grad(model);
//   nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 3e-4});
//   for (...) {
//     Tape tape;
//     Tensor loss = nn::cross_entropy(model(ids), labels);
//     tape.backward(loss);
//     nn::clip_grad_norm(optimizer, 1);
//     optimizer.step();
//     optimizer.zero_grad();
//   }
//
// An optimiser holds the variables that the module had when it was made: make it after
// set_requires_grad, convert and the tying of weights.
#pragma once

#include <vector>

#include "nn/training/checkpoint.h"
#include "nn/training/parameters.h"

namespace tessera::nn {

/// w -= lr b, with b = momentum b + (1 - dampening) g and g the gradient plus weight_decay w; with
/// `nesterov`, w -= lr (g + momentum b). The first b is g.
struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

/// w -= lr m' / (sqrt(v') + eps), where m and v follow the gradient g and its square,
///
///     m = beta1 m + (1 - beta1) g,    m' = m / (1 - beta1^t)
///     v = beta2 v + (1 - beta2) g^2,  v' = v / (1 - beta2^t)
///
/// and g is the gradient plus weight_decay w.
struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};

/// Adam, but the weights decay by themselves: w *= 1 - lr weight_decay before each step, and g is
/// the gradient alone.
struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
};

/// What SGD, Adam and AdamW have in common: everything but their names. Made by those.
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
  void step();

  /// Forgets the gradients of all parameters.
  void zero_grad();

  const std::vector<Group>& groups() const { return groups_; }
  /// Sets the learning rate of all groups, or of one. **Errors**: not a number >= 0.
  void set_lr(double lr);
  void set_lr(std::size_t group, double lr);

  /// Everything a later run needs to go on as this one would: for each parameter NAME the tensors
  /// NAME.exp_avg and NAME.exp_avg_sq (Adam, AdamW) or NAME.momentum_buffer (SGD with momentum) and
  /// the value NAME.step; for each group group.I.lr, .initial_lr and .weight_decay; and the
  /// options. The tensors share memory with the optimiser: store or clone them before the next step.
  Checkpoint state() const;
  /// Takes over such a state, options included. **Errors**: one that does not fit, of which the
  /// error lists the differences; then nothing is changed.
  void load_state(const Checkpoint& state);

 protected:
  enum class Kind { kSgd, kAdam, kAdamW };
  /// The options of all kinds; those of another kind are 0.
  struct Rule {
    Kind kind;
    double momentum = 0, dampening = 0, nesterov = 0;
    double beta1 = 0, beta2 = 0, eps = 0;
  };

  Optimizer(const char* name, std::vector<ParameterGroup> groups, const Rule& rule, double lr,
            double weight_decay);
  ~Optimizer() = default;

 private:
  /// What is kept of one parameter.
  struct Moments {
    index_t steps = 0;
    Tensor first;   // the momentum's buffer, or m; undefined where there is none
    Tensor second;  // v
  };
  /// A parameter that has a gradient, at one step.
  struct Piece {
    index_t first, count;
    void* w;
    const void* gradient;
    Moments* moments;
    void* m;
    void* v;
    double lr, weight_decay;
  };

  void add_group(ParameterGroup group, double lr, double weight_decay);
  void check_parameter(const Parameter& parameter) const;
  void check_step() const;
  void check_state(const Checkpoint& state, const Checkpoint& own) const;
  template <class T>
  void collect(std::vector<Piece>& pieces);
  template <class T>
  void run_sgd(const std::vector<Piece>& pieces) const;
  template <class T>
  void run_adam(const std::vector<Piece>& pieces) const;
  template <class T>
  void run(const std::vector<Piece>& pieces) const;
  template <class Self, class F>
  static void for_each_number(Self& self, const F& f);

  const char* name_;
  Rule rule_;
  std::vector<Group> groups_;
  std::vector<Moments> moments_;   // of the parameters of all groups, in their order
  std::vector<Piece> pieces_f32_;  // kept between steps for their memory
  std::vector<Piece> pieces_f64_;
};

/// Stochastic gradient descent. **Errors** of all three: no parameter; one that wants no gradient,
/// is not contiguous, or appears twice; options out of range.
/// **Source**: torch.optim.SGD; Sutskever et al., "On the importance of initialization and momentum
/// in deep learning" (2013).
class SGD final : public Optimizer {
 public:
  explicit SGD(std::vector<ParameterGroup> groups, const SgdOptions& options = {});
  explicit SGD(const Parameters& parameters, const SgdOptions& options = {})
      : SGD(std::vector<ParameterGroup>{ParameterGroup{parameters}}, options) {}
  template <class M>
  explicit SGD(const M& module, const SgdOptions& options = {})
      : SGD(parameters(module), options) {}
};

/// **Source**: torch.optim.Adam; Kingma and Ba, "Adam" (2015), algorithm 1.
class Adam final : public Optimizer {
 public:
  explicit Adam(std::vector<ParameterGroup> groups, const AdamOptions& options = {});
  explicit Adam(const Parameters& parameters, const AdamOptions& options = {})
      : Adam(std::vector<ParameterGroup>{ParameterGroup{parameters}}, options) {}
  template <class M>
  explicit Adam(const M& module, const AdamOptions& options = {})
      : Adam(parameters(module), options) {}
};

/// **Source**: torch.optim.AdamW; Loshchilov and Hutter, "Decoupled weight decay regularization"
/// (2019), algorithm 2.
class AdamW final : public Optimizer {
 public:
  explicit AdamW(std::vector<ParameterGroup> groups, const AdamWOptions& options = {});
  explicit AdamW(const Parameters& parameters, const AdamWOptions& options = {})
      : AdamW(std::vector<ParameterGroup>{ParameterGroup{parameters}}, options) {}
  template <class M>
  explicit AdamW(const M& module, const AdamWOptions& options = {})
      : AdamW(parameters(module), options) {}
};

}  // namespace tessera::nn
