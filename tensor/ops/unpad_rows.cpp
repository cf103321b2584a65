#include "tessera/tensor/ops/unpad_rows.h"

#include <algorithm>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"

namespace tessera {

namespace {

constexpr const char* kUnpadOp = "unpad_rows";
constexpr const char* kPadOp = "pad_rows";

/// The first unpadded row of each sequence, then the number of all rows.
Tensor checked_offsets(const char* op, const Tensor& lengths) {
  require(lengths.defined(), op, "lengths must be int64 of shape (B), got an undefined tensor");
  require(lengths.dtype() == kInt64 && lengths.rank() == 1, op,
          "lengths must be int64 of shape (B), got ", lengths.dtype(), ' ', lengths.shape());
  const Tensor each = lengths.contiguous();
  Tensor offsets = Tensor::empty({each.count() + 1}, kInt64);
  const index_t* const length = each.data<index_t>();
  index_t* const offset = offsets.mutable_data<index_t>();
  offset[0] = 0;
  for (index_t b = 0; b < each.count(); ++b) {
    require(length[b] >= 0, op, "lengths must be at least 0, got ", length[b]);
    require(!__builtin_add_overflow(offset[b], length[b], &offset[b + 1]), op,
            "lengths must add up to an int64");
  }
  return offsets;
}

/// Throws if the sequences do not fit a batch with `padded_length` rows each.
void check_fit(const char* op, const Tensor& offsets, index_t padded_length) {
  const index_t* const offset = offsets.data<index_t>();
  for (index_t b = 0; b + 1 < offsets.count(); ++b) {
    require(offset[b + 1] - offset[b] <= padded_length, op, "lengths must be at most the ",
            padded_length, " rows of a sequence, got ", offset[b + 1] - offset[b]);
  }
}

/// The shape of the axes of x after the first `axes`.
Shape rest_of(const Tensor& x, index_t axes) {
  Shape rest;
  for (index_t i = axes; i < x.rank(); ++i) rest.push_back(x.size(i));
  return rest;
}

/// `shape` followed by `rest`.
Shape joined(Shape shape, const Shape& rest) {
  for (const index_t size : rest) shape.push_back(size);
  return shape;
}

/// Calls `body(padded, unpadded, real, padding)` for runs of rows: from row number `padded` of the
/// batch on there are `real` rows, without padding from row `unpadded` on, then `padding` rows.
template <class Body>
void for_each_run(const Tensor& offsets, index_t padded_length, index_t width, const Body& body) {
  const index_t* const offset = offsets.data<index_t>();
  kernels::parallel_for((offsets.count() - 1) * padded_length, width,
                        [&](index_t row, index_t end) {
                          while (row < end) {
                            const index_t b = row / padded_length;
                            const index_t first = row % padded_length;
                            const index_t rows = std::min(padded_length - first, end - row);
                            const index_t length = offset[b + 1] - offset[b];
                            const index_t real = std::clamp<index_t>(length - first, 0, rows);
                            body(row, offset[b] + first, real, rows - real);
                            row += rows;
                          }
                        });
}

/// x (B, T, ...) -> (N, ...).
Tensor unpadded_values(const Tensor& x, const Tensor& offsets) {
  const Tensor padded = x.contiguous();
  const index_t rows = offsets.data<index_t>()[offsets.count() - 1];
  const Shape rest = rest_of(x, 2);
  Tensor result = Tensor::empty(joined({rows}, rest), x.dtype());
  const index_t width = element_count(kUnpadOp, rest);
  visit_dtype(x.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const T* const from = padded.data<T>();
    T* const to = result.mutable_data<T>();
    for_each_run(offsets, x.size(1), width,
                 [=](index_t row, index_t unpadded, index_t real, index_t) {
                   std::copy_n(from + row * width, real * width, to + unpadded * width);
                 });
  });
  return result;
}

/// x (N, ...) -> (B, padded_length, ...).
Tensor padded_values(const Tensor& x, const Tensor& offsets, index_t padded_length) {
  const Tensor unpadded_rows = x.contiguous();
  const Shape rest = rest_of(x, 1);
  Tensor result = Tensor::empty(joined({offsets.count() - 1, padded_length}, rest), x.dtype());
  const index_t width = element_count(kPadOp, rest);
  visit_dtype(x.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const T* const from = unpadded_rows.data<T>();
    T* const to = result.mutable_data<T>();
    for_each_run(offsets, padded_length, width,
                 [=](index_t row, index_t unpadded, index_t real, index_t padding) {
                   std::copy_n(from + unpadded * width, real * width, to + row * width);
                   std::fill_n(to + (row + real) * width, padding * width, T{});
                 });
  });
  return result;
}

