// Encoders with one vector per token against plain torch (golden/README.md, "folders/"), MaxSim
// against its definition, and errors.
#include "tessera/models/hugging_face/multi_vector_encoder.h"

#include <algorithm>
#include <cmath>

#include "tessera/models/hugging_face/save_folder.h"
#include "tessera/models/hugging_face/sentence_encoder.h"
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

using MultiVectorTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, MultiVectorTest, each_isa(), isa_name);

/// Compares the vectors of all texts with the entries of expected.npz that begin with `prefix`.
void expect_vectors(const MultiVectorEncoder& model, const std::string& folder,
                    const std::string& prefix) {
  const GoldenCase expected("folders/" + folder + "/expected");
  const std::vector<std::string> texts = texts_in(folder);
  const std::vector<Tensor> queries = model.encode_query(texts);
  const std::vector<Tensor> documents = model.encode_document(texts);
  const auto want = [&](const std::string& name) { return expected.array(prefix + name); };
  EXPECT_EQ(rows_of(queries), want("query_lengths").to_vector<index_t>());
  EXPECT_EQ(rows_of(documents), want("document_lengths").to_vector<index_t>());
  EXPECT_TRUE(near(concat(queries), array(want("queries")), 0, 1e-5));
  EXPECT_TRUE(near(concat(documents), array(want("documents")), 0, 1e-5));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Tensor scores = max_sim(queries[i], documents);
    const Tensor of_query = want("scores").select(0, static_cast<index_t>(i));
    EXPECT_TRUE(near(scores, array(of_query), 0, 1e-5));
    EXPECT_TRUE(same_bits(model.encode_query({texts[i]})[0], queries[i]));
    EXPECT_TRUE(same_bits(model.encode_document({texts[i]}, {.batch_size = 1})[0], documents[i]));
  }
}

TEST_P(MultiVectorTest, GivesTheVectorsOfPyLate) {
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    expect_vectors(load_multi_vector_encoder(folders() / "colbert"), "colbert", "");
  }
  set_thread_count(0);
  const std::string settings = "config_sentence_transformers.json";
  EditedFolder attended("colbert");
  attended.replace(settings, "\"attend_to_expansion_tokens\": false",
                   "\"attend_to_expansion_tokens\": true");
  expect_vectors(load_multi_vector_encoder(attended.path()), "colbert", "attended.");
  EditedFolder plain("colbert");
  plain.replace(settings, "\"do_query_expansion\": true", "\"do_query_expansion\": false");
  plain.replace(settings, "\"skiplist_words\"", "\"skiplist_words\": [], \"old\"");
  expect_vectors(load_multi_vector_encoder(plain.path()), "colbert", "plain.");
}

TEST_P(MultiVectorTest, GivesTheVectorsOfTheColbertLibrary) {
  MultiVectorEncoder model = load_multi_vector_encoder(folders() / "stanford");
  expect_vectors(model, "stanford", "");
  prepack(model);
  expect_vectors(model, "stanford", "");
}

// Absent keys and files mean the reference's defaults.
TEST(MultiVectorEncoder, HasTheDefaultsOfPyLate) {
  EditedFolder edited("colbert");
  edited.remove("config_sentence_transformers.json");
  edited.replace("1_Dense/config.json", "\"activation_function\"", "\"old\"");
  const MultiVectorEncoder model = load_multi_vector_encoder(edited.path());
  const MultiVectorEncoder as_saved = load_multi_vector_encoder(folders() / "colbert");
  EXPECT_EQ(model.multi.query_prefix, as_saved.multi.query_prefix);
  EXPECT_EQ(model.multi.document_prefix, as_saved.multi.document_prefix);
  EXPECT_EQ(model.multi.skiplist, as_saved.multi.skiplist);
  EXPECT_EQ(model.multi.query_length, 32);
  EXPECT_EQ(model.multi.document_length, 40);  // 180, but the model reads only 40
  EXPECT_TRUE(
      same_bits(model.encode_document({"the cat"})[0], as_saved.encode_document({"the cat"})[0]));
  EditedFolder unused("stanford");
  unused.remove("artifact.metadata");
  expect_refused([&] { load_multi_vector_encoder(unused.path()); },
                 "query_token_id: must be a token of the tokenizer, got '[unused0]'");
  EXPECT_EQ(vector_form(folders() / "colbert"), VectorForm::kMulti);
  EXPECT_EQ(vector_form(folders() / "stanford"), VectorForm::kMulti);
  EXPECT_EQ(vector_form(folders() / "splade"), VectorForm::kSparse);
  for (const char* folder : {"sentence", "static", "bert"}) {
    EXPECT_EQ(vector_form(folders() / folder), VectorForm::kSingle) << folder;
  }
}

