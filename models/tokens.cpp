#include "tessera/models/tokens.h"

#include <cstddef>
#include <span>

#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/compare.h"

namespace tessera::models {

namespace {

void check_lengths(const char* op, const char* what, const Tensor& lengths, const Shape& batch) {
  require(lengths.rank() == 1 && lengths.dtype() == kInt64 && lengths.size(0) == batch[0], op, what,
          " must be int64 ", Shape{batch[0]}, ", got ", lengths.dtype(), ' ', lengths.shape());
  const Tensor each = lengths.contiguous();
  for (index_t length : std::span(each.data<index_t>(), static_cast<std::size_t>(each.count()))) {
    require(1 <= length && length <= batch[1], op, what, " must be from 1 to ", batch[1],
            ", the tokens of a row, got ", length);
  }
}

/// Checks numbers of each token, or of each column of tokens.
void check_numbers(const char* op, const char* what, const Tensor& numbers, const Shape& batch) {
  require(
      (numbers.shape() == batch || numbers.shape() == Shape{batch[1]}) && numbers.dtype() == kInt64,
      op, what, " must be int64 ", batch, " or ", Shape{batch[1]}, ", got ", numbers.dtype(), ' ',
      numbers.shape());
}

}  // namespace

void check_tokens(const char* op, const Tokens& tokens, const Shape& batch) {
  require(batch.size() == 2, op, "batch must be (B, T), got ", batch);
  require(!tokens.ids.defined() || tokens.ids.shape() == batch, op, "ids must have shape ", batch,
          ", got ", tokens.ids.shape());
  if (tokens.lengths.defined()) check_lengths(op, "lengths", tokens.lengths, batch);
  if (tokens.visible.defined()) {
    check_lengths(op, "visible", tokens.visible, batch);
    require(!tokens.lengths.defined(), op, "visible must be undefined with lengths, got both");
  }
  if (tokens.type_ids.defined()) check_numbers(op, "types", tokens.type_ids, batch);
  if (tokens.positions.defined()) check_numbers(op, "positions", tokens.positions, batch);
}

void check_tokens(const char* op, const Tokens& tokens) {
  const Tensor& ids = tokens.ids;
  require(ids.defined(), op, "ids must have shape (B, T), got an undefined tensor");
  require(ids.rank() == 2, op, "ids must have shape (B, T), got ", ids.shape());
  check_tokens(op, tokens, ids.shape());
}

Tensor real_tokens(const Tensor& lengths, index_t count) {
  require(lengths.defined(), "real_tokens", "lengths must be defined, got an undefined tensor");
  require(lengths.dtype() == kInt64 && lengths.rank() == 1, "real_tokens",
          "lengths must be int64 (B), got ", lengths.dtype(), ' ', lengths.shape());
  require(count >= 0, "real_tokens", "count must be at least 0, got ", count);
  return lt(arange(count).unsqueeze(0), lengths.unsqueeze(1));
}

UnpaddedRows unpadding_of(const Tensor& lengths, index_t tokens) {
  if (!lengths.defined()) return {};
  const UnpaddedRows unpadded(lengths, tokens);
  return unpadded.rows() == unpadded.batch() * tokens ? UnpaddedRows() : unpadded;
}

Tensor unpad_numbers(const UnpaddedRows& unpadded, const Tensor& x) {
  if (!unpadded || !x.defined()) return x;
  return unpadded.unpad(x.expand({unpadded.batch(), unpadded.padded_length()}));
}

Tensor unpad_positions(const UnpaddedRows& unpadded, const Tensor& given) {
  const bool counted = unpadded && !given.defined();
  return unpad_numbers(unpadded, counted ? arange(unpadded.padded_length()) : given);
}

}  // namespace tessera::models
