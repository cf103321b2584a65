#include "tessera/models/text/batches.h"

#include <algorithm>

#include "tessera/tensor/error.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::text {

namespace {

using Ids = std::vector<index_t>;

/// The examples of one batch, and the length of the longest.
struct Chosen {
  std::vector<const Example*> examples;
  index_t longest = 0;

  Chosen(std::span<const Example> all, std::span<const index_t> chosen) {
    require(!chosen.empty(), "make_batch", "number of examples must be at least 1, got 0");
    for (const index_t i : chosen) {
      require(i >= 0 && i < std::ssize(all), "make_batch",
              "example numbers must be at least 0 and below ", all.size(), ", got ", i);
      const Example& example = all[static_cast<std::size_t>(i)];
      require(example.label.index() == all[static_cast<std::size_t>(chosen[0])].label.index(),
              "make_batch", "labels must be of one kind, got different kinds in the examples ",
              chosen[0], " and ", i);
      const auto* labels = std::get_if<Ids>(&example.label);
      require(!labels || labels->size() == example.ids.size(), "make_batch", "example ", i,
              " must have a label for each token, got ", labels ? labels->size() : 0,
              " labels for ", example.ids.size(), " tokens");
      require(example.type_ids.empty() || example.type_ids.size() == example.ids.size(),
              "make_batch", "example ", i, " must have a type for each token, got ",
              example.type_ids.size(), " types for ", example.ids.size(), " tokens");
      examples.push_back(&example);
      longest = std::max<index_t>(longest, std::ssize(example.ids));
    }
  }

  index_t count() const { return std::ssize(examples); }

  /// Rows of numbers, (B, T): `row_of` of each example, then `pad`.
  template <class RowOf>
  Tensor rows(index_t pad, const RowOf& row_of) const {
    Tensor result = Tensor::empty({count(), longest}, kInt64);
    auto* row = result.mutable_data<index_t>();
    for (const Example* example : examples) {
      const Ids& numbers = row_of(*example);
      std::fill(std::copy(numbers.begin(), numbers.end(), row), row + longest, pad);
      row += longest;
    }
    return result;
  }

  /// One number per example, (B).
  template <class T, class NumberOf>
  Tensor numbers(DType dtype, const NumberOf& number_of) const {
    Tensor result = Tensor::empty({count()}, dtype);
    std::transform(examples.begin(), examples.end(), result.mutable_data<T>(),
                   [&](const Example* example) { return number_of(*example); });
    return result;
  }

  Tensor labels() const {
    const Label& kind = examples.front()->label;
    if (std::holds_alternative<index_t>(kind)) return numbers<index_t>(kInt64, class_of);
    if (std::holds_alternative<Ids>(kind)) {
      return rows(kIgnoreIndex,
                  [](const Example& e) -> const Ids& { return std::get<Ids>(e.label); });
    }
    if (!std::holds_alternative<double>(kind)) return {};
    return numbers<float>(
        kFloat32, [](const Example& e) { return static_cast<float>(std::get<double>(e.label)); });
  }
};

}  // namespace

std::vector<index_t> lengths_of(std::span<const Example> examples) {
  std::vector<index_t> lengths;
  lengths.reserve(examples.size());
  for (const Example& example : examples) lengths.push_back(std::ssize(example.ids));
  return lengths;
}

index_t class_of(const Example& example) {
  const auto* found = std::get_if<index_t>(&example.label);
  constexpr const char* kKinds[] = {"no label", "a class", "a class for each token", "a value"};
  require(found, "class_of", "the example's label must be a class, got ",
          kKinds[example.label.index()]);
  return *found;
}

Batch make_batch(std::span<const Example> examples, std::span<const index_t> chosen, index_t pad) {
  const ProfileScope scope("make_batch");
  const Chosen batch(examples, chosen);
  const bool has_types = std::any_of(batch.examples.begin(), batch.examples.end(),
                                     [](const Example* e) { return !e->type_ids.empty(); });
  return {
      .ids = batch.rows(pad, [](const Example& e) -> const Ids& { return e.ids; }),
      .lengths = batch.numbers<index_t>(kInt64, [](const Example& e) { return std::ssize(e.ids); }),
      .type_ids = has_types
                      ? batch.rows(0, [](const Example& e) -> const Ids& { return e.type_ids; })
                      : Tensor(),
      .labels = batch.labels(),
  };
}

}  // namespace tessera::text
