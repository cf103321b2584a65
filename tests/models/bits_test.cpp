// The promise of equal bits: an output does not depend on the number of threads, its batch, right
// padding, the memory layout of its inputs, training mode, or AVX2 versus AVX-512.
//
// One digest per subject represents all of these together, and is recorded here; the tests below
// check each part of the promise separately, in more detail.
#include <iostream>

#include "tessera/models/models.h"
#include "tests/support/digest.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

::testing::AssertionResult equal_bits(const Tensor& got, const Tensor& want) {
  auto result = same_bits(got, want);
  if (!result) result << "; digest " << digest(got) << ", wanted " << digest(want);
  return result;
}

constexpr index_t kBatch = 8;
constexpr index_t kTokens = 131;  // more than one block of queries, and of keys
constexpr index_t kPadding = 37;
constexpr index_t kWidth = 36;
constexpr index_t kHeads = 3;

/// A function of a batch of sequences and its mask.
struct Subject {
  std::string name;
  std::function<Tensor(const Tensor& x, const AttentionMask& mask)> run;
  bool padded_by_masks = false;  // whether it takes masks
  bool is_module = false;        // whether it has a mode

  Tensor operator()(const Tensor& x) const { return run(x, {}); }
};

/// The mode of modules. Dropout is off in both; in training its probability is 0.
enum class Mode { kEval, kTrain };

models::Encoder make_encoder(bool norm_first, DType dtype, Mode mode) {
  Rng rng(3);
  models::Encoder encoder({.layers = models::repeat_layer({.d_model = kWidth,
                                                           .nhead = kHeads,
                                                           .dim_feedforward = 52,
                                                           .dropout = 0,
                                                           .activation = nn::Activation::kGelu,
                                                           .norm_first = norm_first},
                                                          2),
                           .final_norm = norm_first},
                          rng);
  nn::set_training(encoder, mode == Mode::kTrain);
  nn::convert(encoder, dtype);
  return encoder;
}

/// The layers of modern encoders: rotary positions, a window, RMS norms, a gated feed-forward
/// network, biases by distance.
models::Encoder make_modern_encoder(DType dtype, Mode mode) {
  Rng rng(3);
  models::EncoderLayerOptions whole = {.d_model = kWidth,
                                       .nhead = kHeads,
                                       .dim_feedforward = 40,
                                       .dropout = 0,
                                       .activation = nn::Activation::kGelu,
                                       .norm_first = true,
                                       .bias = false,
                                       .norm = nn::NormKind::kRMSNorm,
                                       .gated = true,
                                       .rotary = {{.base = 1000}}};
  models::EncoderLayerOptions local = whole;
  local.activation = nn::Activation::kSilu;
  local.window = 20;
  local.rotary = {{.width = 8, .interleaved = true}};
  models::EncoderLayerOptions biased = whole;
  biased.norm = nn::NormKind::kLayerNorm;
  biased.rotary = {};
  biased.relative_position = nn::DistanceBuckets{};
  models::Encoder encoder({.layers = {whole, local, biased}, .final_norm = true}, rng);
  nn::set_training(encoder, mode == Mode::kTrain);
  nn::convert(encoder, dtype);
  return encoder;
}

/// Layers whose weights are all in int8, after a linear layer that makes them wide enough.
Subject make_int8_encoder() {
  Rng rng(3);
  nn::Linear wide(kWidth, 96, rng);
  models::Encoder encoder({.layers = models::repeat_layer({.d_model = 96,
                                                           .nhead = 3,
                                                           .dim_feedforward = 72,
                                                           .activation = nn::Activation::kGelu,
                                                           .gated = true,
                                                           .rotary = {{.base = 1000}}},
                                                          1)},
                          rng);
  nn::eval(encoder);
  nn::prepack(wide, {WeightFormat::kInt8});
  nn::prepack(encoder, {WeightFormat::kInt8});
  return {"int8 encoder",
          [=](const Tensor& x, const AttentionMask& mask) { return encoder(wide(x), mask); }, true};
}

