// Positions: sines and rotations give attention the order of its tokens.
//
//     p(pos, 2k) = sin(pos f_k), p(pos, 2k + 1) = cos(pos f_k),   f_k = 10000^(-2k / D)
//     R(pos): each pair (a, b) of a head's columns rotated by the angle pos f_k
//
//   005_positions [FOLDER]     prints; draws FOLDER/005_*.svg
//
// Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.5; Su et al., "RoFormer",
// 2021, section 3.
#include <cmath>
#include <cstdio>
#include <string>

#include <tessera/models/encoder_layer.h>
#include <tessera/nn/module.h>
#include <tessera/nn/positional_encoding.h>
#include <tessera/nn/rotary.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

constexpr double kBase = 10000;

/// The angle by which pair k of a width rotates from one position to the next.
double frequency(index_t k, index_t width) {
  return std::pow(kBase, -2 * static_cast<double>(k) / static_cast<double>(width));
}

/// The table of sines and cosines, one row per position.
Matrix sinusoids(index_t positions, index_t width) {
  return matrix_of(positions, width, [&](index_t p, index_t j) {
    const double angle = static_cast<double>(p) * frequency(j / 2, width);
    return j % 2 == 0 ? std::sin(angle) : std::cos(angle);
  });
}

/// Row i of x, rotated for position first + i; columns k and k + width / 2 are a pair.
Matrix rotated(const Matrix& x, index_t first) {
  const index_t half = x.columns() / 2;
  Matrix y(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    for (index_t k = 0; k < half; ++k) {
      const double angle = static_cast<double>(first + i) * frequency(k, x.columns());
      y(i, k) = x(i, k) * std::cos(angle) - x(i, k + half) * std::sin(angle);
      y(i, k + half) = x(i, k + half) * std::cos(angle) + x(i, k) * std::sin(angle);
    }
  }
  return y;
}

/// The same row, `count` times.
Matrix repeated(const Matrix& row, index_t count) {
  return matrix_of(count, row.columns(), [&](index_t, index_t j) { return row(0, j); });
}

constexpr index_t kFirst[] = {0, 7, 30};  // the first of two positions

/// Row d, column c: row kFirst[c] of a times row kFirst[c] + d of b.
Matrix products_at_distances(const Matrix& a, const Matrix& b) {
  const Matrix all = product(a, transposed(b));
  return matrix_of(6, 3, [&](index_t d, index_t c) { return all(kFirst[c], kFirst[c] + d); });
}

// The projections of a token: a query and a key.
const Matrix kQuery = {{1, 0.5, 0, -1}};
const Matrix kKey = {{0.5, 1, 1, 0}};

void sines() {
  const Matrix table = sinusoids(6, 8);
  show("Step 1: Six positions, D = 8, by the formula", table);
  const nn::PositionalEncoding library({.d_model = 8});
  const Matrix of_library = library(zeros({6, 8}, kFloat64));
  check_close("nn::PositionalEncoding", table, of_library);

  std::printf("Step 2: 24 positions, a row each, D = 64; from -1 ' ' to 1 '@'\n%s\n",
              terminal_picture(sinusoids(24, 64)).c_str());
}

void products_of_sines() {
  std::printf(
      "Step 3: Dot products of rows d positions apart: a row for d = 0 ... 5, a column for the\n");
  std::printf("first position 0, 7 and 30\n");
  const Matrix table = sinusoids(36, 8);
  const Matrix shown = products_at_distances(table, table);
  const Matrix by_formula = matrix_of(6, 3, [](index_t d, index_t) {
    double sum = 0;
    for (index_t k = 0; k < 4; ++k) sum += std::cos(static_cast<double>(d) * frequency(k, 8));
    return sum;
  });
  show("p(m) . p(n)", shown);
  show("cos(d f_0) + ... + cos(d f_3)", by_formula);
  require_close("the sums by the formula", shown, by_formula, 1e-12);
}

