// Hooks change steps as PyTorch does with the same weights; see golden/make_interventions.py.
#include "tessera/models/hugging_face/hugging_face.h"
#include "tessera/nn/hook.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/ops/ops.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

class Interventions : public ::testing::TestWithParam<const char*> {
 protected:
  Interventions()
      : pretrained_(GetParam()),
        golden_(std::string("interventions_") + GetParam()),
        model_(models::load_encoder(models::ModelFolder(pretrained_.folder()))),
        chosen_(golden_.array("texts").to_vector<index_t>()) {
    nn::set_requires_grad(model_);
  }

  /// The replacement of a hook point by `kind`.
  static Tensor changed(const std::string& kind, const nn::HookPoint& point, const Tensor& vector) {
    if (kind == "zero") return point.value * 0;
    if (kind == "add") return point.value + vector;
    if (kind == "patch") {
      nn::HookPoint patched = point;
      for (index_t i = 0; i < point.batch(); ++i) patched.value = patched.with_token(i, 1, vector);
      return patched.value;
    }
    if (kind == "head") {
      return slice_scatter(point.value, zeros_like(point.value.slice(1, 0, 1)), 1, 0, 1);
    }
    Tensor cut = zeros_like(point.value);
    cut.select(1, 0).select(2, 1).fill(-kInf);
    return cut;
  }

  /// The two texts as one padded batch.
  models::Tokens batch() const {
    models::Tokens all = pretrained_.batch(0);
    const Tensor rows = from_vector(chosen_);
    all.lengths = index_select(all.lengths, 0, rows);
    all.ids = index_select(all.ids, 0, rows).slice(1, 0, max(all.lengths).item<index_t>());
    if (all.type_ids.defined())
      all.type_ids = index_select(all.type_ids, 0, rows).slice(1, 0, all.ids.size(1));
    return all;
  }

  /// The output's real rows, text by text.
  Tensor rows_of(const models::Tokens& tokens) const {
    return unpad_rows(model_(tokens), tokens.lengths.defined()
                                          ? tokens.lengths
                                          : full({tokens.ids.size(0)},
                                                 static_cast<double>(tokens.ids.size(1)), kInt64));
  }

  /// Sums of a gradient cancel: in float32, PyTorch's also lose more than 1e-5 here.
  double tolerance() const {
    return model_.embeddings.word.weight->dtype() == kFloat64 ? 1e-6 : 1e-4;
  }

  void expect_golden(const std::string& name, const std::function<Tensor()>& run, Tensor vector) {
    const auto want = [&](const std::string& what) { return array(golden_.array(name + what)); };
    Tape tape;
    const Tensor output = run();
    ASSERT_TRUE(near(output, want("/output"), 0, 1e-5));
    const Tensor loss = sum(output * golden_.array("loss_weights"));
    Tensor& table = *model_.embeddings.word.weight;
    if (loss.requires_grad()) tape.backward(loss);
    const Tensor words = table.grad().defined() ? sum(table.grad(), {0}) : zeros({table.size(1)});
    EXPECT_TRUE(near(words, want("/gradient.words"), tolerance(), tolerance()));
    if (vector.defined()) {
      EXPECT_TRUE(near(vector.grad(), want("/gradient.vector"), tolerance(), tolerance()));
    }
    nn::zero_grad(model_);
    if (vector.defined()) vector.zero_grad();
  }

  void expect_all(DType dtype);

  Pretrained pretrained_;
  GoldenCase golden_;
  models::TokenEncoder model_;
  std::vector<index_t> chosen_;
};

TEST_P(Interventions, AreThoseOfPyTorch) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    nn::convert(model_, dtype);
    expect_all(dtype);
  }
}

void Interventions::expect_all(DType dtype) {
  int count = 0;
  for (const auto& [entry, output] : golden_.group("")) {
    if (!entry.ends_with("/output")) continue;
    const std::string name = entry.substr(0, entry.size() - std::string("/output").size());
    SCOPED_TRACE(name);
    ++count;
    const std::size_t slash = name.find('/');
    const std::string kind = name.substr(slash + 1);
    Tensor vector;
    if (golden_.has(name + "/vector")) {
      vector = golden_.array(name + "/vector").to(dtype).clone();
      vector.set_requires_grad();
    }
    int calls = 0;
    const nn::Hook hook(name.substr(0, slash), [&](const nn::HookPoint& point) {
      ++calls;
      return changed(kind, point, vector);
    });
    expect_golden(
        name, [&] { return rows_of(batch()); }, vector);
    EXPECT_EQ(calls, 1);
    expect_golden(
        name,
        [&] {
          std::vector<Tensor> each;
          for (const index_t i : chosen_) each.push_back(rows_of(pretrained_.text(i)));
          return concat(each);
        },
        vector);
  }
  EXPECT_EQ(count, 50);
}

TEST(HooksOfFamilies, AnIdentityAtEachStepChangesNoBit) {
  for (const std::string& name : folders_with("hidden")) {
    const Pretrained pretrained(name);
    models::TokenEncoder model = models::load_encoder(models::ModelFolder(pretrained.folder()));
    nn::set_requires_grad(model);
    const models::Tokens tokens = pretrained.batch(1);
    const auto run = [&] {
      Tape tape;
      const Tensor output = model(tokens);
      tape.backward(sum(output * output));
      std::vector<Tensor> found = {output.detach()};
      nn::for_each_parameter(model, [&](const std::string&, const Tensor& p) {
        if (p.grad().defined()) found.push_back(p.grad().clone());
      });
      nn::zero_grad(model);
      return found;
    };
    const std::vector<Tensor> untouched = run();
    for (const auto& [at, shape] : nn::hook_points([&] { model(tokens); })) {
      const nn::Hook hook(at, [](const nn::HookPoint& s) { return s.value; });
      const std::vector<Tensor> found = run();
      ASSERT_EQ(found.size(), untouched.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_TRUE(same_bits(found[i], untouched[i])) << name << ", " << at << ", " << i;
      }
    }
  }
}

TEST(HooksOfTexts, SeeEachTextOnceOnTwoThreads) {
  const models::SentenceEncoder model = models::load_sentence_encoder(folders() / "sentence");
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i) {
    texts.push_back(std::string("the ") + std::string(static_cast<std::size_t>(i % 7), 'a'));
  }
  set_thread_count(2);
  const Tensor untouched = model.encode(texts, {.batch_size = 8});
  std::map<index_t, int> seen;
  const nn::Hook hook("pooled", [&](const nn::HookPoint& point) {
    EXPECT_EQ(std::ssize(point.texts), point.value.size(0));
    for (const index_t text : point.texts) ++seen[text];
  });
  EXPECT_TRUE(same_bits(model.encode(texts, {.batch_size = 8}), untouched));
  set_thread_count(0);
  EXPECT_EQ(seen.size(), 200U);
  for (const auto& [text, count] : seen) EXPECT_EQ(count, 1) << text;
}

INSTANTIATE_TEST_SUITE_P(Families, Interventions, ::testing::Values("bert", "nomic_bert"));

}  // namespace
}  // namespace tessera::test
