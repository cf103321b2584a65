// The three outputs of bge-m3 against plain torch (golden/README.md, "folders/"), and errors.
#include <limits>

#include "tessera/models/hugging_face/multi_vector_encoder.h"
#include "tessera/models/hugging_face/save_folder.h"
#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/models/hugging_face/sparse_encoder.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/rearrange.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"
#include "tests/models/hugging_face/text_vectors.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;

using M3Test = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, M3Test, each_isa(), isa_name);

void expect_vectors(const MultiVectorEncoder& model) {
  const GoldenCase expected("folders/m3/expected");
  const std::vector<std::string> texts = texts_in("m3");
  const std::vector<Tensor> vectors = model.encode_document(texts);
  EXPECT_EQ(rows_of(vectors), expected.array("rows").to_vector<index_t>());
  EXPECT_TRUE(near(concat(vectors), array(expected.array("vectors")), 0, 1e-5));
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const Tensor query = model.encode_query({texts[i]}, {.batch_size = 1})[0];
    EXPECT_TRUE(same_bits(query, vectors[i]));
    const Tensor scores = expected.array("scores").select(0, static_cast<index_t>(i));
    EXPECT_TRUE(near(model.similarity(query, vectors), array(scores), 0, 1e-5));
  }
}

void expect_weights(const SparseEncoder& model) {
  const Tensor want = GoldenCase("folders/m3/expected").array("weights");
  const std::vector<std::string> texts = texts_in("m3");
  const std::vector<SparseVector> vectors = model.encode_document(texts);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const Tensor row = dense_row(vectors[i], want.size(1));
    EXPECT_TRUE(near(row, array(want.select(0, static_cast<index_t>(i))), 0, 1e-5));
    EXPECT_TRUE(model.encode_query({texts[i]}, {.batch_size = 1})[0] == vectors[i]);
    const auto tokens = model.reader.tokens(
        model.reader.tokenizer->encode(texts[i], model.reader.encode_options({})));
    EXPECT_TRUE(same_bits(std::get<TokenWeights>(model.model)(tokens).select(0, 0), row));
  }
}

TEST_P(M3Test, GivesTheVectorsOfBgeM3) {
  MultiVectorEncoder multi = load_multi_vector_encoder(folders() / "m3");
  SparseEncoder sparse = load_sparse_encoder(folders() / "m3");
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    expect_vectors(multi);
    expect_weights(sparse);
  }
  set_thread_count(0);
  prepack(multi);
  prepack(sparse);
  expect_vectors(multi);
  expect_weights(sparse);
  const Tensor single = load_sentence_encoder(folders() / "m3").encode(texts_in("m3"));
  EXPECT_TRUE(near(single, array(GoldenCase("folders/m3/expected").array("single")), 0, 1e-5));
  EXPECT_EQ(vector_form(folders() / "m3"), VectorForm::kSingle);
}

TEST(M3, LayersMayHaveAnyWidth) {
  EditedFolder edited("m3");
  const auto layer = load_safetensors(folders() / "m3" / "colbert_linear.safetensors").tensors;
  edited.save_as("colbert_linear.safetensors",
                 {{"weight", layer.at("weight").slice(0, 0, 4)},
                  {"bias", layer.at("bias").slice(0, 0, 4).to(kFloat64)}});
  edited.save_as("sparse_linear.safetensors", layer);
  EXPECT_EQ(load_multi_vector_encoder(edited.path()).encode_query({"the cat"})[0].size(1), 4);
  expect_refused(
      [&] { load_sparse_encoder(edited.path()); },
      "sparse_linear.safetensors: tensor 'weight': shape must be (1, 12) by config.json, got "
      "(9, 12)");
}