std::vector<Subject> subjects(DType dtype, Mode mode = Mode::kEval) {
  const Tensor wide = random_tensor({kWidth, 1101}, dtype, 9);
  const Tensor tall = random_tensor({1101, 20}, dtype, 10);  // a sum of more than one block
  const Tensor weight = random_tensor({52, kWidth}, dtype, 11);
  const Tensor bias = random_tensor({52}, dtype, 12);
  const Tensor scale = random_tensor({kWidth}, dtype, 13);
  const Tensor shift = random_tensor({kWidth}, dtype, 14);
  const Tensor projection = random_tensor({3 * kWidth, kWidth}, dtype, 15, -0.5, 0.5);
  nn::Rotary rotary({}, kWidth / kHeads);
  Rng rng(4);
  nn::RelativePositionBias relative({.num_heads = kHeads}, rng);
  nn::convert(rotary, dtype);
  nn::convert(relative, dtype);
  std::vector<Subject> all = {
      {"matmul",
       [=](const Tensor& x, const AttentionMask&) { return matmul(matmul(x, wide), tall); }},
      {"linear", [=](const Tensor& x,
                     const AttentionMask&) { return linear(x, weight, bias, Activation::kGelu); }},
      {"gated_linear",
       [=](const Tensor& x, const AttentionMask&) {
         return gated_linear(x, weight, bias, Activation::kGelu);
       }},
      {"attention",
       [](const Tensor& x, const AttentionMask& mask) {
         const Tensor heads = nn::split_heads(x, kHeads);
         return nn::merge_heads(attention(heads, heads, heads, mask).output);
       },
       true},
      {"window attention",
       [](const Tensor& x, const AttentionMask& mask) {
         const Tensor heads = nn::split_heads(x, kHeads);
         return nn::merge_heads(attention(heads, heads, heads, mask & window_mask(30)).output);
       },
       true},
      {"rotary, biased attention",
       [=](const Tensor& x, const AttentionMask& mask) {
         const Tensor qkv = rotary_linear(x, projection, {}, rotary.columns(2 * kHeads, dtype));
         const auto heads = [&](index_t part) {
           return nn::split_heads(qkv.slice(2, part * kWidth, (part + 1) * kWidth), kHeads);
         };
         const Tensor near = relative(x.size(1), x.size(1));
         return nn::merge_heads(
             attention(heads(0), heads(1), heads(2), mask & additive_mask(near)).output);
       },
       true},
      {"layer_norm",
       [=](const Tensor& x, const AttentionMask&) { return layer_norm(x, scale, shift); }},
      {"rms_norm", [=](const Tensor& x, const AttentionMask&) { return rms_norm(x, scale); }},
      {"softmax", [](const Tensor& x, const AttentionMask&) { return softmax(x); }},
      {"post-norm encoder", make_encoder(false, dtype, mode), true, true},
      {"pre-norm encoder", make_encoder(true, dtype, mode), true, true},
      {"modern encoder", make_modern_encoder(dtype, mode), true, true},
  };
  if (dtype == kFloat64) return all;
  nn::Linear prepacked(kWidth, 52, rng);
  nn::prepack(prepacked);
  all.push_back(
      {"prepacked linear", [=](const Tensor& x, const AttentionMask&) { return prepacked(x); }});
  nn::Linear int8(kWidth, 70, rng);
  nn::prepack(int8, {WeightFormat::kInt8});
  all.push_back({"int8 linear", [=](const Tensor& x, const AttentionMask&) {
                   return int8(x, Activation::kRelu);
                 }});
  all.push_back(make_int8_encoder());
  return all;
}

Tensor batch_of_sequences(DType dtype, index_t tokens = kTokens) {
  return random_tensor({kBatch, tokens, kWidth}, dtype, 21);
}

using BitsTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, BitsTest, each_isa(), isa_name);

/// Calls `body(subject, dtype)` for every subject in both dtypes.
template <class Body>
void for_each_subject(const Body& body) {
  for (DType dtype : {kFloat32, kFloat64}) {
    for (const Subject& subject : subjects(dtype)) {
      SCOPED_TRACE(str_cat(subject.name, ", ", dtype));
      body(subject, dtype);
    }
  }
}

/// One way to compute the outputs of the same sequences.
struct Way {
  index_t padding;
  bool strided;
  Mode mode;
  index_t batch;
  int threads;
};

std::ostream& operator<<(std::ostream& out, const Way& way) {
  return out << way.threads << " threads, batch " << way.batch << ", padding " << way.padding
             << (way.strided ? ", strided" : ", contiguous")
             << (way.mode == Mode::kTrain ? ", training" : ", inference");
}

