#include "tessera/models/runs/token_examples.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/nn/training/detail/digest.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/indexing.h"

namespace tessera::runs {

nn::Examples examples_of(models::Tokens tokens, const Tensor& labels,
                         std::function<nn::LossSum(const models::Tokens&, const Tensor&)> loss) {
  constexpr const char* kOp = "examples_of";
  check_tokens(kOp, tokens);
  const Shape shape = tokens.ids.shape();
  require(labels.defined() && (labels.shape() == Shape{shape[0]} || labels.shape() == shape), kOp,
          "labels must have shape ", Shape{shape[0]}, " or ", shape, ", got ",
          labels.defined() ? str_cat(labels.shape()) : "an undefined tensor",
          "; for other labels, write nn::Examples with a loss function of indices");
  for (Tensor* const x : {&tokens.type_ids, &tokens.positions}) {
    if (x->defined()) *x = x->expand(shape);
  }
  std::vector<index_t> lengths(static_cast<std::size_t>(shape[0]), shape[1]);
  if (tokens.lengths.defined()) lengths = tokens.lengths.to_vector<index_t>();
  nn::Digest digest;
  for (const Tensor& x : {tokens.ids, tokens.lengths, tokens.type_ids, tokens.positions, labels}) {
    digest.add(x.defined() ? nn::digest_of(x) : 0);
  }
  if (tokens.visible.defined()) digest.add(nn::digest_of(tokens.visible));
  const auto chosen_loss = [=, loss = std::move(loss)](std::span<const index_t> chosen) {
    index_t longest = 0;
    for (const index_t i : chosen) {
      longest = std::max(longest, lengths[static_cast<std::size_t>(i)]);
    }
    const Tensor rows = from_vector(std::vector(chosen.begin(), chosen.end()));
    const auto part = [&](const Tensor& x) {
      if (!x.defined()) return x;
      return index_select(x.rank() == 2 ? x.slice(1, 0, longest) : x, 0, rows);
    };
    return loss({.ids = part(tokens.ids),
                 .lengths = part(tokens.lengths),
                 .type_ids = part(tokens.type_ids),
                 .positions = part(tokens.positions),
                 .visible = part(tokens.visible)},
                part(labels));
  };
  return {lengths, chosen_loss, digest.value()};
}

}  // namespace tessera::runs
