// Vectors that encode the positions of tokens, added to the input of a transformer.
#pragma once

#include "tessera/nn/dropout.h"
#include "tessera/nn/parameter_source.h"
#include "tessera/nn/visit.h"
#include "tessera/tensor/ops/positions.h"

namespace tessera::nn {

/// The options of PositionalEncoding.
struct PositionalEncodingOptions {
  index_t d_model;
  index_t max_positions = 512;
  double input_scale = 1;  // multiplies the embeddings first; the paper uses sqrt(d_model)
  double dropout = 0;
};

/// `dropout(input_scale x + table[positions])` with the sinusoidal table; positions are 0, 1, ...
/// unless given.
///
/// **Shapes**: x (..., T, D), positions (..., T) int64, which broadcast -> (..., T, D). The table
/// is a Buffer, not a parameter: the table is computed, not stored in files.
/// **Errors**: sizes below 1, an input_scale that is not finite, a dropout outside [0, 1]; an x
/// that is not floating, or has fewer than two axes or a different width; more than max_positions
/// tokens without positions; positions that are not int64, do not match x, or are outside [0,
/// max_positions).
/// **Source**: Vaswani et al., 2017, sections 3.4 and 3.5.
struct PositionalEncoding {
  Buffer table;  // (max_positions, D)
  double input_scale;
  Dropout dropout;

  explicit PositionalEncoding(const PositionalEncodingOptions& options);

  Tensor operator()(const Tensor& x, const Tensor& positions = {}) const;

  static void visit(auto& self, auto&& visitor) {
    visitor("table", self.table);
    visitor("dropout", self.dropout);
  }
};

/// `x + weight[positions]` with a learned table, as BERT's position_embeddings.
///
/// **Shapes**: as PositionalEncoding; weight (max_positions, D), from N(0, 0.02^2).
/// **Errors**: as PositionalEncoding. **Source**: Devlin et al., "BERT", 2018.
struct LearnedPositionalEncoding {
  Tensor weight;

  LearnedPositionalEncoding(index_t max_positions, index_t d_model,
                            const ParameterSource& from = default_rng());

  Tensor operator()(const Tensor& x, const Tensor& positions = {}) const;

  static void visit(auto& self, auto&& visitor) { visitor("weight", self.weight); }
};

}  // namespace tessera::nn