/// unpad_rows by offsets.
Tensor unpad_by(const Tensor& offsets, const Tensor& x) {
  require(x.defined(), kUnpadOp, "x must be defined, got an undefined tensor");
  require(x.rank() >= 2, kUnpadOp, "x must have shape (B, T, ...), got ", x.shape());
  check_fit(kUnpadOp, offsets, x.size(1));
  require(offsets.count() - 1 == x.size(0), kUnpadOp, "number of lengths must be the batch size ",
          x.size(0), ", got ", offsets.count() - 1);
  Recording op(kUnpadOp, {&x});
  return op.finish(unpadded_values(x, offsets), [&] {
    return [offsets, padded_length = x.size(1)](const Tensor& dy, Gradients& dx) {
      dx.add(0, padded_values(dy, offsets, padded_length));
    };
  });
}

/// pad_rows by offsets.
Tensor pad_by(const Tensor& offsets, const Tensor& x, index_t padded_length) {
  require(x.defined(), kPadOp, "x must be defined, got an undefined tensor");
  require(x.rank() >= 1, kPadOp, "x must have shape (N, ...), got ", x.shape());
  require(padded_length >= 0, kPadOp, "padded_length must be at least 0, got ", padded_length);
  check_fit(kPadOp, offsets, padded_length);
  const index_t rows = offsets.data<index_t>()[offsets.count() - 1];
  require(rows == x.size(0), kPadOp, "lengths must add up to the ", x.size(0), " rows of x, got ",
          rows);
  Recording op(kPadOp, {&x});
  return op.finish(padded_values(x, offsets, padded_length), [&] {
    return [offsets](const Tensor& dy, Gradients& dx) { dx.add(0, unpadded_values(dy, offsets)); };
  });
}

}  // namespace

Tensor unpad_rows(const Tensor& x, const Tensor& lengths) {
  return unpad_by(checked_offsets(kUnpadOp, lengths), x);
}

Tensor pad_rows(const Tensor& x, const Tensor& lengths, index_t padded_length) {
  return pad_by(checked_offsets(kPadOp, lengths), x, padded_length);
}

UnpaddedRows::UnpaddedRows(const Tensor& lengths, std::optional<index_t> padded_length) {
  offsets_ = checked_offsets(kUnpadOp, lengths);
  if (padded_length) check_fit(kUnpadOp, offsets_, *padded_length);
  index_t longest = 0;
  for (index_t b = 0; b < batch(); ++b) {
    longest = std::max(longest, offsets()[b + 1] - offsets()[b]);
  }
  padded_length_ = padded_length.value_or(longest);
}

UnpaddedRows::UnpaddedRows(const std::vector<index_t>& lengths,
                           std::optional<index_t> padded_length)
    : UnpaddedRows(from_vector(lengths), padded_length) {}

Tensor UnpaddedRows::unpad(const Tensor& x) const {
  return *this ? unpad_by(offsets_, x).unsqueeze(0) : x;
}

Tensor UnpaddedRows::pad(const Tensor& y) const {
  return *this ? pad_by(offsets_, y.squeeze(0), padded_length_) : y;
}

}  // namespace tessera