void rotation() {
  show("Step 4: A query, width 4", kQuery);
  const Matrix by_hand = rotated(repeated(kQuery, 5), 0);
  show("rotated to positions 0 to 4", by_hand);
  // The library rounds angles to float32, like the models during training.
  const nn::Rotary rotary({.base = kBase}, 4);
  const Tensor heads = Tensor(repeated(kQuery, 5)).unsqueeze(1);  // (T, one head, 4)
  check_close("nn::Rotary", by_hand, rotary(heads.unsqueeze(0)), 1e-6);

  show("Step 5: A key", kKey);
  std::printf("Scores of a query d positions before its key: d = 0 ... 5 down, the query's\n");
  std::printf("position 0, 7 and 30 across\n");
  const Matrix queries = repeated(kQuery, 36), keys = repeated(kKey, 36);
  show("rotary: the position does not matter",
       products_at_distances(rotated(queries, 0), rotated(keys, 0)));
  const Matrix sines = sinusoids(36, 4);
  show("sines added to query and key: it does",
       products_at_distances(sum_of(queries, sines), sum_of(keys, sines)));
}

void lengths() {
  std::printf("Step 6: The norm of the query at positions 0 to 4: rotated, and with sines added\n");
  const Matrix query = repeated(kQuery, 5);
  const Matrix ways[] = {rotated(query, 0), sum_of(query, sinusoids(5, 4))};
  show("rotation keeps it", matrix_of(2, 5, [&](index_t way, index_t p) {
         double squares = 0;
         for (index_t j = 0; j < 4; ++j) squares += std::pow(ways[way](p, j), 2);
         return std::sqrt(squares);
       }));
}

/// The result of a whole layer does not depend on the start of a sequence, only on distances.
void shifted_sequence() {
  std::printf("Step 7: A layer with rotary positions, of 8 tokens at 0 ... 7 and at 100 ... 107\n");
  Rng rng(9);
  models::EncoderLayer layer(
      {.d_model = 16, .nhead = 2, .dim_feedforward = 32, .dropout = 0, .rotary = {{.base = kBase}}},
      rng);
  nn::convert(layer, kFloat64);
  const Tensor x = randn({1, 8, 16}, kFloat64, rng);
  const Tensor later = layer({.x = x, .positions = arange(100, 108)});
  require_close("the layer's output", layer(x), later, 1e-4);
  std::printf("no number of the outputs differs by more than 1e-4\n\n");
}

void draw(const std::string& folder) {
  constexpr index_t kPositions = 48;
  const Matrix table = sinusoids(kPositions, kPositions);
  const Matrix of_rows = scaled(product(table, transposed(table)), 2.0 / kPositions);
  write_picture(folder, "005_sines.svg",
                Picture{.description = "Sinusoidal positions, and the dot products of their rows",
                        .panels = {{"sines and cosines", table, "column", "position"},
                                   {"dot products of rows / 24", of_rows, "position", "position"}},
                        .low = -1,
                        .square = 6});
  const Matrix query = {{1, 0.5, 0, -1, 0.5, 1, 0, 0}};
  const Matrix key = {{0.5, 1, 1, 0, 0, 1, 0.5, 0}};
  const Matrix sines = sinusoids(kPositions, 8);
  const Matrix queries = repeated(query, kPositions), keys = repeated(key, kPositions);
  const auto scores = [](const Matrix& q, const Matrix& k) { return product(q, transposed(k)); };
  write_picture(
      folder, "005_scores.svg",
      Picture{.description = "Scores of one query and one key at all pairs of positions",
              .panels = {{"rotary", scores(rotated(queries, 0), rotated(keys, 0))},
                         {"sines added", scores(sum_of(queries, sines), sum_of(keys, sines))}},
              .low = -12,
              .high = 12,
              .square = 6});
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("005_positions", argc, argv, "[FOLDER]", [&] {
    sines();
    products_of_sines();
    rotation();
    lengths();
    shifted_sequence();
    if (argc > 1) draw(argv[1]);
  });
}
