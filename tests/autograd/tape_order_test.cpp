// Tapes and pauses that do not end in the reverse order of their creation.

#include <memory>
#include <thread>

#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/ops/ops.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using test::fails;

Tensor leaf() {
  return tensor({1.0, 2.0}).set_requires_grad();
}

/// Whether a tape made now works, and nothing records after it.
void expect_a_fresh_start() {
  const Tensor w = leaf();
  EXPECT_FALSE((w * 2).requires_grad()) << "a tape is still active";
  {
    Tape tape;
    tape.backward(sum(w * 3));
  }
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_FALSE((w * 2).requires_grad());
}

TEST(TapeOrder, ATapeThatOutlivesAnOlderOneNeitherRecordsNorRunsBackward) {
  const Tensor w = leaf();
  auto older = std::make_unique<Tape>();
  auto newer = std::make_unique<Tape>();
  const Tensor loss = sum(w * 2);
  older.reset();
  fails("mul", "tapes must be destroyed in the reverse order of their creation", [&] { w * 2; });
  fails("backward", "destroy the newer tape first", [&] { newer->backward(loss); });
  EXPECT_FALSE(w.grad().defined());
  newer.reset();
  expect_a_fresh_start();
}

TEST(TapeOrder, OneOfManyThatEndsTooEarlySpoilsOnlyTheNewerOnes) {
  const Tensor w = leaf();
  std::vector<std::unique_ptr<Tape>> tapes;
  for (int i = 0; i < 4; ++i) tapes.push_back(std::make_unique<Tape>());
  tapes[1].reset();
  fails("mul", "reverse order", [&] { w * 2; });
  tapes[3].reset();
  fails("mul", "reverse order", [&] { w * 2; });
  tapes[2].reset();
  tapes[0]->backward(sum(w * 2));  // the oldest tape was always in order
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{2, 2}));
  tapes.clear();
  expect_a_fresh_start();
}

TEST(TapeOrder, VectorsOfTapesMayEndFirstToLast) {
  {
    std::vector<std::unique_ptr<Tape>> tapes;
    for (int i = 0; i < 3; ++i) tapes.push_back(std::make_unique<Tape>());
  }
  expect_a_fresh_start();
}

TEST(TapeOrder, PausesTakePartInIt) {
  const Tensor w = leaf();
  auto tape = std::make_unique<Tape>();
  auto pause = std::make_unique<NoGrad>();
  tape.reset();
  EXPECT_FALSE((w * 2).requires_grad());
  pause.reset();
  expect_a_fresh_start();

  tape = std::make_unique<Tape>();
  pause = std::make_unique<NoGrad>();
  auto newer = std::make_unique<Tape>();
  pause.reset();
  fails("mul", "reverse order", [&] { w * 2; });
  newer.reset();
  tape->backward(sum(w * 2));
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{2, 2}));
  tape.reset();
  expect_a_fresh_start();
}

TEST(TapeOrder, ATapeBelongsToItsThread) {
  Tape tape;
  const Tensor x = ones({2}).set_requires_grad();
  const Tensor loss = sum(x * x);
  std::thread([&] {
    fails("backward", "a tape must be used in the thread that made it",
          [&] { tape.backward(loss); });
  }).join();
  tape.backward(loss);
  EXPECT_EQ(x.grad().item_at({0}), 2);
}

TEST(TapeOrderDeathTest, AnotherThreadMustNotDestroyATape) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        auto tape = std::make_unique<Tape>();
        std::thread([&] { tape.reset(); }).join();
      },
      "Tape or NoGrad: must be destroyed in the thread that made it");
}

}  // namespace
}  // namespace tessera
