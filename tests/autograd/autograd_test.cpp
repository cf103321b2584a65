// The tape itself: which ops are recorded, when, and how entries are used. The gradients of the ops
// are in gradients_test.cpp.

#include <thread>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/ops/ops.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using test::fails;

Tensor leaf(const Nested& values) {
  return tensor(values, kFloat64).set_requires_grad();
}

TEST(Autograd, AProductsGradient) {
  const Tensor w = leaf({1.0, 2.0, 3.0});
  const Tensor x = tensor({4.0, 5.0, 6.0}, kFloat64);
  Tape tape;
  const Tensor loss = sum(square(w * x));
  EXPECT_EQ(tape.size(), 3);
  tape.backward(loss);
  EXPECT_EQ(tape.size(), 0);
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{2 * 16, 2 * 2 * 25, 2 * 3 * 36}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Autograd, WithoutATapeNothingIsRecorded) {
  const Tensor w = leaf({1.0, 2.0});
  EXPECT_FALSE((w * 2).requires_grad());
  EXPECT_FALSE(w.slice(0, 1).requires_grad());
  {
    Tape tape;
    EXPECT_TRUE((w * 2).requires_grad());
    EXPECT_FALSE((tensor({1.0}, kFloat64) * 2).requires_grad());
    const NoGrad pause;
    EXPECT_FALSE((w * 2).requires_grad());
    EXPECT_EQ(tape.size(), 1);
  }
  EXPECT_FALSE((w * 2).requires_grad());
}

TEST(Autograd, ATapeBelongsToItsThread) {
  const Tensor w = leaf({1.0, 2.0});
  Tape tape;
  bool recorded = true;
  std::thread([&] { recorded = (w * 2).requires_grad(); }).join();
  EXPECT_FALSE(recorded);
  EXPECT_EQ(tape.size(), 0);
}

TEST(Autograd, SeveralBackwardsAddUp) {
  Tensor w = leaf({1.0, 2.0});
  Tape tape;
  for (int pass = 0; pass < 3; ++pass) tape.backward(sum(w * w));
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{6, 12}));
  w.zero_grad();
  EXPECT_FALSE(w.grad().defined());
  tape.backward(sum(w * w));
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{2, 4}));
}

TEST(Autograd, OneVariableUsedSeveralTimes) {
  const Tensor a = leaf({1.0, 2.0});
  const Tensor b = leaf({3.0, 5.0});
  Tape tape;
  const Tensor a2 = a * 2;
  const Tensor b2 = b * 2;
  const Tensor early = a2 * 100;
  // The sum passes the same gradient to a2 and b2; a later addition to a2's must not change b2's.
  const Tensor s = a2 + b2;
  tape.backward(sum(s * tensor({1.0, 10.0}, kFloat64)) + sum(early) + sum(a * b));
  EXPECT_EQ(a.grad().to_vector<double>(), (std::vector<double>{2 + 200 + 3, 20 + 200 + 5}));
  EXPECT_EQ(b.grad().to_vector<double>(), (std::vector<double>{2 + 1, 20 + 2}));
}

TEST(Autograd, CopiesAreTheSameVariableAndViewsAreNot) {
  Tensor w = leaf({1.0, 2.0, 3.0});
  const Tensor same = w;
  Tape tape;
  const Tensor part = same.slice(0, 1);
  tape.backward(sum(part * part));
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{0, 4, 6}));
  EXPECT_FALSE(part.grad().defined());
}

TEST(Autograd, DetachEndsTheHistory) {
  const Tensor w = leaf({2.0});
  Tape tape;
  const Tensor y = w * 3;
  EXPECT_FALSE(y.detach().requires_grad());
  EXPECT_TRUE(y.detach().storage() == y.storage());
  tape.backward(sum(y * y.detach()));
  EXPECT_EQ(w.grad().item(), 3 * 6);
}

TEST(Autograd, ASeedStartsFromANonScalar) {
  const Tensor w = leaf({1.0, 2.0});
  Tape tape;
  tape.backward(w * w, tensor({10.0, 1.0}, kFloat64));
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{20, 4}));
}

TEST(Autograd, LossesThatAreRefused) {
  const Tensor w = leaf({1.0, 2.0});
  const Tensor before = sum(w);
  Tape tape;
  fails("backward", {"1 element", "(2,)"}, [&] { tape.backward(w * 2); });
  fails("backward", "must be recorded", [&] { tape.backward(before); });
  fails("backward", "undefined", [&] { tape.backward(Tensor()); });
  fails("backward", {"gradient", "(3,)"}, [&] { tape.backward(w * 2, zeros({3}, kFloat64)); });
  const Tensor loss = sum(w);
  tape.backward(loss);
  fails("backward", "since its last backward", [&] { tape.backward(loss); });
}

TEST(Autograd, WhatAnEndedTapeComputedIsRefused) {
  const Tensor w = leaf({1.0, 2.0});
  Tensor y;
  {
    Tape tape;
    y = w * 2;
  }
  Tape tape;
  fails("mul", {"another tape", "detach()"}, [&] { y * 3; });
  EXPECT_NO_THROW(y.detach() * w);
  const Tensor z = w * 2;
  tape.backward(sum(w));
  fails("mul", "detach()", [&] { z * 3; });
}

