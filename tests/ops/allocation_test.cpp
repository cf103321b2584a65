// Inference and the steps of optimisers allocate no memory after the first call: shapes are inside
// their handles, and storage is recycled.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tessera/models/encoder.h"
#include "tessera/models/token_encoder.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/module.h"
#include "tessera/nn/prepack.h"
#include "tessera/nn/training/clip_grad.h"
#include "tessera/nn/training/lr_scheduler.h"
#include "tessera/nn/training/optim.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/random.h"
#include "tessera/tensor/storage.h"

namespace {

std::atomic<long> allocations = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace tessera {
namespace {

TEST(Allocation, TheCounterCounts) {
  const long before = allocations;
  ::operator delete(::operator new(8));  // not `delete new`, which a compiler may remove
  EXPECT_EQ(allocations, before + 1);
}

/// Expects that `call` allocates nothing, neither objects nor blocks of the system.
template <class Call>
void expect_no_allocations(const Call& call) {
  const long before = allocations;
  const index_t blocks_before = memory_stats().system_allocations;
  for (int i = 0; i < 3; ++i) call();
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(memory_stats().system_allocations, blocks_before);
}

void check_encoder(const models::EncoderLayerOptions& layer) {
  models::Encoder encoder({.layers = models::repeat_layer(layer, 3), .final_norm = true});
  nn::eval(encoder);
  nn::set_requires_grad(encoder);  // no cost if no tape records
  const Tensor x = randn({2, 33, 64});
  const AttentionMask mask = causal_mask() & length_mask({33, 20});
  encoder(x, mask);
  encoder(x, mask);  // the first call packs weights, in blocks that had held activations
  expect_no_allocations([&] { encoder(x, mask); });
}

TEST(Allocation, AnEncoderAllocatesNothingOnceWarm) {
  check_encoder({.d_model = 64, .nhead = 4, .dim_feedforward = 128, .norm_first = true});
}

TEST(Allocation, NorDoesOneOfTodaysLayers) {
  check_encoder({.d_model = 64,
                 .nhead = 4,
                 .dim_feedforward = 96,
                 .activation = nn::Activation::kGelu,
                 .norm_first = true,
                 .bias = false,
                 .norm = nn::NormKind::kRMSNorm,
                 .gated = true,
                 .window = 8,
                 .rotary = {{.base = 10000}}});
}

TEST(Allocation, NorDoesAModelOfTokensOrItsPrepackedCopy) {
  models::TokenEncoder encoder(
      {.vocab_size = 50,
       .encoder = {.layers = models::repeat_layer({.d_model = 64, .nhead = 4}, 2)},
       .positions = models::Positions::kLearned,
       .max_positions = 40,
       .embedding_norm = true});
  nn::eval(encoder);
  models::TokenEncoder prepacked = encoder;
  nn::prepack(prepacked, {WeightFormat::kInt8});
  const Tensor ids = zeros({3, 20}, kInt64);
  for (const models::Tokens& tokens :
       {models::Tokens{ids}, models::Tokens{ids, from_vector<index_t>({20, 3, 7})}}) {
    for (const models::TokenEncoder* model : {&encoder, &prepacked}) {
      (*model)(tokens);
      (*model)(tokens);
      expect_no_allocations([&] { (*model)(tokens); });
    }
  }
}

TEST(Allocation, AnOptimizerAllocatesNothingAfterItsFirstStep) {
  nn::Linear linear(64, 200);
  nn::set_requires_grad(linear);
  nn::AdamW optimizer(nn::split_weight_decay(linear));
  nn::LRScheduler scheduler(optimizer, nn::cosine_schedule(2, 10));
  Tape tape;
  tape.backward(sum(linear(randn({3, 64}))));
  const auto step = [&] {
    nn::clip_grad_norm(optimizer.parameters(), 0.5);
    optimizer.step();
    scheduler.step();
  };
  step();
  expect_no_allocations(step);
}

}  // namespace
}  // namespace tessera