/// Calls `body(way, x)` for all combinations, the plainest first, with the input that they share.
/// Training mode and float64 use fewer thread counts, because of emulated machines.
template <class Body>
void for_each_way(DType dtype, const std::vector<Mode>& modes, const Body& body) {
  const Tensor sequences = batch_of_sequences(dtype, kTokens + kPadding);
  const std::vector<int> few = {1, 4};
  const std::vector<int> all = {1, 2, 3, 4, 7, 8};
  for (index_t padding : {index_t{0}, kPadding}) {
    for (bool strided : {false, true}) {
      const Tensor values = sequences.slice(1, 0, kTokens + padding);
      const Tensor x = strided ? layouts_of(values)[2].tensor : values.clone();
      EXPECT_EQ(x.is_contiguous(), !strided);
      for (Mode mode : modes) {
        for (index_t batch : {kBatch, index_t{1}}) {
          for (int threads : dtype == kFloat32 && mode == Mode::kEval ? all : few) {
            body(Way{padding, strided, mode, batch, threads}, x);
          }
        }
      }
    }
  }
}

/// The outputs for all sequences, without their padding.
Tensor outputs(const Subject& subject, const Tensor& x, const Way& way) {
  set_thread_count(way.threads);
  AttentionMask mask;
  if (subject.padded_by_masks && way.padding > 0) {
    mask = length_mask(std::vector<index_t>(static_cast<std::size_t>(way.batch), kTokens));
  }
  std::vector<Tensor> parts;
  for (index_t b = 0; b < kBatch; b += way.batch) {
    parts.push_back(subject.run(x.slice(0, b, b + way.batch), mask).slice(1, 0, kTokens));
  }
  set_thread_count(0);
  return concat(parts);
}

/// The digest of a subject's outputs, in float32 and float64.
const std::map<std::string, WrittenDigests> kDigests = {
    {"matmul",
     {{"c09026b6fcc12e90", "c273ba55502df523"}, {"c974e28e50e9e159", "e909aac8d3249650"}}},
    {"linear",
     {{"a88dfc674666e307", "efebedd128fcab8e"}, {"db7f020de773285c", "9e4b8528a99199a1"}}},
    {"attention",
     {{"8721adf50ff4ca78", "79f361f164ebe181"}, {"59bb6dc17dff7b79", "e333324d90397705"}}},
    {"window attention",
     {{"2d0c162784a32134", "9a6c74cba5310a88"}, {"4b51f2c2c8ef96bb", "5f1bec2ca1f42608"}}},
    {"rotary, biased attention",
     {{"58441d641eeb58ed", "0b9e18a4fda4ad13"}, {"806172a5ba87be10", "2d7bb947279f8b24"}}},
    {"layer_norm",
     {{"5eb67cf2e6a691cb", "6e59fb642bab4f3d"}, {"4a8c7c5c916af352", "ed11afba4e94319a"}}},
    {"gated_linear",
     {{"baeb44a8020647bf", "bcce1391ccecf2d2"}, {"0ec4bfc85f31c2e1", "2a56484b95a675d4"}}},
    {"rms_norm",
     {{"b58af8678d3a5149", "be1aab0d5de572c3"}, {"0ef8cfb7ffa34bd0", "30f94f75dacba606"}}},
    {"softmax",
     {{"8ed5743285332bbc", "733007fddbbf964d"}, {"ef4430ce1f14fd54", "3615ac8a6505e156"}}},
    {"post-norm encoder",
     {{"e4c5dddce25b36f3", "9a42132a4e835805"}, {"6076465fd99dd39a", "de189023d34b6393"}}},
    {"pre-norm encoder",
     {{"66353c661616823e", "9db2d8a6c49ed71f"}, {"945049dd843c706d", "a78adb378191cd59"}}},
    {"prepacked linear", {{"a5e9c1ca46b40295", ""}, {"7ecd92b9fc8dafe3", ""}}},
    {"int8 linear", {{"e557c98768bcb4d3", ""}, {"e557c98768bcb4d3", ""}}},
    {"int8 encoder", {{"8d65259c3a747db6", ""}, {"227b029282869148", ""}}},
    {"modern encoder",
     {{"e903fc718918de95", "386a210435d89d48"}, {"83afd371be66a506", "9f29abbb24772335"}}},
};

