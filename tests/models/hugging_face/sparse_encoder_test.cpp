// Sparse vectors of texts against plain torch (golden/README.md, "folders/"), products against
// their definition, and errors.
#include "tessera/models/hugging_face/sparse_encoder.h"

#include <map>

#include "tessera/models/hugging_face/save_folder.h"
#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"
#include "tests/models/hugging_face/text_vectors.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;

using SparseTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, SparseTest, each_isa(), isa_name);

TEST_P(SparseTest, GivesTheWeightsOfSplade) {
  const std::vector<std::string> texts = texts_in("splade");
  const GoldenCase expected("folders/splade/expected");
  for (const std::string pooling : {"max", "sum"}) {
    for (const std::string steps : {"once", "twice"}) {
      SCOPED_TRACE(pooling + ", " + steps);
      EditedFolder edited("splade");
      edited.replace("1_SpladePooling/config.json", "\"max\"", "\"" + pooling + "\"");
      if (steps == "twice") {
        edited.replace("1_SpladePooling/config.json", "\"relu\"", "\"log1p_relu\"");
      }
      const SparseEncoder model = load_sparse_encoder(edited.path());
      const Tensor& want = expected.array(pooling + "." + steps);
      const auto all = model.encode_document(texts);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const Tensor row = dense_row(all[i], want.size(1));
        EXPECT_TRUE(near(row, array(want.select(0, static_cast<index_t>(i))), 0, 2e-5));
        EXPECT_TRUE(model.encode_query({texts[i]}, {.batch_size = 1})[0] == all[i]);
      }
    }
  }
}

TEST(SparseEncoder, DoesNotDependOnThreads) {
  const std::vector<std::string> texts = texts_in("splade");
  SparseEncoder model = load_sparse_encoder(folders() / "splade");
  const auto want = model.encode_document(texts);
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    EXPECT_TRUE(model.encode_document(texts, {.batch_size = threads}) == want);
  }
  set_thread_count(0);
  prepack(model);
  EXPECT_TRUE(model.encode_document(texts) == want);
  EditedFolder plain("splade");
  plain.remove("modules.json");
  EXPECT_TRUE(load_sparse_encoder(plain.path()).encode_document(texts) == want);
  EditedFolder few("splade");
  few.replace("config_sentence_transformers.json", "{", "{\"max_active_dims\": 3,");
  const auto three = load_sparse_encoder(few.path()).encode_document(texts);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(three[i] == largest(want[i], 3));
}

TEST(SparseEncoder, IsSavedAsItWas) {
  const std::vector<std::string> texts = texts_in("splade");
  const TemporaryFolder scratch;
  SparseEncoder model = load_sparse_encoder(folders() / "splade");
  auto& splade = std::get<Splade>(model.model);
  splade.sum_pooling = splade.double_log = true;
  model.max_active_dims = 5;
  const auto want = model.encode_document(texts);
  save_folder(scratch.path() / "a", folders() / "splade", model);
  const SparseEncoder loaded = load_sparse_encoder(scratch.path() / "a");
  EXPECT_TRUE(loaded.encode_document(texts) == want);
  save_folder(scratch.path() / "b", scratch.path() / "a", loaded);
  EXPECT_EQ(folder_contents(scratch.path() / "a"), folder_contents(scratch.path() / "b"));
}

TEST(SparseEncoder, Learns) {
  SparseEncoder model = load_sparse_encoder(folders() / "splade");
  auto& splade = std::get<Splade>(model.model);
  nn::set_requires_grad(splade);
  Tape tape;
  tape.backward(sum(splade(model.reader.tokens(model.reader.tokenizer->encode("the cat sat")))));
  EXPECT_GT(max(abs(splade.model.bias.grad())).item(), 0);
}

/// A random vector of some of `size` ids.
SparseVector random_vector(index_t size, std::uint64_t seed) {
  const Tensor drawn = random_tensor({size}, kFloat32, seed, 0, 1);
  SparseVector vector;
  for (index_t id = 0; id < size; ++id) {
    const float weight = drawn.data<float>()[id];
    if (weight > 0.3F) continue;
    vector.ids.push_back(id);
    vector.weights.push_back(weight);
  }
  return vector;
}

// On 200 random cases.
TEST(SparseEncoder, ProductsAreTheirDefinition) {
  for (index_t i = 0; i < 200; ++i) {
    const auto seed = static_cast<std::uint64_t>(2 * i);
    const SparseVector a = random_vector(1 + i % 50, seed), b = random_vector(1 + i % 37, seed + 1);
    std::map<index_t, float> weights;
    for (std::size_t k = 0; k < b.ids.size(); ++k) weights[b.ids[k]] = b.weights[k];
    float want = 0;
    for (std::size_t k = 0; k < a.ids.size(); ++k) {
      if (weights.contains(a.ids[k])) want += a.weights[k] * weights[a.ids[k]];
    }
    EXPECT_EQ(dot(a, b), want);
    EXPECT_EQ(dot(b, a), want);
  }
  EXPECT_EQ(dot({}, {{1}, {2}}), 0);
}

TEST(SparseEncoder, TiesGoToLowerIds) {
  const SparseVector vector = {{1, 4, 5, 9}, {2, 3, 2, 2}};
  EXPECT_TRUE(largest(vector, 2) == (SparseVector{{1, 4}, {2, 3}}));
  EXPECT_TRUE(largest(vector, 3) == (SparseVector{{1, 4, 5}, {2, 3, 2}}));
  EXPECT_TRUE(largest(vector, 9) == vector);
  EXPECT_TRUE(largest(vector, 0) == SparseVector{});
  fails("largest", {"count must be at least 0, got -1"}, [&] { largest(vector, -1); });
}

TEST(SparseEncoder, MalformedFoldersGetOneLine) {
  struct FileFault {
    std::string file, from, to, words;
  };
  const std::string pooling = "1_SpladePooling/config.json";
  const FileFault faults[] = {
      {pooling, "\"max\"", "\"mean\"", "pooling_strategy: must be max or sum, got the text 'mean'"},
      {pooling, "\"relu\"", "\"gelu\"", "activation_function: must be relu or log1p_relu"},
      {pooling, "{", "[", pooling},
      {"modules.json", "models.MLMTransformer", "models.Transformer", "must be MLMTransformer"},
      {"modules.json", "models.SpladePooling", "models.Pooling", "must be SpladePooling"},
      {"config_sentence_transformers.json", "\"dot\"", "\"cosine\"", "must be the text 'dot'"},
      {"config_sentence_transformers.json", "\"SparseEncoder\"", "\"ColBERT\"",
       "must be the text 'SparseEncoder'"},
      {"config_sentence_transformers.json", "{", "{\"max_active_dims\": -1,", "max_active_dims"},
      {"config.json", "\"vocab_size\": 92", "\"vocab_size\": 91", "shape must be"},
  };
  for (const FileFault& fault : faults) {
    SCOPED_TRACE(fault.file + ": " + fault.from + " -> " + fault.to);
    const EditedFolder edited("splade");
    edited.replace(fault.file, fault.from, fault.to);
    expect_refused([&] { load_sparse_encoder(edited.path()); }, fault.words);
  }
  EditedFolder no_head("splade");
  no_head.leave_out({"cls."});
  expect_refused([&] { load_sparse_encoder(no_head.path()); }, "cls.predictions");
  EditedFolder as_sentences("splade");
  as_sentences.remove("config_sentence_transformers.json");
  expect_refused([&] { load_sentence_encoder(as_sentences.path()); },
                 "got 'MLMTransformer'; call load_sparse_encoder()");
}

}  // namespace
}  // namespace tessera::models
