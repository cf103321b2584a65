#include "tessera/models/runs/text_examples.h"

#include <bit>
#include <memory>
#include <utility>
#include <variant>

#include "tessera/nn/training/detail/digest.h"

namespace tessera::runs {

nn::Examples batched(std::vector<text::Example> examples,
                     std::function<nn::LossSum(const text::Batch& batch)> loss, index_t pad) {
  const auto all = std::make_shared<const std::vector<text::Example>>(std::move(examples));
  return {text::lengths_of(*all),
          [all, pad, loss = std::move(loss)](std::span<const index_t> chosen) {
            return loss(text::make_batch(*all, chosen, pad));
          },
          digest_of(*all)};
}

std::uint64_t digest_of(std::span<const text::Example> examples) {
  nn::Digest digest;
  const auto add = [&](index_t value) { digest.add(static_cast<std::uint64_t>(value)); };
  for (const text::Example& example : examples) {
    add(std::holds_alternative<index_t>(example.label) ? text::class_of(example) : -1);
    add(std::ssize(example.ids));
    for (const index_t id : example.ids) add(id);
    if (const auto* const labels = std::get_if<std::vector<index_t>>(&example.label)) {
      for (const index_t label : *labels) add(label);
    }
    if (const auto* const value = std::get_if<double>(&example.label)) {
      add(std::bit_cast<index_t>(*value));
    }
  }
  return digest.value();
}

}  // namespace tessera::runs
