#include "tessera/nn/training/batch_sampler.h"

#include "tessera/nn/training/checkpoint.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using test::fails;
using Ids = std::vector<index_t>;

Ids random_lengths(index_t count) {
  Rng rng(11);
  Ids lengths;
  for (index_t i = 0; i < count; ++i) lengths.push_back(1 + rng.next_u32() % 40);
  return lengths;
}

Ids copy(std::span<const index_t> batch) {
  return {batch.begin(), batch.end()};
}

std::vector<Ids> next_batches(BatchSampler& sampler, index_t count) {
  std::vector<Ids> batches;
  for (index_t i = 0; i < count; ++i) batches.push_back(copy(sampler.next()));
  return batches;
}

/// The number of elements in the batches' tensors, including padding.
index_t padded_size(const std::vector<Ids>& batches, const Ids& lengths) {
  index_t size = 0;
  for (const Ids& batch : batches) {
    index_t longest = 0;
    for (const index_t i : batch) {
      longest = std::max(longest, lengths[static_cast<std::size_t>(i)]);
    }
    size += longest * std::ssize(batch);
  }
  return size;
}

TEST(BatchSampler, GivesEveryExampleOnceAnEpoch) {
  for (const bool shuffle : {true, false}) {
    for (const index_t count : {1, 7, 8, 9, 100}) {
      for (const index_t chunk : {1, 3, 50}) {
        BatchSampler sampler(
            random_lengths(count),
            {.batch_size = 8, .seed = 5, .shuffle = shuffle, .batches_per_chunk = chunk});
        EXPECT_EQ(sampler.batches_per_epoch(), (count + 7) / 8);
        for (index_t epoch = 0; epoch < 3; ++epoch) {
          EXPECT_EQ(sampler.epoch(), epoch);
          Ids all;
          for (const Ids& batch : next_batches(sampler, sampler.batches_per_epoch())) {
            EXPECT_TRUE(!batch.empty() && batch.size() <= 8);
            all.insert(all.end(), batch.begin(), batch.end());
          }
          std::sort(all.begin(), all.end());
          Ids wanted(static_cast<std::size_t>(count));
          std::iota(wanted.begin(), wanted.end(), index_t{0});
          EXPECT_EQ(all, wanted);
        }
      }
    }
  }
}

TEST(BatchSampler, PadsLittleAndYetShuffles) {
  const Ids lengths = random_lengths(2000);
  const index_t real = std::accumulate(lengths.begin(), lengths.end(), index_t{0});
  BatchSampler sampler(lengths, {.batch_size = 20, .seed = 1});
  const auto first = next_batches(sampler, 100);
  const auto second = next_batches(sampler, 100);
  EXPECT_LT(padded_size(first, lengths), real * 105 / 100);
  EXPECT_NE(first, second);
  // Batches are not sorted by length: the next one is longer as often as shorter.
  int longer = 0;
  for (std::size_t i = 1; i < first.size(); ++i) {
    longer += lengths[static_cast<std::size_t>(first[i][0])] >
                      lengths[static_cast<std::size_t>(first[i - 1][0])]
                  ? 1
                  : 0;
  }
  EXPECT_GT(longer, 25);
  EXPECT_LT(longer, 75);
  // In a different epoch, an example has other companions in its batch.
  const auto companions = [](const std::vector<Ids>& batches) {
    for (Ids batch : batches) {
      std::sort(batch.begin(), batch.end());
      if (std::binary_search(batch.begin(), batch.end(), 0)) return batch;
    }
    return Ids{};
  };
  EXPECT_NE(companions(first), companions(second));
}

TEST(BatchSampler, WithoutShufflingSortsByLengthAlone) {
  BatchSampler sampler({3, 1, 3, 2, 1}, {.batch_size = 2, .shuffle = false});
  const std::vector<Ids> wanted = {{1, 4}, {3, 0}, {2}};
  EXPECT_EQ(next_batches(sampler, 3), wanted);
  EXPECT_EQ(next_batches(sampler, 3), wanted);
}

TEST(BatchSampler, DependsOnTheSeed) {
  const auto order = [](std::uint64_t seed) {
    BatchSampler sampler(random_lengths(100), {.batch_size = 8, .seed = seed});
    return next_batches(sampler, 20);
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(BatchSampler, GoesOnFromASavedStateAtEveryBatch) {
  const test::TemporaryFolder folder;
  const Ids lengths = random_lengths(50);
  const BatchSamplerOptions options = {.batch_size = 8, .seed = 3, .batches_per_chunk = 2};
  for (index_t cut = 0; cut < 20; ++cut) {
    BatchSampler original(lengths, options);
    next_batches(original, cut);
    Checkpoint checkpoint;
    checkpoint.add("data", original.state());
    save_checkpoint(folder.path() / "c", checkpoint);

    BatchSampler resumed(lengths, {.batch_size = 8, .seed = 99, .batches_per_chunk = 2});
    resumed.next();
    resumed.set_state(load_checkpoint(folder.path() / "c").rng("data"));
    EXPECT_EQ(resumed.epoch(), cut / 7);
    EXPECT_EQ(resumed.position(), cut % 7);
    EXPECT_EQ(next_batches(resumed, 20), next_batches(original, 20)) << "cut after " << cut;
  }
}

TEST(BatchSampler, CanBeCopied) {
  BatchSampler original(random_lengths(50), {.batch_size = 8});
  original.next();
  auto copied = std::make_unique<BatchSampler>(original);
  BatchSampler other = *copied;
  copied.reset();
  EXPECT_EQ(next_batches(other, 10), next_batches(original, 10));
}

TEST(BatchSampler, RefusesWhatCannotBe) {
  fails("BatchSampler", "no examples", [] { BatchSampler sampler({}); });
  fails("BatchSampler", "batch_size", [] { BatchSampler sampler({1}, {.batch_size = 0}); });
  fails("BatchSampler", "batches_per_chunk",
        [] { BatchSampler sampler({1}, {.batches_per_chunk = 0}); });
  BatchSampler sampler({1, 2, 3}, {.batch_size = 2});
  fails("BatchSampler", {"position must be below 2", "got 2"},
        [&] { sampler.set_state({.seed = 0, .stream = 0, .position = 2}); });
}

}  // namespace
}  // namespace tessera::nn
