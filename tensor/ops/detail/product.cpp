#include "tessera/tensor/ops/detail/product.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>

#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"

namespace tessera::detail {

namespace {

index_t lanes_of(const kernels::IsaKernels& kernels, DType dtype) {
  return visit_floating(dtype, [&](auto kind) { return kernels.of<decltype(kind)>().lanes; });
}

/// A hash of the elements' bits (FNV-1a, one step per element).
std::uint64_t checksum_of(const Tensor& matrix) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  visit_floating(matrix.dtype(), [&](auto kind) {
    using T = decltype(kind);
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const kernels::MatrixRef<T> x = matrix_ref<T>(matrix);
    for (index_t i = 0; i < matrix.size(0); ++i) {
      for (index_t p = 0; p < matrix.size(1); ++p) {
        sum = (sum ^ std::bit_cast<Bits>(*x.at(i, p).data)) * 0x100000001b3U;
      }
    }
  });
  return sum;
}

template <class Bits>
std::uint64_t bits_at(const std::byte* element) {
  Bits bits;
  std::memcpy(&bits, element, sizeof(bits));
  return bits;
}

}  // namespace

WeightPanels::WeightPanels(const kernels::IsaKernels& kernels, Shape shape, DType dtype, bool gated,
                           WeightFormat format)
    : kernels_(&kernels),
      shape_(std::move(shape)),
      dtype_(dtype),
      gated_(gated),
      format_(format),
      lanes_(lanes_of(kernels, dtype)) {
  constexpr index_t kGroup = kernels::kInt8Group;
  const bool is_int8 = format == WeightFormat::kInt8;
  words_ = is_int8 ? (shape_[1] + kGroup - 1) / kGroup : shape_[1];
  columns_ = kernels::panel_columns(outputs(), gated, lanes_);
  memory_ = Storage::allocate(columns_ * (words_ + (is_int8 ? 2 : 0)) * word_size());
}

WeightPanels::WeightPanels(const Tensor& weight, bool gated, WeightFormat format)
    : WeightPanels(kernels::isa_kernels(), weight.shape(), weight.dtype(), gated, format) {
  source_ = weight.detach();
  version_ = source_.storage().version();
  take_sample();
  if (checks_weights()) checksum_ = checksum_of(source_);
  format == WeightFormat::kInt8 ? pack_int8() : pack_exact();
}

bool WeightPanels::are_of(const Tensor& weight) const {
  return are_same_elements(source_, weight) && version_ == weight.storage().version() &&
         is_current();
}

/// Keeps 4 elements along the diagonal.
void WeightPanels::take_sample() {
  if (source_.count() == 0) return;
  const auto* const first = static_cast<const std::byte*>(source_.untyped_data());
  for (index_t k = 0; k < std::ssize(sample_); ++k) {
    const index_t at = k * (shape_[0] - 1) / 3 * source_.strides()[0] +
                       k * (shape_[1] - 1) / 3 * source_.strides()[1];
    const std::byte* const place = first + at * item_size(dtype_);
    const std::uint64_t bits =
        dtype_ == kFloat32 ? bits_at<std::uint32_t>(place) : bits_at<std::uint64_t>(place);
    sample_[static_cast<std::size_t>(k)] = {place, bits};
  }
}

template <class Bits>
bool WeightPanels::has_sample() const {
  return std::ranges::all_of(
      sample_, [](const Sample& kept) { return bits_at<Bits>(kept.place) == kept.bits; });
}

void WeightPanels::check_source() const {
  const bool is_sampled = sample_.front().place != nullptr;
  const bool same = (!is_sampled || (dtype_ == kFloat32 ? has_sample<std::uint32_t>()
                                                        : has_sample<std::uint64_t>())) &&
                    (!checksum_ || !checks_weights() || checksum_of(source_) == *checksum_);
  require(same, "weight", "elements ", shape_,
          " must be unchanged since they were packed, got writes through a pointer that was kept; "
          "call mutable_data() again before writing");
}

void WeightPanels::pack_exact() {
  visit_floating(dtype_, [&](auto kind) {
    using T = decltype(kind);
    const auto& kernel = kernels_->of<T>();
    const auto pack = gated_ ? kernel.pack_gated_b : kernel.pack_b;
    pack(shape_[1], outputs(), matrix_ref<T>(source_.t()), reinterpret_cast<T*>(at(0)));
  });
}

void WeightPanels::pack_int8() {
  const index_t scales = columns_ * words_;
  const bool finite = kernels_->int8->pack(
      shape_[1], outputs(), gated_, matrix_ref<float>(source_.t()),
      reinterpret_cast<std::int8_t*>(at(0)), reinterpret_cast<float*>(at(scales)),
      reinterpret_cast<std::int32_t*>(at(scales + columns_)));
  require(finite, "weight", "elements ", shape_, " must be finite for int8, got inf or NaN");
}

