// The point at which a tape reports that the gradient of a leaf is complete.

#include "tensor/autograd/gradient_checkpoint.h"
#include "tensor/autograd/tape.h"
#include "tensor/ops/ops.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

/// Leaves a, b, c, d, and ops that write a mark when their backward runs.
struct Trace {
  std::map<std::string, Tensor> leaves;
  std::shared_ptr<std::string> events = std::make_shared<std::string>();

  Trace() {
    for (const std::string name : {"a", "b", "c", "d"}) {
      leaves[name] = tensor({0.1 * name[0], -1.3, 3.7}, kFloat64).set_requires_grad();
    }
  }

  const Tensor& operator[](const std::string& name) const { return leaves.at(name); }

  /// x, recorded as one op.
  Tensor mark(const std::string& name, const Tensor& x) const {
    return recorded("mark", x, x.detach(),
                    [name, events = events](const Tensor& dy, Gradients& dx) {
                      dx.add(0, dy);
                      *events += name + " ";
                    });
  }

  std::string name_of(const GradSlot& slot) const {
    for (const auto& [name, leaf] : leaves) {
      if (leaf.grad_slot().get() == &slot) return name;
    }
    return "?";
  }
};

using Loss = std::function<Tensor(const Trace&)>;

Tensor checkpointed(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  return gradient_checkpoint(f, x);
}

struct Case {
  std::string name;
  Loss loss;
  std::string events;
};

/// Ops as marks with a number, and leaves at the point where they are complete. A mark is before an
/// op in forward order, so it comes right after that op's backward.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"from the last layer to the first",
       [](const Trace& t) {
         Tensor x = t.mark("1", t["a"] * 2);
         x = t.mark("2", x * t["b"]);
         return sum(x * t["c"]);
       },
       "c 2 b 1 a "},
      {"a leaf used twice, as tied weights are",
       [](const Trace& t) {
         Tensor x = t.mark("1", t["a"] * 2);
         x = t.mark("2", x * t["b"]);
         return sum(x * t["a"]);
       },
       "2 b 1 a "},
      {"twice in one op", [](const Trace& t) { return sum(t.mark("1", t["a"] * t["a"])); }, "1 a "},
      {"two leaves of one op",
       [](const Trace& t) { return sum(t.mark("1", t["a"] * t["b"]) * t["c"]); }, "c 1 b a "},
      {"a view of a leaf",
       [](const Trace& t) {
         const Tensor view = t["a"].slice(0, 0, 2);
         const Tensor x = t.mark("1", t["b"] * 2);
         return sum(x) + sum(view);
       },
       "1 b a "},
      {"what the loss does not depend on",
       [](const Trace& t) {
         const Tensor x = t.mark("1", t["a"] * 2);
         t.mark("2", t["b"] * x);
         const Tensor y = sum(t.mark("3", x * t["c"]));
         t.mark("4", t["c"] * t["d"]);
         return y;
       },
       "d 3 c b 1 a "},
      {"a checkpoint's leaves, which are complete after its op",
       [](const Trace& t) {
         const Tensor x = t.mark("1", t["a"] * 2);
         const Tensor y = checkpointed(
             x, [t](const Tensor& in) { return t.mark("3", t.mark("2", in * t["b"]) * t["c"]); });
         return sum(y * t["d"]);
       },
       "d 3 2 c b 1 a "},
      {"nested checkpoints",
       [](const Trace& t) {
         const Tensor x = t.mark("1", t["a"] * 2);
         return sum(checkpointed(x, [t](const Tensor& in) {
           const Tensor inner = checkpointed(t.mark("2", in * t["b"]), [t](const Tensor& deep) {
             return t.mark("3", deep * t["c"]);
           });
           return t.mark("4", inner * t["d"]);
         }));
       },
       "4 3 2 d c b 1 a "},
      {"in a checkpoint and before it",
       [](const Trace& t) {
         const Tensor x = t.mark("1", t["a"] * 2);
         return sum(checkpointed(x, [t](const Tensor& in) { return t.mark("2", in * t["a"]); }));
       },
       "2 1 a "},
      {"in a checkpoint and after it",
       [](const Trace& t) {
         const Tensor x = t.mark("1", t["a"] * 2);
         const Tensor y =
             checkpointed(x, [t](const Tensor& in) { return t.mark("2", in * t["b"]); });
         return sum(t.mark("3", y * t["b"]));
       },
       "3 2 b 1 a "},
      {"in two checkpoints",
       [](const Trace& t) {
         Tensor x = t["a"] * 2;
         for (const std::string name : {"1", "2"}) {
           x = checkpointed(x, [t, name](const Tensor& in) { return t.mark(name, in * t["b"]); });
         }
         return sum(x);
       },
       "2 1 b a "},
      {"a leaf that is a checkpoint's input",
       [](const Trace& t) {
         const auto f = [t](std::span<const Tensor> in) {
           return t.mark("2", in[0] * in[1]) * in[2];
         };
         return sum(gradient_checkpoint(f, {t.mark("1", t["a"] * 2), t["b"], t["c"], t["d"]}));
       },
       "2 c b 1 a "},
      {"a checkpoint of what needs no gradient itself",
       [](const Trace& t) {
         const Tensor x = tensor({1.0, 2.0, 3.0}, kFloat64);
         return sum(checkpointed(x, [t](const Tensor& in) { return t.mark("1", in * t["a"]); }));
       },
       "1 a "},
  };
  return all;
}