TEST(Autograd, AnOpWithoutABackwardRefuses) {
  const Tensor q = leaf({{1.0, 2.0}});
  EXPECT_NO_THROW(refuse_gradient("an_op", {&q}));
  Tape tape;
  fails("an_op", "must not require a gradient", [&] { refuse_gradient("an_op", {&q}); });
  const NoGrad pause;
  EXPECT_NO_THROW(refuse_gradient("an_op", {&q}));
}

TEST(Autograd, ElementsCannotBeReadBehindTheTapesBack) {
  const Tensor w = leaf({1.0, 2.0});
  EXPECT_NO_THROW(w.data<double>());
  Tape tape;
  fails("data", "detach()", [&] { w.data<double>(); });
  EXPECT_NO_THROW(w.detach().data<double>());
  EXPECT_EQ(sum(w).item(), 3);  // users print losses
  EXPECT_EQ(w.to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(w.item_at({1}), 2);
  const index_t recorded = tape.size();
  Tensor target = zeros({2}, kFloat64);
  fails("copy_from", "detach()", [&] { target.copy_from(w); });
  EXPECT_EQ(tape.size(), recorded);
}

TEST(Autograd, WhatIsRecordedCannotBeWritten) {
  Tensor w = leaf({1.0, 2.0});
  Tape tape;
  EXPECT_NO_THROW(w.fill(3));  // no op has read it yet
  Tensor y = w * w;
  fails("fill", "recorded", [&] { w.fill(1); });
  fails("fill", "recorded", [&] { y.fill(1); });
  tape.backward(sum(y));
  EXPECT_NO_THROW(w.fill(1));  // the step of an optimiser
}

TEST(Autograd, AWriteIntoWhatABackwardReadsIsAnError) {
  const Tensor w = leaf({{1.0, 2.0}, {3.0, 4.0}});
  const Tensor ids = tensor({1, 0});
  const Tensor mask = tensor({true, false});
  using Op = std::function<Tensor(const Tensor& x)>;
  const std::vector<std::pair<std::string, Op>> ops = {
      {"mul", [&](const Tensor& x) { return x * w; }},
      {"div", [&](const Tensor& x) { return w / x; }},
      {"maximum", [&](const Tensor& x) { return maximum(w, x); }},
      {"matmul", [&](const Tensor& x) { return matmul(w, x); }},
      {"linear", [&](const Tensor& x) { return linear(x, w); }},
      {"embedding", [&](const Tensor&) { return embedding(ids, w); }},
      {"gather", [&](const Tensor&) { return gather(w, 1, ids.unsqueeze(1)); }},
      {"where", [&](const Tensor&) { return where(mask, w, 0); }},
  };
  const std::vector<std::function<void(Tensor)>> writes = {
      [](Tensor x) { x.fill(1); },
      [](Tensor x) { x.slice(0, 0, 1).fill(1); },
      [](Tensor x) { x.detach().copy_from(zeros({}, kFloat64)); },
  };
  for (const auto& [name, op] : ops) {
    for (const auto& write : writes) {
      SCOPED_TRACE(name);
      Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}}, kFloat64);
      Tape tape;
      const Tensor loss = sum(op(x));
      write(name == "embedding" || name == "gather" ? ids : name == "where" ? mask : x);
      fails("backward", {"gradient of " + name, "written"}, [&] { tape.backward(loss); });
      EXPECT_EQ(tape.size(), 0);
      EXPECT_FALSE(w.grad().defined());
    }
  }
}

TEST(Autograd, AWriteIntoAVariableBehindTheTapesBackIsSeen) {
  const Tensor w = leaf({1.0, 2.0});
  Tape tape;
  for (const auto& f :
       {+[](const Tensor& x) { return exp(x); }, +[](const Tensor& x) { return relu(x); },
        +[](const Tensor& x) { return softmax(x); },
        +[](const Tensor& x) { return log_softmax(x); },
        +[](const Tensor& x) { return sqrt(x); }}) {
    Tensor y = f(w);  // each op reads its result
    const Tensor loss = sum(y * 2);
    y.detach().fill(1);
    fails("backward", "written", [&] { tape.backward(loss); });
  }
  for (const auto& f :
       {+[](const Tensor& x) { return log(x); }, +[](const Tensor& x) { return gelu(x); },
        +[](const Tensor& x) { return layer_norm(x); },
        +[](const Tensor& x) { return logsumexp(x); }, +[](const Tensor& x) { return pow(x, 3); },
        +[](const Tensor& x) { return var(x); }, +[](const Tensor& x) { return norm(x); },
        +[](const Tensor& x) { return max(x); }}) {
    const Tensor loss = sum(f(w));
    w.detach().fill(1);
    fails("backward", "written", [&] { tape.backward(loss); });
  }
  EXPECT_FALSE(w.grad().defined());
}