/// The column that holds a row of the weight; columns are counted over all panels in the memory.
index_t WeightPanels::column_of(index_t row) const {
  if (!gated_) return first_ + row;
  const index_t i = row % outputs();
  const index_t vector = i / lanes_ * kernels::kPanelVectors + row / outputs();
  return vector * lanes_ + i % lanes_;
}

/// The position of a column's first word; the next ones are a panel's width apart.
index_t WeightPanels::first_word(index_t column) const {
  const index_t width = kernels::kPanelVectors * lanes_;
  return column / width * words_ * width + column % width;
}

Tensor WeightPanels::elements() const {
  const index_t width = kernels::kPanelVectors * lanes_;
  const index_t k = shape_[1];
  Tensor result = Tensor::empty(shape_, dtype_);
  visit_floating(dtype_, [&](auto kind) {
    using T = decltype(kind);
    T* const to = result.mutable_data<T>();
    kernels::parallel_for(shape_[0], 2 * k, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) {
        const index_t column = column_of(i);
        if (format_ == WeightFormat::kExact) {
          const T* const from = reinterpret_cast<const T*>(at(first_word(column)));
          for (index_t p = 0; p < k; ++p) to[i * k + p] = from[p * width];
        } else {
          const auto* const codes = reinterpret_cast<const std::int8_t*>(at(0));
          const auto scale = *reinterpret_cast<const float*>(at(columns_ * words_ + column));
          for (index_t p = 0; p < k; ++p) {
            const index_t code = kernels::int8_place(k, width, p, column);
            to[i * k + p] = static_cast<T>(codes[code]) * static_cast<T>(scale);
          }
        }
      }
    });
  });
  return result;
}

std::shared_ptr<const WeightPanels> WeightPanels::rows(index_t begin, index_t end,
                                                       bool gated) const {
  const index_t width = kernels::kPanelVectors * lanes_;
  if (!gated_ && !gated && begin % width == 0) {
    const auto shared = std::make_shared<WeightPanels>(*this);
    shared->shape_[0] = end - begin;
    shared->first_ += begin;
    if (source_.defined()) shared->source_ = source_.slice(0, begin, end);
    shared->sample_ = {};
    shared->checksum_.reset();
    return shared;
  }
  const index_t step = width * word_size();
  const std::shared_ptr<WeightPanels> made(
      new WeightPanels(*kernels_, {end - begin, shape_[1]}, dtype_, gated, format_));
  const index_t all_words = made->columns_ * made->words_;
  const index_t after = format_ == WeightFormat::kInt8 ? 2 : 0;  // a scale and a sum
  std::memset(made->at(0), 0,
              static_cast<std::size_t>((all_words + after * made->columns_) * word_size()));
  const auto size = static_cast<std::size_t>(word_size());
  kernels::parallel_for(end - begin, words_, [&](index_t first, index_t last) {
    for (index_t i = first; i < last; ++i) {
      const index_t to = made->column_of(i);
      const index_t from = column_of(begin + i);
      for (index_t p = 0; p < words_; ++p) {
        std::memcpy(made->at(made->first_word(to)) + p * step, at(first_word(from)) + p * step,
                    size);
      }
      for (index_t n = 0; n < after; ++n) {
        std::memcpy(made->at(all_words + n * made->columns_ + to),
                    at(columns_ * (words_ + n) + from), size);
      }
    }
  });
  return made;
}

kernels::Int8Panels WeightPanels::int8() const {
  const index_t scales = columns_ * words_ + first_;
  return {.codes = reinterpret_cast<const std::int8_t*>(at(first_ * words_)),
          .scales = reinterpret_cast<const float*>(at(scales)),
          .sums = reinterpret_cast<const std::int32_t*>(at(scales + columns_))};
}

WeightFormat fitting_format(WeightFormat wanted, DType dtype, const Shape& shape) {
  const bool fits_int8 = dtype == kFloat32 && shape.size() == 2 && shape[0] >= kFewestInt8Rows &&
                         shape[1] <= kernels::kInt8Depth;
  return fits_int8 ? wanted : WeightFormat::kExact;
}

index_t panel_width(DType dtype) {
  return kernels::kPanelVectors * lanes_of(kernels::isa_kernels(), dtype);
}

bool are_same_elements(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

bool is_finite(const Tensor& matrix) {
  const float* const x = matrix.data<float>();
  const index_t k = matrix.size(1);
  const index_t row = matrix.strides()[0];
  const index_t column = matrix.strides()[1];
  const auto is_finite_row = kernels::isa_kernels().int8->is_finite;
  std::atomic<bool> all = true;
  kernels::parallel_for(matrix.size(0), k, [&](index_t begin, index_t end) {
    for (index_t i = begin; i < end && all; ++i) {
      if (!is_finite_row(k, x + i * row, column)) all = false;
    }
  });
  return all;
}

}  // namespace tessera::detail