/// The gradients of all leaves, zeros if there is none.
std::vector<Tensor> gradients(const Trace& t) {
  std::vector<Tensor> result;
  for (const auto& [name, leaf] : t.leaves) {
    result.push_back(leaf.grad().defined() ? leaf.grad() : zeros_like(leaf.detach()));
  }
  return result;
}

TEST(LeafHook, ComesOnceForEachLeafAsSoonAsItIsComplete) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Trace t, plain;
    std::map<std::string, Tensor> seen;
    Tape tape;
    const Tensor loss = c.loss(t);
    t.events->clear();
    tape.backward(loss, {}, [&](GradSlot& slot) {
      *t.events += t.name_of(slot) + " ";
      EXPECT_EQ(active_recorder, nullptr) << "a hook must not record";
      if (slot.gradient.defined()) seen[t.name_of(slot)] = slot.gradient.clone();
    });
    EXPECT_EQ(*t.events, c.events);
    for (const auto& [name, leaf] : t.leaves) {
      ASSERT_EQ(seen.contains(name), leaf.grad().defined()) << name;
      if (leaf.grad().defined()) {
        EXPECT_TRUE(same_bits(seen[name], leaf.grad())) << name;
      }
    }
    tape.backward(c.loss(plain));
    const std::vector<Tensor> got = gradients(t), want = gradients(plain);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << i;
  }
}

TEST(LeafHook, MayTakeTheGradientOut) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Trace t, plain;
    std::map<std::string, Tensor> taken;
    Tape tape;
    const Tensor loss = c.loss(t);
    tape.backward(loss, {}, [&](GradSlot& slot) {
      taken[t.name_of(slot)] = std::exchange(slot.gradient, Tensor());
    });
    tape.backward(c.loss(plain));
    for (const auto& [name, leaf] : plain.leaves) {
      EXPECT_FALSE(t[name].grad().defined()) << name;
      ASSERT_EQ(taken[name].defined(), leaf.grad().defined()) << name;
      if (leaf.grad().defined()) {
        EXPECT_TRUE(same_bits(taken[name], leaf.grad())) << name;
      }
    }
  }
}

TEST(LeafHook, ItsErrorsEndTheBackward) {
  const Trace t;
  Tape tape;
  const Tensor loss = sum(t.mark("1", t["a"] * 2) * t["b"]);
  const auto fail = [](GradSlot&) { throw std::out_of_range("from the hook"); };
  EXPECT_THROW(tape.backward(loss, {}, fail), std::out_of_range);
  EXPECT_EQ(tape.size(), 0);
  EXPECT_EQ(*t.events, "");
  EXPECT_FALSE(t["a"].grad().defined());
  EXPECT_TRUE((t["a"] * 2).requires_grad()) << "the tape no longer records";
  EXPECT_TRUE(
      throws("backward", {"since its last backward"}, [&] { tape.backward(loss, {}, fail); }));
}

}  // namespace
}  // namespace tessera
