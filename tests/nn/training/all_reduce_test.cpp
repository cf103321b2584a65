// The sums of a batch on several processes, which are threads here.
#include "tessera/nn/training/detail/all_reduce.h"

#include "tessera/nn/nn.h"
#include "tests/nn/training/training_net.h"
#include "tests/support/support.h"
#include "tests/support/test.h"
#include "tests/support/thread_communicator.h"

namespace tessera::nn {
namespace {

using namespace test;

/// Gradients of shards, one of which is undefined: sizes below and above the number of processes.
TEST(AllReduce, AddsInTheOrderOfTheTree) {
  Parameters variables;
  for (const index_t count : {0, 1, 4, 1000}) {
    variables.push_back({str_cat("w", count), Tensor::empty({count}, kFloat64)});
  }
  variables.push_back({"never", Tensor::empty({2, 3}, kFloat32)});
  variables.push_back({"matrix", Tensor::empty({5, 7}, kFloat32)});
  const auto gradient_of = [&](std::size_t variable, index_t shard) {
    const Tensor& like = variables[variable].tensor;
    const bool is_defined = variable != 4 && (static_cast<index_t>(variable) + shard) % 4 != 0;
    const auto seed = static_cast<std::uint64_t>(shard);
    return is_defined ? random_tensor(like.shape(), like.dtype(), seed) : Tensor();
  };
  const auto tree_of = [&](index_t shards, index_t begin, index_t end) {
    ShardTree tree(shards);
    for (index_t shard = begin; shard < end; ++shard) {
      ShardSums sums = {.totals = {1.0 / static_cast<double>(3 + shard), 1, 2}, .gradients = {}};
      for (std::size_t i = 0; i < variables.size(); ++i) {
        sums.gradients.push_back(gradient_of(i, shard));
      }
      tree.add(shard, std::move(sums));
    }
    return tree;
  };
  for (const index_t shards : {5, 6, 8, 11, 13}) {
    const ShardSums want = tree_of(shards, 0, shards).total();
    for (const index_t size : {1, 2, 3, 5}) {
      SCOPED_TRACE(str_cat(shards, " shards, ", size, " processes"));
      run_processes(size, [&](Communicator& processes) {
        const Share share = share_of(shards, processes);
        const ShardSums got =
            all_reduce(processes, variables, shards, tree_of(shards, share.begin, share.end));
        EXPECT_EQ(got.totals.loss, want.totals.loss);
        EXPECT_EQ(got.totals.correct, want.totals.correct);
        for (std::size_t i = 0; i < variables.size(); ++i) {
          ASSERT_EQ(got.gradients[i].defined(), want.gradients[i].defined()) << i;
          if (i == 4) continue;
          EXPECT_TRUE(same_bits(got.gradients[i], want.gradients[i])) << variables[i].name;
        }
      });
    }
  }
}

/// Sends each text of one call without its last byte.
class Cutting final : public Communicator {
 public:
  Cutting(Communicator& whole, int call) : whole_(&whole), call_(call) {}
  index_t rank() const override { return whole_->rank(); }
  index_t size() const override { return whole_->size(); }
  std::vector<std::string> all_to_all(std::span<const std::string_view> parts) override {
    std::vector<std::string_view> sent(parts.begin(), parts.end());
    if (call_-- == 0) {
      for (std::string_view& part : sent) part.remove_suffix(part.empty() ? 0 : 1);
    }
    return whole_->all_to_all(sent);
  }

 private:
  Communicator* whole_;
  int call_;
};

TEST(AllReduce, TextsOfWrongSizesAreRefused) {
  const Parameters variables = {{"w", Tensor::empty({10}, kFloat32)}};
  for (const int call : {0, 1}) {
    SCOPED_TRACE(call);
    run_processes(2, [&](Communicator& processes) {
      Cutting cutting(processes, processes.rank() == 1 ? call : -1);
      ShardTree mine(2);
      mine.add(processes.rank(), {.totals = {1, 1, 1}, .gradients = {ones({10})}});
      EXPECT_TRUE(throws("all_reduce", {"a text must have at least ", "same calls"},
                         [&] { all_reduce(cutting, variables, 2, std::move(mine)); }));
    });
  }
  run_processes(2, [&](Communicator& processes) {
    test::Net net;
    const EvalScope scope(net);
    const test::Points points(20, 3);
    Cutting cutting(processes, processes.rank() == 1 ? 0 : -1);
    EXPECT_TRUE(throws("evaluate", {"all ranks must send 72 bytes together, got 71"}, [&] {
      detail::evaluate(points.examples(net), {.batch_size = 8}, &cutting);
    }));
  });
}

}  // namespace
}  // namespace tessera::nn