TEST(MultiVectorEncoder, IsSavedAsAFolderOfPyLate) {
  for (const std::string folder : {"colbert", "stanford"}) {
    SCOPED_TRACE(folder);
    const TemporaryFolder scratch;
    save_folder(scratch.path() / "a", folders() / folder,
                load_multi_vector_encoder(folders() / folder));
    const MultiVectorEncoder loaded = load_multi_vector_encoder(scratch.path() / "a");
    expect_vectors(loaded, folder, "");
    save_folder(scratch.path() / "b", scratch.path() / "a", loaded);
    EXPECT_EQ(folder_contents(scratch.path() / "a"), folder_contents(scratch.path() / "b"));
  }
}

TEST(MultiVectorEncoder, Learns) {
  MultiVectorEncoder model = load_multi_vector_encoder(folders() / "colbert");
  nn::set_requires_grad(model.token_encoder);
  Tensor& projection = *model.projections[0].linear.weight;
  projection.set_requires_grad();
  const auto encodings = model.tokenize({"the cat sat"}, true);
  Tape tape;
  tape.backward(sum(model(model.reader.tokens(encodings[0])).select(2, 0)));
  EXPECT_GT(max(abs(projection.grad())).item(), 0);
  EXPECT_GT(max(abs(model.token_encoder.embeddings.word.weight->grad())).item(), 0);
}

TEST(MultiVectorEncoder, TokensAndLimits) {
  const MultiVectorEncoder model = load_multi_vector_encoder(folders() / "colbert");
  const std::string text =
      "the cat sat on a mat and the river runs in paris and she sat on the mat";
  EXPECT_EQ(model.tokenize({text}, true)[0].ids.size(), 11U);
  EXPECT_EQ(model.tokenize({text}, false)[0].ids.size(), 16U);
  EXPECT_EQ(model.tokenize({text}, false, {.max_length = 5})[0].ids.size(), 5U);
  EXPECT_EQ(model.tokenize({text}, true)[0].ids[1], *model.multi.query_prefix);
  EXPECT_EQ(model.tokenize({text}, false)[0].ids[1], *model.multi.document_prefix);
  EXPECT_TRUE(model.encode_query({}).empty());
  fails("MultiVectorEncoder", {"max_length must be at most 11", "got 12"},
        [&] { model.encode_query({text}, {.max_length = 12}); });
  fails("MultiVectorEncoder", {"max_length must be at least 2 with a prefix, got 1"},
        [&] { model.encode_document({text}, {.max_length = 1}); });
  fails("MultiVectorEncoder", {"prompt_name must be absent"},
        [&] { model.encode_query({text}, {.prompt_name = "query"}); });
}

// On 200 random cases.
TEST_P(MultiVectorTest, MaxSimIsItsDefinition) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto size = [&](std::uint64_t of) { return static_cast<index_t>((seed * of) % 23); };
    const index_t width = 1 + size(5);
    const Tensor query = random_tensor({1 + size(3), width}, kFloat32, seed);
    std::vector<Tensor> documents;
    for (std::uint64_t d = 0; d < 3; ++d) {
      documents.push_back(random_tensor({size(7 + d), width}, kFloat32, 1000 + seed + d));
    }
    const Tensor scores = max_sim(query, documents);
    for (std::size_t d = 0; d < documents.size(); ++d) {
      double want = 0;
      for (index_t i = 0; i < query.size(0) && documents[d].size(0) > 0; ++i) {
        double best = -HUGE_VAL;
        for (index_t j = 0; j < documents[d].size(0); ++j) {
          double product = 0;
          for (index_t c = 0; c < width; ++c) {
            product += query.item_at<double>({i, c}) * documents[d].item_at<double>({j, c});
          }
          best = std::max(best, product);
        }
        want += best;
      }
      EXPECT_NEAR(scores.select(0, static_cast<index_t>(d)).item(), want, 3e-5) << seed;
    }
  }
  EXPECT_EQ(max_sim(zeros({2, 3}), {}).shape(), Shape{0});
  fails("max_sim", {"query must have shape (n, W), got (3,)"}, [] { max_sim(zeros({3}), {}); });
  fails("max_sim", {"documents must have shape (m, 3), got (2, 4)"}, [] {
    max_sim(zeros({2, 3}), {zeros({2, 4})});
  });
}

