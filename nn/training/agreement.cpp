#include "nn/training/agreement.h"

#include <algorithm>
#include <cstring>

#include "tensor/create.h"
#include "tensor/ops/matmul.h"
#include "tensor/version.h"

namespace tessera::nn {

namespace {

/// FNV-1a on blocks.
class Digest {
 public:
  void add(std::uint64_t block) { hash_ = (hash_ ^ block) * 1099511628211ULL; }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 14695981039346656037ULL;
};

void add_elements(Digest& digest, const Tensor& x) {
  const Tensor values = x.detach().contiguous();
  const auto* at = static_cast<const unsigned char*>(values.untyped_data());
  index_t left = values.count() * item_size(values.dtype());
  while (left > 0) {
    std::uint64_t block = 0;
    const index_t size = std::min<index_t>(left, sizeof(block));
    std::memcpy(&block, at, static_cast<std::size_t>(size));
    digest.add(block ^ block >> 32);  // a product never brings high bits to low ones
    at += size;
    left -= size;
  }
}

}  // namespace

std::uint64_t digest_of(std::span<const index_t> numbers) {
  Digest digest;
  for (const index_t number : numbers) digest.add(static_cast<std::uint64_t>(number));
  return digest.value();
}

Checkpoint description_of(const StateDict& tensors) {
  Checkpoint description;
  Digest digest;
  for (const auto& [name, tensor] : tensors) {
    description.set(name, format(tensor.dtype(), ' ', tensor.shape()));
    add_elements(digest, tensor);
  }
  description.set("digest", digest.value());
  return description;
}

std::string version_text() {
  return format(kVersionMajor, '.', kVersionMinor, '.', kVersionPatch);
}

std::string arithmetic_text() {
  // Of x^2 - (1 + 2^-11) a float keeps 2^-24 only where the square was not rounded before.
  const float x = 1 + 0x1p-12F;
  const Tensor sum = matmul(from_vector<float>({-1, x}).unsqueeze(0),
                            from_vector<float>({1 + 0x1p-11F, x}).unsqueeze(1));
  return sum.item<float>() != 0 ? "products and sums are rounded once"
                                : "products are rounded before they are added";
}

}  // namespace tessera::nn