TEST(Autograd, AWriteIntoWhatNoBackwardReadsIsAllowed) {
  const Tensor w = leaf({1.0, 2.0});
  Tensor x = tensor({3.0, 4.0}, kFloat64);
  Tape tape;
  const Tensor loss = sum(w + x) + sum(w * 2) + sum((w - x).reshape({2, 1}));
  x.fill(100);
  {
    const NoGrad pause;
    Tensor(w).fill(7);
  }
  tape.backward(loss);
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{4, 4}));
}

TEST(Autograd, TakingAGradientLeavesTheUsersHandleAlone) {
  const Tensor x = leaf({1.0, 2.0, 4.0});
  Tape tape;
  const auto pass = [&] { tape.backward(sum(layer_norm(x) * tensor({1.0, 2.0, 3.0}, kFloat64))); };
  pass();
  const std::vector<double> once = x.grad().to_vector<double>();
  const void* memory = x.grad().untyped_data();
  pass();  // layer norm adds to the gradient in its own pass, in place
  EXPECT_EQ(x.grad().untyped_data(), memory);
  const Tensor held = x.grad();
  pass();
  for (index_t i = 0; i < 3; ++i) {
    const double part = once[static_cast<std::size_t>(i)];
    EXPECT_EQ(held.item_at({i}), part + part);
    EXPECT_EQ(x.grad().item_at({i}), part + part + part);
  }
  const std::vector<double> before = x.grad().to_vector<double>();
  const Tensor loss = sum(layer_norm(x));
  x.detach().fill(1);
  fails("backward", "layer_norm", [&] { tape.backward(loss); });
  EXPECT_EQ(x.grad().to_vector<double>(), before);
}

TEST(Autograd, OnlyFloatingLeavesRequireGradients) {
  fails("set_requires_grad", "int64", [] { tensor({1, 2}).set_requires_grad(); });
  Tensor w = leaf({1.0});
  Tape tape;
  Tensor y = w * 2;
  fails("set_requires_grad", "detach()", [&] { y.set_requires_grad(false); });
  w.set_requires_grad(false);
  EXPECT_FALSE(w.requires_grad());
}

TEST(Autograd, AnInnerTapeTakesOver) {
  const Tensor w = leaf({3.0});
  Tape outer;
  const Tensor y = w * w;
  {
    Tape inner;
    inner.backward(sum(w * 5));
    EXPECT_EQ(w.grad().item(), 5);
    fails("mul", "another tape", [&] { y * 2; });
  }
  outer.backward(sum(y));
  EXPECT_EQ(w.grad().item(), 5 + 6);
}

TEST(Autograd, MixedDtypesGetGradientsOfTheirOwn) {
  const Tensor a = tensor({1.5, 2.5}).set_requires_grad();
  const Tensor b = leaf({2.0, 3.0});
  Tape tape;
  tape.backward(sum(a * b));
  EXPECT_EQ(a.grad().dtype(), kFloat32);
  EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_EQ(b.grad().to_vector<double>(), (std::vector<double>{1.5, 2.5}));
}

TEST(Autograd, ALeafsGradientIsItsOwnMemory) {
  Tensor a = leaf({1.0, 2.0});
  Tensor b = leaf({1.0, 2.0});
  Tape tape;
  tape.backward(sum(a + b));
  EXPECT_FALSE(a.grad().storage() == b.grad().storage());
  EXPECT_TRUE(a.grad().is_contiguous());
  a.grad().fill(0);  // like clipping
  EXPECT_EQ(b.grad().to_vector<double>(), (std::vector<double>{1, 1}));
}

TEST(Autograd, LaterGradientsAreAddedInPlace) {
  Tensor w = leaf({1.0, 2.0});
  Tape tape;
  tape.backward(sum(w * w));
  const void* memory = w.grad().untyped_data();
  tape.backward(sum(w * w));
  EXPECT_EQ(w.grad().untyped_data(), memory);
  const Tensor held = w.grad();  // must not change later
  tape.backward(sum(w * w));
  EXPECT_EQ(held.to_vector<double>(), (std::vector<double>{4, 8}));
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{6, 12}));
}

TEST(Autograd, BackwardFreesWhatItPasses) {
  const Tensor w = zeros({1000}, kFloat64).set_requires_grad();
  const index_t before = memory_stats().in_use;
  {
    Tape tape;
    Tensor y = exp(w);
    for (int i = 0; i < 20; ++i) y = exp(y * 0.1);
    EXPECT_GT(memory_stats().in_use, before + 20 * 8000);
    tape.backward(sum(y));
    y = Tensor();
    EXPECT_LT(memory_stats().in_use, before + 4 * 8000);  // the gradient of w
  }
}

TEST(Autograd, AnExceptionLeavesTheTapeUsable) {
  const Tensor w = leaf({1.0, 2.0});
  Tape tape;
  Tensor y = w * 2;
  Recording op("broken", {&y});
  y = op.finish(y.detach(),
                [] { return [](const Tensor&, Gradients&) { throw std::runtime_error("no"); }; });
  EXPECT_THROW(tape.backward(sum(y)), std::runtime_error);
  EXPECT_EQ(tape.size(), 0);
  tape.backward(sum(w));
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace tessera