struct FolderFault {
  std::string folder, file, from, to, words;
};

TEST(MultiVectorEncoder, MalformedFoldersGetOneLine) {
  const std::string settings = "config_sentence_transformers.json";
  const FolderFault faults[] = {
      {"colbert", settings, "\"[Q] \"", "\"[R] \"",
       settings + ": query_prefix: must be a token of the tokenizer, got '[R] '"},
      {"colbert", settings, "\"query_length\": 11", "\"query_length\": 0", "query_length"},
      {"colbert", settings, "\"document_length\": 16", "\"document_length\": \"a\"",
       "document_length"},
      {"colbert", settings, "\"skiplist_words\": [", "\"skiplist_words\": [7, ", "got 7"},
      {"colbert", settings, "\"MaxSim\"", "\"cosine\"", "must be the text 'MaxSim'"},
      {"colbert", settings, "\"ColBERT\"", "\"SparseEncoder\"", "must be the text 'ColBERT'"},
      {"colbert", settings, "\"do_query_expansion\": true", "\"do_query_expansion\": 1",
       "do_query_expansion"},
      {"colbert", "1_Dense/config.json", "\"in_features\": 12", "\"in_features\": 11",
       "in_features: must be 12"},
      {"colbert", "1_Dense/config.json", "\"out_features\": 9", "\"out_features\": 10",
       "shape must be (10, 12)"},
      {"colbert", "1_Dense/config.json", "token_embeddings", "sentence_embedding",
       "must be the text 'token_embeddings'"},
      {"colbert", "1_Dense/config.json", "linear.Identity", "linear.Bilinear", "Bilinear"},
      {"colbert", "modules.json", "pylate.models.Dense.Dense", "pylate.models.Other",
       "must be a module of sentence_transformers"},
      {"colbert", "modules.json", "pylate.models.Dense.Dense",
       "sentence_transformers.models.Pooling",
       "[1].type: modules must be a Transformer and Dense modules...got 'Pooling'"},
      {"colbert", "modules.json", "\"2_Dense\",\n  \"type\": \"pylate.models.Dense.Dense",
       "\"2_Dense\",\n  \"type\": \"sentence_transformers.models.Pooling", "must be Dense here"},
      {"colbert", "modules.json", "models.Transformer", "models.BoW", "must be Transformer"},
      {"colbert", "tokenizer_config.json", "{", "{\"padding_side\": \"left\",",
       "padding_side must be right for query expansion, got left"},
      {"stanford", "artifact.metadata", "\"query_token_id\": \"cat\"", "\"query_token_id\": \"x9\"",
       "query_token_id: must be a token of the tokenizer"},
      {"stanford", "artifact.metadata", "\"cosine\"", "\"l2\"", "must be the text 'cosine'"},
      {"stanford", "artifact.metadata", "{", "[", "artifact.metadata"},
      {"stanford", "config.json", "HF_ColBERT", "BertModel",
       "colbert_linear.safetensors, got 'Transformer'"},
  };
  for (const FolderFault& fault : faults) {
    SCOPED_TRACE(fault.file + ": " + fault.from + " -> " + fault.to);
    const EditedFolder edited(fault.folder);
    edited.replace(fault.file, fault.from, fault.to);
    expect_refused([&] { load_multi_vector_encoder(edited.path()); }, fault.words);
  }
  EditedFolder no_projection("stanford");
  no_projection.leave_out({"linear.weight"});
  expect_refused([&] { load_multi_vector_encoder(no_projection.path()); },
                 "tensor 'linear.weight': must have shape (W, 12), got none");
  expect_refused([] { load_sentence_encoder(folders() / "stanford"); },
                 "HF_ColBERT; call load_multi_vector_encoder()");
  EditedFolder as_sentences("colbert");
  as_sentences.remove("config_sentence_transformers.json");
  expect_refused([&] { load_sentence_encoder(as_sentences.path()); },
                 "must be Pooling, got 'Dense'; call load_multi_vector_encoder()");
}

}  // namespace
}  // namespace tessera::models
