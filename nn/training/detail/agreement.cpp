#include "nn/training/detail/agreement.h"

#include "nn/training/detail/digest.h"
#include "nn/training/detail/messages.h"
#include "tensor/create.h"
#include "tensor/ops/matmul.h"
#include "tensor/version.h"

namespace tessera::nn {

std::uint64_t digest_of(std::span<const index_t> numbers) {
  Digest digest;
  for (const index_t number : numbers) digest.add(static_cast<std::uint64_t>(number));
  return digest.value();
}

Checkpoint description_of(const StateDict& tensors) {
  Checkpoint description;
  Digest digest;
  for (const auto& [name, tensor] : tensors) {
    description.set(name, str_cat(tensor.dtype(), ' ', tensor.shape()));
    digest.add(detail::bytes_of(tensor.detach().contiguous()));
  }
  description.set("digest", digest.value());
  return description;
}

std::string version_text() {
  return str_cat(kVersionMajor, '.', kVersionMinor, '.', kVersionPatch);
}

std::string arithmetic_text() {
  // x^2 - (1 + 2^-11) is 2^-24 as a float only if the square was not rounded before.
  const float x = 1 + 0x1p-12F;
  const Tensor sum = matmul(from_vector<float>({-1, x}).unsqueeze(0),
                            from_vector<float>({1 + 0x1p-11F, x}).unsqueeze(1));
  return sum.item<float>() != 0 ? "products and sums are rounded once"
                                : "products are rounded before they are added";
}

NamedTexts facts_of_run(const Checkpoint& facts, const Checkpoint& state) {
  Checkpoint all{.tensors = {}, .values = facts.values};
  for (const auto& [name, tensor] : facts.tensors) {
    all.set("digest of the " + name, digest_of(tensor.to_vector<index_t>()));
  }
  for (const char* const group : {"model", "average", "best"}) {
    all.add(group, description_of(state.group(group).tensors));
  }
  NamedTexts texts = {{"version", version_text()},
                      {"arithmetic", arithmetic_text()},
                      {"step", state.text("scheduler.step")}};
  texts.insert(texts.end(), all.values.begin(), all.values.end());
  for (const char* const group : {"best", "sampler", "trainer"}) {
    std::string values;
    for (const auto& [name, value] : state.group(group).values) values += name + ' ' + value + ' ';
    texts.emplace_back(str_cat("state of ", group), values);
  }
  return texts;
}

}  // namespace tessera::nn