TEST_P(BitsTest, OneDigestForEveryWay) {
  for (DType dtype : {kFloat32, kFloat64}) {
    const std::vector<Subject> inference = subjects(dtype, Mode::kEval);
    const std::vector<Subject> training = subjects(dtype, Mode::kTrain);
    for (std::size_t i = 0; i < inference.size(); ++i) {
      SCOPED_TRACE(str_cat(inference[i].name, ", ", dtype));
      std::string plain;
      const std::vector<Mode> modes = inference[i].is_module
                                          ? std::vector<Mode>{Mode::kEval, Mode::kTrain}
                                          : std::vector<Mode>{Mode::kEval};
      for_each_way(dtype, modes, [&](const Way& way, const Tensor& x) {
        const Subject& subject = way.mode == Mode::kTrain ? training[i] : inference[i];
        const std::string got = digest(outputs(subject, x, way));
        if (plain.empty()) plain = got;
        EXPECT_EQ(got, plain) << way;
      });
      EXPECT_EQ(plain, kDigests.at(inference[i].name).of(dtype)) << "all ways, as written down";
      std::cout << plain << "  " << dtype << "  " << inference[i].name << "\n";
    }
  }
}

TEST_P(BitsTest, NeitherTheBatchNorTheLayoutMatters) {
  for_each_subject([](const Subject& subject, DType dtype) {
    const Tensor x = batch_of_sequences(dtype);
    const Tensor together = subject(x);
    for (const Layout& layout : layouts_of(x)) {
      EXPECT_TRUE(equal_bits(subject(layout.tensor), together)) << layout.name;
    }
    for (index_t b : {0, 3, 7}) {
      EXPECT_TRUE(equal_bits(subject(x.slice(0, b, b + 1)), together.slice(0, b, b + 1)))
          << "sequence " << b;
      if (!subject.name.ends_with("attention")) {  // split_heads needs a batch
        EXPECT_TRUE(equal_bits(subject(x.select(0, b)), together.select(0, b))) << "unbatched";
      }
    }
    if (subject.padded_by_masks) return;
    // Without attention, a token does not depend on the other tokens.
    for (index_t t = 0; t < kTokens; t += 7) {
      EXPECT_TRUE(equal_bits(subject(x.select(1, t)), together.select(1, t))) << "token " << t;
    }
  });
}

/// The forms of a mask for padding after the first kTokens keys.
std::vector<std::pair<std::string, AttentionMask>> padding_masks() {
  const index_t all = kTokens + kPadding;
  Tensor ignore = zeros({kBatch, all}, kBool);
  ignore.slice(1, kTokens).fill(1);
  Tensor bias = zeros({all, all});
  bias.slice(1, kTokens).fill(-kInf);
  return {{"lengths", length_mask(std::vector<index_t>(kBatch, kTokens))},
          {"ignored keys", ignore_keys_mask(ignore)},
          {"additive", additive_mask(bias)}};
}

TEST_P(BitsTest, RightPaddingDoesNotMatter) {
  for_each_subject([](const Subject& subject, DType dtype) {
    const Tensor padded = batch_of_sequences(dtype, kTokens + kPadding);
    const Tensor x = padded.slice(1, 0, kTokens);
    for (const AttentionMask& also : {AttentionMask(), causal_mask()}) {
      const Tensor want = subject.run(x, also);
      for (const auto& [name, mask] : padding_masks()) {
        EXPECT_TRUE(equal_bits(subject.run(padded, mask & also).slice(1, 0, kTokens), want))
            << name;
      }
    }
  });
}

TEST_P(BitsTest, Int8HasOneDigestWithAndWithoutDotProducts) {
  const Tensor x = batch_of_sequences(kFloat32, kTokens + kPadding).slice(1, 0, kTokens);
  for (const Subject& subject : subjects(kFloat32)) {
    if (!subject.name.starts_with("int8")) continue;
    for (const bool dots : {true, false}) {
      set_dot_products(dots);
      EXPECT_EQ(digest(subject(x)), kDigests.at(subject.name).of(kFloat32))
          << subject.name << (dot_products() ? ", dot products" : "");
    }
    set_dot_products(true);
  }
}

}  // namespace
}  // namespace tessera::test
