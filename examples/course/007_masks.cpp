// Masks: the keys to which a query may attend, and the effect of the others.
//
//     weights_i = softmax_j(score_ij + m_ij),    m_ij = 0 if query i attends to key j, else -inf
//
//   007_masks [FOLDER]     prints; draws FOLDER/007_masks.svg
//
// Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.3; Beltagy et al.,
// "Longformer", 2020, section 3.1.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <tessera/models/encoder.h>
#include <tessera/tensor/ops/attention.h>
#include <tessera/tensor/ops/rearrange.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

constexpr index_t kTokens = 6;
constexpr double kInf = std::numeric_limits<double>::infinity();

const std::vector<std::string> kWords = {"the", "cat", "sat", "down", "[PAD]", "[PAD]"};
const std::vector<std::string> kNames = {"t", "c", "s", "d", "-", "-"};  // the same, shorter
// The tokens above. One head of width 2.
const Matrix kQueries = {{1, 0}, {0, 1}, {1, 1}, {-1, 0.5}, {0.5, 2}, {2, -1}};
const Matrix kKeys = {{1, 1}, {2, 0}, {0, 1}, {-1, 1}, {3, 3}, {-2, 4}};
const Matrix kValues = {{1, 0}, {0, 1}, {1, 1}, {2, -1}, {9, 9}, {-9, 9}};

/// The scaled scores of one query with all keys, plus `masked` at the keys from `length` on.
Matrix scores_of(index_t query, index_t length, double masked) {
  Matrix scores(1, kTokens);
  for (index_t j = 0; j < kTokens; ++j) {
    for (index_t c = 0; c < 2; ++c) scores(0, j) += kQueries(query, c) * kKeys(j, c);
    scores(0, j) /= std::sqrt(2.0);
    if (j >= length) scores(0, j) += masked;
  }
  return scores;
}

Tensor batch_of_one(const Matrix& m) {
  return Tensor(m).unsqueeze(0);
}

/// The library's attention of these tokens.
AttentionResult attend(const AttentionMask& mask, const Matrix& values = kValues) {
  return attention(batch_of_one(kQueries), batch_of_one(kKeys), batch_of_one(values), mask,
                   {.need_weights = AttentionRequest{}});
}

// ---- step 1: which query attends to which key ----

/// A mask as a rule by hand, and the library's mask.
struct Rule {
  std::string name;
  std::function<bool(index_t query, index_t key)> allows;
  AttentionMask mask;
};

std::vector<Rule> rules() {
  using Place = index_t;
  return {
      {"padding after 4", [](Place, Place j) { return j < 4; }, length_mask({4})},
      {"causal", [](Place i, Place j) { return j <= i; }, causal_mask()},
      {"window 1", [](Place i, Place j) { return std::abs(i - j) <= 1; }, window_mask(1)},
      {"causal and window 2", [](Place i, Place j) { return j <= i && i - j <= 2; },
       causal_mask() & window_mask(2)},
  };
}

/// 1 if the rule allows query i to attend to key j. **Errors**: the library's mask is different.
Matrix map_of(const Rule& rule) {
  const Matrix weights = attend(rule.mask).weights;
  Matrix map(kTokens, kTokens);
  for (index_t i = 0; i < kTokens; ++i) {
    for (index_t j = 0; j < kTokens; ++j) {
      map(i, j) = rule.allows(i, j) ? 1 : 0;
      require(rule.allows(i, j) == (weights(i, j) > 0), "007_masks", rule.name,
              ": the library's mask must be equal, got a difference for query ", i, " and key ", j);
    }
  }
  return map;
}

void show_maps() {
  std::printf("Step 1: One row per query, one column per key, @ if the query attends to the key\n");
  std::string titles;
  for (const Rule& rule : rules()) titles += rule.name + std::string(21 - rule.name.size(), ' ');
  std::vector<std::string> lines(kTokens);
  for (const Rule& rule : rules()) {
    const Matrix map = map_of(rule);
    for (index_t i = 0; i < kTokens; ++i) {
      std::string& line = lines[static_cast<std::size_t>(i)];
      for (index_t j = 0; j < kTokens; ++j) line += map(i, j) > 0 ? "@ " : ". ";
      line += std::string(9, ' ');
    }
  }
  const auto print = [](const std::string& line) {
    std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  };
  print(titles);
  for (const std::string& line : lines) print(line);
  std::printf("The library's weights are 0 at the dots and above 0 at the marks.\n\n");
}

void draw_maps(const std::string& folder) {
  Picture picture = {
      .description = "Four masks of six queries and six keys; blue: the query attends to the key",
      .panels = {}};
  for (const Rule& rule : rules()) {
    picture.panels.push_back(
        {.title = rule.name, .values = map_of(rule), .columns = kNames, .rows = kWords});
  }
  write_picture(folder, "007_masks.svg", picture);
}

// ---- step 2: exactly 0 ----

