// Results of encoders with several vectors or a sparse vector per text, in the form that tests compare.
#pragma once

#include <vector>

#include "tessera/models/hugging_face/sparse_encoder.h"
#include "tessera/tensor/create.h"

namespace tessera::test {

/// The number of vectors of each text.
inline std::vector<index_t> rows_of(const std::vector<Tensor>& vectors) {
  std::vector<index_t> rows;
  for (const Tensor& each : vectors) rows.push_back(each.size(0));
  return rows;
}

/// A row of all weights.
inline Tensor dense_row(const models::SparseVector& vector, index_t size) {
  Tensor row = zeros({size});
  float* const weights = row.mutable_data<float>();
  for (std::size_t i = 0; i < vector.ids.size(); ++i) weights[vector.ids[i]] = vector.weights[i];
  return row;
}

}  // namespace tessera::test
