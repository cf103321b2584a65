// Every step of attention's ladder computes attention, in the memory that it requests, for sizes
// that fill no tile; from step 5 on with the same bits as the library.
#include "bench/ladders.h"

#include "tessera/tensor/ops/attention.h"
#include "tessera/tensor/random.h"
#include "tests/support/attention_oracle.h"
#include "tests/support/support.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

constexpr double kTolerance = 2e-6;  // the tolerance of the benchmark
constexpr int kFirstWithLibraryBits = 5;

/// (tokens, heads, width) each, and in the form for the op.
struct Inputs {
  index_t tokens, heads, width;
  Tensor q = uniform(-2, 2, {tokens, heads, width});
  Tensor k = uniform(-2, 2, {tokens, heads, width});
  Tensor v = uniform(-1, 1, {tokens, heads, width});

  static Tensor heads_first(const Tensor& x) { return x.unsqueeze(0).transpose(1, 2); }
};

/// The output, (tokens, heads, width), in memory between guards, like the step's buffers.
std::vector<float> attend(const bench::AttentionStep& step, const Inputs& x) {
  bench::AttentionTask task = {};
  task.heads = x.heads;
  task.tokens = x.tokens;
  task.width = x.width;
  task.workers = 2;
  Guarded<float> room(step.room(task));
  std::fill_n(room.data(), step.room(task), NAN);
  Guarded<float> out(x.q.count());
  task.q = x.q.data<float>();
  task.k = x.k.data<float>();
  task.v = x.v.data<float>();
  task.out = out.data();
  task.room = room.data();
  step.run(task);
  EXPECT_TRUE(room.intact());
  EXPECT_TRUE(out.intact());
  return out.values();
}

using AttentionLadderTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionLadderTest, each_isa(), isa_name);

TEST_P(AttentionLadderTest, EveryStepIsAttention) {
  for (const auto& size : {std::pair<index_t, index_t>{1, 16}, {7, 64}, {130, 40}}) {
    const index_t tokens = size.first;
    const index_t width = size.second;
    manual_seed(static_cast<std::uint64_t>(tokens));
    const Inputs x = {tokens, 3, width};
    const Tensor q = Inputs::heads_first(x.q);
    const Tensor k = Inputs::heads_first(x.k);
    const Tensor v = Inputs::heads_first(x.v);
    const double scale = 1 / std::sqrt(static_cast<double>(width));
    const Array want = naive_attention(q, k, v, {}, scale).output;
    const Tensor library = attention(q, k, v).output.transpose(1, 2).contiguous();
    for (int step = 0; step < bench::kAttentionSteps; ++step) {
      SCOPED_TRACE(::testing::Message() << "step " << step << ", T " << tokens << ", d " << width);
      const std::vector<float> got = attend(bench::attention_ladder().steps[step], x);
      double worst = 0;
      for_each_index({tokens, 3, width}, [&](const Dims& at) {
        const auto e = static_cast<std::size_t>((at[0] * 3 + at[1]) * width + at[2]);
        const double error =
            std::abs(static_cast<double>(got[e]) - want.at({0, at[1], at[0], at[2]}));
        worst = std::isnan(error) ? INFINITY : std::max(worst, error);
      });
      EXPECT_LE(worst, kTolerance);
      if (step >= kFirstWithLibraryBits) {
        EXPECT_TRUE(std::equal(got.begin(), got.end(), library.data<float>()));
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
