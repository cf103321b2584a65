#include "tessera/models/text/masked_tokens.h"

#include <algorithm>
#include <limits>

#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/compare.h"

namespace tessera::text {

namespace {

/// [0, 1) in 2^32 steps.
double unit(std::uint32_t word) {
  return word * 0x1p-32;
}

/// A number below `count`, uniform to within 2^-32.
index_t below(index_t count, std::uint32_t word) {
  return static_cast<index_t>(static_cast<std::uint64_t>(count) * word >> 32);
}

/// Draws numbers of tokens that are not special.
class OrdinaryTokens {
 public:
  OrdinaryTokens(const SpecialTokens& special, index_t vocab_size)
      : special_(special.ids()), count_(vocab_size - std::ssize(special_)) {}

  index_t count() const { return count_; }

  index_t draw(std::uint32_t word) const {
    index_t id = below(count_, word);
    for (const index_t special : special_) id += id >= special;
    return id;
  }

 private:
  std::vector<index_t> special_;  // ascending
  index_t count_;
};

void check(const Tensor& ids, const SpecialTokens& special, index_t vocab_size,
           const MaskTokensOptions& options) {
  require(ids.dtype() == kInt64, "mask_tokens", "ids must be int64, got ", ids.dtype());
  for (const index_t id : special.ids()) {
    require(id >= 0 && id < vocab_size, "mask_tokens",
            "special tokens must be at least 0 and below vocab_size ", vocab_size, ", got ", id);
  }
  require(vocab_size > std::ssize(special.ids()) &&
              vocab_size <= std::numeric_limits<std::uint32_t>::max(),
          "mask_tokens", "vocab_size must be above ", special.ids().size(),
          ", the number of special tokens, and below 2^32, got ", vocab_size);
  require(special.mask || options.mask_replace_prob == 0, "mask_tokens",
          "special.mask must be a token that hides others, got none");
  const auto is_chance = [](double p) { return p >= 0 && p <= 1; };
  require(is_chance(options.mlm_probability) && is_chance(options.mask_replace_prob) &&
              is_chance(options.random_replace_prob) &&
              options.mask_replace_prob + options.random_replace_prob <= 1 + 1e-9,
          "mask_tokens",
          "mlm_probability, mask_replace_prob, random_replace_prob and the sum of the last two "
          "must be from 0 to 1, got ",
          options.mlm_probability, ", ", options.mask_replace_prob, ", ",
          options.random_replace_prob, " and ",
          options.mask_replace_prob + options.random_replace_prob);
}

}  // namespace

std::vector<Example> token_windows(std::span<const index_t> tokens, index_t length,
                                   std::optional<index_t> cls) {
  const index_t room = length - (cls ? 1 : 0);
  require(room >= 1, "token_windows", "length must be at least ", cls ? 2 : 1, ", got ", length);
  const auto step = static_cast<std::size_t>(room);
  std::vector<Example> windows;
  for (std::size_t begin = 0; begin < tokens.size(); begin += step) {
    const auto part = tokens.subspan(begin, std::min(step, tokens.size() - begin));
    Example& window = windows.emplace_back();
    if (cls) window.ids.push_back(*cls);
    window.ids.insert(window.ids.end(), part.begin(), part.end());
  }
  return windows;
}

MaskedTokens mask_tokens(const Tensor& ids, const SpecialTokens& special, index_t vocab_size,
                         Rng& rng, const MaskTokensOptions& options) {
  check(ids, special, vocab_size, options);
  const OrdinaryTokens ordinary(special, vocab_size);
  MaskedTokens result{ids.clone(), full(ids.shape(), kIgnoreIndex, kInt64), 0};
  auto* seen = result.ids.mutable_data<index_t>();
  auto* labels = result.labels.mutable_data<index_t>();
  const index_t count = ids.count();
  // One block per token, so that the treatment of a token does not depend on the others.
  const std::uint64_t first = rng.take_blocks(count);
  const auto block = [&](index_t i) { return rng.block(first + static_cast<std::uint64_t>(i)); };
  const auto hide = [&](index_t i) {
    const PhiloxBlock words = block(i);
    const double fate = unit(words[1]);
    labels[i] = seen[i];
    if (fate < options.mask_replace_prob) {
      seen[i] = *special.mask;
    } else if (fate < options.mask_replace_prob + options.random_replace_prob) {
      seen[i] = ordinary.draw(words[2]);
    }
    ++result.count;
  };
  index_t luckiest = -1;  // of the tokens that can be chosen, and its draw
  double lowest = 1;
  for (index_t i = 0; i < count; ++i) {
    require(seen[i] >= 0 && seen[i] < vocab_size, "mask_tokens",
            "ids must be at least 0 and below vocab_size ", vocab_size, ", got ", seen[i]);
    if (special.contains(seen[i])) continue;
    const double draw = unit(block(i)[0]);
    if (draw < lowest) {
      lowest = draw;
      luckiest = i;
    }
    if (draw < options.mlm_probability) hide(i);
  }
  if (result.count == 0 && luckiest >= 0 && options.mlm_probability > 0) hide(luckiest);
  return result;
}

Tensor special_mask(const Tensor& ids, const SpecialTokens& special) {
  Tensor result = zeros_like(ids, kBool);
  for (const index_t id : special.ids()) result = logical_or(result, eq(ids, id));
  return result;
}

Tensor places_of(const Tensor& labels) {
  const std::vector<index_t> flat = labels.to_vector<index_t>();
  std::vector<index_t> places;
  for (std::size_t i = 0; i < flat.size(); ++i) {
    if (flat[i] != kIgnoreIndex) places.push_back(static_cast<index_t>(i));
  }
  return from_vector(places);
}

}  // namespace tessera::text