TEST(M3, IsSavedAsItWas) {
  const TemporaryFolder scratch;
  const auto at = [&](const char* name) { return scratch.path() / name; };
  const Tensor single = load_sentence_encoder(folders() / "m3").encode(texts_in("m3"));
  save_folder(at("multi"), folders() / "m3", load_multi_vector_encoder(folders() / "m3"));
  save_folder(at("both"), at("multi"), load_sparse_encoder(at("multi")));
  save_folder(at("again"), at("both"), load_multi_vector_encoder(at("both")));
  EXPECT_TRUE(folder_contents(at("again")) == folder_contents(at("both")));
  expect_vectors(load_multi_vector_encoder(at("both")));
  expect_weights(load_sparse_encoder(at("both")));
  EXPECT_TRUE(same_bits(load_sentence_encoder(at("both")).encode(texts_in("m3")), single));
  save_folder(at("single"), at("both"), load_sentence_encoder(at("both")));
  EXPECT_TRUE(folder_contents(at("single")) == folder_contents(at("both")));
  MultiVectorEncoder model = load_multi_vector_encoder(folders() / "m3");
  model.multi.query_prefix = 7;
  fails("save_folder", {"all settings must be bge-m3's"},
        [&] { save_folder(at("other"), folders() / "m3", model); });
  SparseEncoder sparse = load_sparse_encoder(folders() / "m3");
  sparse.max_active_dims = 2;
  nn::convert(std::get<TokenWeights>(sparse.model), kFloat64);
  EXPECT_EQ(sparse.encode_query({"the cat sat on a mat"})[0].ids.size(), 2U);
  save_folder(at("few"), folders() / "m3", sparse);
  EXPECT_EQ(load_sparse_encoder(at("few")).encode_query({"the cat sat on a mat"})[0].ids.size(),
            2U);
  EXPECT_EQ(std::filesystem::file_size(at("few") / "sparse_linear.safetensors"),
            std::filesystem::file_size(at("both") / "sparse_linear.safetensors"));
  sparse.max_active_dims = 0;
  save_folder(at("all"), at("few"), sparse);
  EXPECT_EQ(load_sparse_encoder(at("all")).max_active_dims, 0);
  std::get<TokenWeights>(sparse.model).skipped = {};
  fails("save_folder", {"TokenWeights must skip all special tokens"},
        [&] { save_folder(at("other"), folders() / "m3", sparse); });
  EXPECT_FALSE(std::filesystem::exists(at("other")));
}

// The gradient of the layer is the sum of the vectors at the largest weights above 0.
TEST(M3, Learns) {
  SparseEncoder model = load_sparse_encoder(folders() / "m3");
  auto& weights = std::get<TokenWeights>(model.model);
  nn::convert(weights, kFloat64);
  nn::set_requires_grad(weights);
  for (const std::string& text : texts_in("m3")) {
    const Tokens tokens = model.reader.tokens(model.reader.tokenizer->encode(text));
    Tape tape;
    const Tensor all = weights(tokens);
    tape.backward(sum(all));
    const NoGrad not_recorded;
    const Tensor vectors = weights.token_encoder(tokens).select(0, 0);
    const Tensor own = weights.of_tokens(tokens).select(0, 0);
    Tensor want = zeros({12}, kFloat64);
    for (index_t id = 0; id < all.size(1); ++id) {
      const double largest = all.item_at<double>({0, id});
      for (index_t t = 0; t < own.size(0) && largest > 0; ++t) {
        const bool is_own = tokens.ids.item_at<index_t>({0, t}) == id;
        if (is_own && own.item_at<double>({t}) == largest) want += vectors.select(0, t);
      }
    }
    EXPECT_TRUE(near(weights.linear.weight->grad().select(0, 0), array(want), 0, 1e-9)) << text;
    nn::zero_grad(weights);
  }
}

TEST(M3, PicklesAndWrongLayersGetOneLine) {
  for (const std::string name : {"sparse_linear", "colbert_linear"}) {
    const auto load = [&](const EditedFolder& edited) {
      if (name == "sparse_linear") load_sparse_encoder(edited.path());
      if (name == "colbert_linear") load_multi_vector_encoder(edited.path());
    };
    const auto refused = [&](const EditedFolder& edited, const std::string& words) {
      expect_refused([&] { load(edited); }, words);
    };
    const std::string file = name + ".safetensors";
    EditedFolder edited("m3");
    edited.write(name + ".pt", "PK");
    load(edited);  // the safetensors file counts
    edited.remove(file);
    refused(edited,
            name + ".pt: must be a safetensors file, got a Python pickle; save it as " + file);
    edited.remove(name + ".pt");
    refused(edited, "or the folder must have " + file + ", got");
    edited.write(file, "{}");
    refused(edited, file);
    const Tensor row = ones({1, 12}), one = ones({1});
    edited.save_as(file, {{"weight", row}});
    refused(edited, file + ": tensor 'bias' not found");
    edited.save_as(file, {{"bias", one}});
    refused(edited, file + ": tensor 'weight'");
    edited.save_as(file, {{"weight", ones({1, 11})}, {"bias", one}});
    refused(edited, file + ": tensor 'weight': ...(1, 11)");
    edited.save_as(file, {{"weight", ones({0, 12})}, {"bias", ones({0})}});
    refused(edited, file + ": tensor 'weight': ...(0, 12)");
    edited.save_as(file, {{"weight", row}, {"bias", ones({2})}});
    refused(edited, file + ": tensor 'bias': shape must be (1,)");
    edited.save_as(file,
                   {{"weight", row}, {"bias", full({1}, std::numeric_limits<float>::infinity())}});
    refused(edited, file + ": tensor 'bias': weights must be finite, got inf at (0,)");
    edited.save_as(file, {{"weight", ones({1, 12}, kInt64)}, {"bias", one}});
    refused(edited, "got integers");
  }
}

}  // namespace
}  // namespace tessera::models