void exactly_zero() {
  std::printf(
      "Step 2: The second token, \"cat\", among four tokens and two positions of padding\n");
  show("Its scores", scores_of(1, kTokens, 0));
  show("softmax without a mask: padding takes most of it",
       softmax_of_rows(scores_of(1, kTokens, 0)));
  show("The scores with -inf at padding", scores_of(1, 4, -kInf));
  const Matrix masked = softmax_of_rows(scores_of(1, 4, -kInf));
  show("softmax: exp(-inf) is exactly 0", masked);
  std::printf("What two paddings weigh together if a number is added to their scores\n");
  for (const double number : {-1.0, -10.0, -100.0, -1000.0, -kInf}) {
    const Matrix weights = softmax_of_rows(scores_of(1, 4, number));
    std::printf("%6g: %.2e\n", number, weights(0, 4) + weights(0, 5));
  }
  std::printf("\n");
  const Matrix library = attend(length_mask({4})).weights.select(1, 1);
  show("The library's weights with length_mask({4})", library);
  check_close("weights", masked, library);
}

void nothing_of_the_value() {
  Matrix values = kValues;
  values(4, 0) = values(5, 1) = std::nan("");
  const Matrix weights = softmax_of_rows(scores_of(1, 4, -kInf));
  Matrix sum(1, 2);
  for (index_t j = 0; j < kTokens; ++j) {
    for (index_t c = 0; c < 2; ++c) sum(0, c) += weights(0, j) * values(j, c);
  }
  std::printf("Step 3: Padding whose values are NaN\n");
  show("By the formula: 0 * NaN is NaN", sum);
  show("By the library: as if it were not there",
       attend(length_mask({4}), values).output.select(1, 1));
}

// ---- step 4: no key left ----

void nobody() {
  std::printf("Step 4: A query without keys\n");
  show("-1e9 instead of -inf: as if nothing were masked", softmax_of_rows(scores_of(1, 0, -1e9)));
  show("-inf by the formula: exp(-inf - -inf) = exp(NaN)", softmax_of_rows(scores_of(1, 0, -kInf)));
  const AttentionResult result = attend(length_mask({0}));
  show("The library's weights: zeros", result.weights.select(1, 1));
  show("and its output", result.output.select(1, 1));
}

// ---- step 5: padding changes no bit ----

/// Whether two contiguous float32 tensors are bitwise equal.
bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.untyped_data(), b.untyped_data(),
                     static_cast<std::size_t>(a.count()) * sizeof(float)) == 0;
}

void same_bits_with_padding() {
  std::printf("Step 5: The same sequence without and with padding\n");
  const double a = 0.1;
  const double b = 0.2;
  const double c = 0.3;
  std::printf("(0.1 + 0.2) + 0.3 = %.17g\n0.1 + (0.2 + 0.3) = %.17g\n", (a + b) + c, a + (b + c));
  std::printf("((0.1 + 0.2) + 0.3) + 0 = %.17g\n", ((a + b) + c) + 0);

  Rng rng(6);
  const auto report = [](const char* what, index_t padding, bool is_same) {
    std::printf("%s and %lld of padding: %s\n", what, static_cast<long long>(padding),
                is_same ? "bitwise equal to the result without" : "DIFFERENT");
  };
  const Tensor rows = randn({1, 4, 16}, kFloat32, rng);
  const Tensor attended = attention(rows, rows, rows).output;
  for (const index_t padding : {1, 2, 60, 1000}) {
    const Tensor keys = concat({rows, full({1, padding, 16}, std::nan(""))}, 1);
    report("attention, 4 keys", padding,
           same_bits(attention(rows, keys, keys, length_mask({4})).output, attended));
  }
  const models::Encoder encoder(
      {.layers = models::repeat_layer(
           {.d_model = 16, .nhead = 2, .dim_feedforward = 32, .dropout = 0}, 2)},
      rng);
  const Tensor tokens = randn({1, 4, 16}, kFloat32, rng);
  const Tensor expected = encoder(tokens);
  for (const index_t padding : {1, 2, 60, 1000}) {
    const Tensor garbage = full({1, padding, 16}, std::nan(""));
    const Tensor padded = encoder(concat({tokens, garbage}, 1), length_mask({4}));
    report("an encoder of two layers, 4 tokens", padding,
           same_bits(padded.slice(1, 0, 4).contiguous(), expected));
  }
  std::printf("\n");
}

// ---- step 6: three forms of one mask ----

void polarity() {
  std::printf("Step 6: One mask by three names, and the same output\n");
  const Tensor is_token = tensor({{true, true, true, true, false, false}});
  const Tensor is_padding = tensor({{false, false, false, false, true, true}});
  show("length_mask({4})", attend(length_mask({4})).output.select(1, 1));
  show("keep_keys_mask(is_token)", attend(keep_keys_mask(is_token)).output.select(1, 1));
  show("ignore_keys_mask(is_padding)", attend(ignore_keys_mask(is_padding)).output.select(1, 1));
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("007_masks", argc, argv, "[FOLDER]", [&] {
    show_maps();
    exactly_zero();
    nothing_of_the_value();
    nobody();
    same_bits_with_padding();
    polarity();
    if (argc > 1) draw_maps(argv[1]);
  });
}
