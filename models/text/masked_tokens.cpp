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
  OrdinaryTokens(const SpecialTokens& special, index_t vocabulary_size)
      : special_(special.ids()), count_(vocabulary_size - std::ssize(special_)) {}

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

void check(const Tensor& ids, const SpecialTokens& special, index_t vocabulary_size,
           const MaskTokensOptions& options) {
  require(ids.dtype() == kInt64, "mask_tokens", "ids must be int64, got ", ids.dtype());
  for (const index_t id : special.ids()) {
    require(id >= 0 && id < vocabulary_size, "mask_tokens",
            "special tokens must be at least 0 and below vocabulary_size ", vocabulary_size,
            ", got ", id);
  }
  require(vocabulary_size > std::ssize(special.ids()) &&
              vocabulary_size <= std::numeric_limits<std::uint32_t>::max(),
          "mask_tokens", "vocabulary_size must be above ", special.ids().size(),
          ", the number of special tokens, and below 2^32, got ", vocabulary_size);
  require(special.mask || options.masked == 0, "mask_tokens",
          "special.mask must be a token that hides others, got none");
  const auto is_chance = [](double p) { return p >= 0 && p <= 1; };
  require(is_chance(options.chosen) && is_chance(options.masked) && is_chance(options.random) &&
              options.masked + options.random <= 1 + 1e-9,
          "mask_tokens", "chosen, masked, random and masked + random must be from 0 to 1, got ",
          options.chosen, ", ", options.masked, ", ", options.random, " and ",
          options.masked + options.random);
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

MaskedTokens mask_tokens(const Tensor& ids, const SpecialTokens& special, index_t vocabulary_size,
                         Rng& rng, const MaskTokensOptions& options) {
  check(ids, special, vocabulary_size, options);
  const OrdinaryTokens ordinary(special, vocabulary_size);
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
    if (fate < options.masked) {
      seen[i] = *special.mask;
    } else if (fate < options.masked + options.random) {
      seen[i] = ordinary.draw(words[2]);
    }
    ++result.count;
  };
  index_t luckiest = -1;  // of the tokens that can be chosen, and its draw
  double lowest = 1;
  for (index_t i = 0; i < count; ++i) {
    require(seen[i] >= 0 && seen[i] < vocabulary_size, "mask_tokens",
            "ids must be at least 0 and below vocabulary_size ", vocabulary_size, ", got ",
            seen[i]);
    if (special.contains(seen[i])) continue;
    const double draw = unit(block(i)[0]);
    if (draw < lowest) {
      lowest = draw;
      luckiest = i;
    }
    if (draw < options.chosen) hide(i);
  }
  if (result.count == 0 && luckiest >= 0 && options.chosen > 0) hide(luckiest);
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
