// What the formats of tensors in files share: sizes, headers, and elements of more types than
// tensors have, each converted to a tensor's type.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

inline constexpr bool kLittleEndian = std::endian::native == std::endian::little;

/// The number in these bytes, of which there are at most 8; the first is the lowest.
inline std::uint64_t little_endian(std::span<const unsigned char> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

/// The header of `length` bytes from `begin` on, where `length` is the number at byte `place`.
/// **Errors**: std::runtime_error: a header longer than `most` or than the region.
inline std::string read_header(const FileRegion& region, index_t place, std::uint64_t length,
                               index_t begin, index_t most) {
  if (length > static_cast<std::uint64_t>(most)) {
    fail_file(region.name, "byte ", place, ": header must have at most ", most, " bytes, got ",
              length);
  }
  const auto bytes = static_cast<index_t>(length);
  if (bytes > region.size - begin) {
    fail_file(region.name, "byte ", place, ": header must fit the remaining ", region.size - begin,
              " bytes, got ", length);
  }
  std::string text(length, '\0');
  region.read(begin, text.data(), bytes);
  return text;
}

/// IEEE's 16-bit float: sign, 5 bits of exponent, 10 of fraction.
struct Half {
  std::uint16_t bits;

  explicit operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
    const std::uint32_t exponent = bits >> 10 & 31U;
    const std::uint32_t fraction = bits & 1023U;
    std::uint32_t size = fraction << 13 | (exponent + 112) << 23;  // the biases are 15 and 127
    if (exponent == 31) size = fraction == 0 ? 0x7F800000 : 0x7FC00000;
    if (exponent == 0) size = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24F);
    return std::bit_cast<float>(sign | size);
  }
};

/// The upper half of a float32.
struct BFloat16 {
  std::uint16_t bits;
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

/// A byte that is true unless it is 0.
struct BoolByte {
  std::uint8_t byte;
  explicit operator bool() const { return byte != 0; }
};

/// Reads the elements of `target` as values of type Stored from `offset` on, in the opposite byte
/// order if `swap`.
template <class Stored, class T>
void read_elements(const FileRegion& region, index_t offset, bool swap, Tensor& target) {
  T* out = target.mutable_data<T>();
  const index_t count = target.count();
  constexpr auto kSize = static_cast<index_t>(sizeof(Stored));
  if (std::is_same_v<Stored, T> && !swap) return region.read(offset, out, count * kSize);
  constexpr index_t kChunk = 8192;
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(count, kChunk) * kSize));
  for (index_t done = 0; done < count; done += kChunk) {
    const index_t n = std::min(kChunk, count - done);
    region.read(offset + done * kSize, bytes.data(), n * kSize);
    for (index_t i = 0; i < n; ++i) {
      std::byte* const first = bytes.data() + i * kSize;
      if (swap) std::reverse(first, first + kSize);
      Stored value;
      std::memcpy(&value, first, sizeof value);
      out[done + i] = static_cast<T>(value);
    }
  }
}

/// A kind of element that can be loaded: a file format's code for it, and the dtype it becomes.
struct ElementFormat {
  std::string_view code;
  std::string_view name;  // "int32", for errors
  index_t size;
  DType dtype;
  bool is_as_in_memory;  // on a little-endian processor
  void (*read)(const FileRegion&, index_t offset, bool swap, Tensor& target);
};

template <class Stored, class T>
constexpr ElementFormat element_format(std::string_view code, std::string_view name) {
  return {
      code, name, sizeof(Stored), dtype_of<T>, std::is_same_v<Stored, T>, read_elements<Stored, T>};
}

/// The format in which a file has the elements of a dtype as they are in memory.
template <class Formats>
const ElementFormat& format_of(const Formats& formats, DType dtype) {
  return *std::find_if(formats.begin(), formats.end(), [&](const ElementFormat& candidate) {
    return candidate.dtype == dtype && candidate.size == item_size(dtype);
  });
}

/// The number of bytes of a shape's elements of `item` bytes each. Any size of 0 makes it 0, but
/// the product of the other sizes must still not overflow. **Errors**: std::runtime_error that
/// begins with `place`.
inline index_t stored_bytes(const Shape& shape, index_t item, const std::string& place) {
  index_t bytes = 8;  // the size of the largest element after loading
  bool has_zero = false;
  for (const index_t size : shape) {
    has_zero = has_zero || size == 0;
    if (__builtin_mul_overflow(bytes, std::max<index_t>(size, 1), &bytes)) {
      fail_file(place, "number of bytes must fit int64, got shape ", shape);
    }
  }
  return has_zero ? 0 : bytes / 8 * item;
}

}  // namespace tessera
