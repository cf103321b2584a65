// Messages between processes, as bytes: values as texts for Communicator::all_gather, tensors in
// place. All processes of a run must have the same number formats. Private to nn.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "nn/training/detail/multi_tensor.h"
#include "tensor/tensor.h"

namespace tessera::nn::detail {

/// Adds the bytes of a value.
template <class T>
void append(std::string& text, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  text.resize(text.size() + sizeof(T));
  std::memcpy(text.data() + text.size() - sizeof(T), &value, sizeof(T));
}

/// Removes the first value from a text made by `append`, and returns it.
template <class T>
T take(std::string_view& text) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value{};
  std::memcpy(&value, text.data(), sizeof(T));
  text.remove_prefix(sizeof(T));
  return value;
}

/// Elements [begin, begin + count) of a piece, such as a chunk, as a view of a contiguous tensor.
template <class Piece>
Tensor piece_of(const Tensor& x, const Piece& piece) {
  return x.detach().reshape({x.count()}).slice(0, piece.begin, piece.begin + piece.count);
}

/// The elements of a contiguous tensor.
inline std::span<const std::byte> bytes_of(const Tensor& x) {
  return {static_cast<const std::byte*>(x.untyped_data()),
          static_cast<std::size_t>(x.count() * item_size(x.dtype()))};
}
/// The writable elements of a contiguous tensor; the call bumps the version of their memory.
inline std::span<std::byte> mutable_bytes_of(const Tensor& x) {
  return {static_cast<std::byte*>(mutable_elements_of(x)), bytes_of(x).size()};
}

}  // namespace tessera::nn::detail
