// Models used from the caller's threads: an OpenMP region, and several std::threads.
#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

#include "tessera/models/encoder.h"
#include "tessera/nn/module.h"
#include "tessera/nn/prepack.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tests/support/oracle.h"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace tessera::test {
namespace {

/// An encoder with enough work for several threads. Each call makes an equal one, with no weight
/// packed yet.
models::Encoder make_encoder() {
  Rng rng(5);
  models::Encoder encoder(
      {.layers = models::repeat_layer({.d_model = 48, .nhead = 3, .dim_feedforward = 96}, 2)}, rng);
  nn::eval(encoder);
  return encoder;
}

class ConcurrencyTest : public ::testing::Test {
 protected:
  void TearDown() override { set_thread_count(0); }

  const Tensor x_ = random_tensor({4, 80, 48}, kFloat32, 6);
  const AttentionMask mask_ = length_mask({80, 3, 41, 64});
  const Tensor want_ = make_encoder()(x_, mask_);
};

#if defined(_OPENMP)
TEST_F(ConcurrencyTest, InsideAForeignRegionAModelIsSerial) {
  constexpr int kCallers = 3;
  const models::Encoder encoder = make_encoder();
  std::vector<Tensor> outputs(kCallers);
  std::vector<int> counts(kCallers);
  std::vector<int> strangers(kCallers);  // pieces of work that ran in a different thread
  const int levels = omp_get_max_active_levels();
  omp_set_max_active_levels(4);  // OpenMP itself would nest
#pragma omp parallel num_threads(kCallers)
  {
    const auto caller = static_cast<std::size_t>(omp_get_thread_num());
    set_thread_count(4);
    counts[caller] = thread_count();
    const auto self = std::this_thread::get_id();
    const auto check = [&](index_t, index_t) {
      if (std::this_thread::get_id() != self) ++strangers[caller];
    };
    kernels::parallel_for(1 << 20, 1000, check);
    kernels::parallel_tasks(100, 4, check);
    outputs[caller] = encoder(x_, mask_);
    set_thread_count(0);
  }
  omp_set_max_active_levels(levels);
  EXPECT_EQ(counts, std::vector<int>(kCallers, 1));
  EXPECT_EQ(strangers, std::vector<int>(kCallers, 0));
  for (const Tensor& output : outputs) EXPECT_TRUE(same_bits(output, want_));
}
#endif

TEST_F(ConcurrencyTest, SeveralThreadsCallOneModel) {
  constexpr int kCallers = 4;
  constexpr int kCalls = 3;
  for (bool prepacked : {false, true}) {
    models::Encoder ours = make_encoder();
    if (prepacked) nn::prepack(ours);
    const models::Encoder encoder = ours;
    std::vector<Tensor> inputs, wanted;
    for (int caller = 0; caller < kCallers; ++caller) {
      inputs.push_back(x_ * (1.0 + caller));
      wanted.push_back(make_encoder()(inputs.back(), mask_));
    }
    std::vector<std::vector<Tensor>> outputs(kCallers);
    std::latch start(kCallers);  // all use the weights before they are packed
    std::vector<std::thread> threads;
    for (int caller = 0; caller < kCallers; ++caller) {
      threads.emplace_back([&, caller] {
        const auto own = static_cast<std::size_t>(caller);
        set_thread_count(1 + caller % 3);
        start.arrive_and_wait();
        for (int call = 0; call < kCalls; ++call) {
          outputs[own].push_back(encoder(inputs[own], mask_));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      ASSERT_EQ(outputs[i].size(), static_cast<std::size_t>(kCalls));
      for (const Tensor& output : outputs[i]) EXPECT_TRUE(same_bits(output, wanted[i]));
    }
  }
}

}  // namespace
}  // namespace tessera::test
