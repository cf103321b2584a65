// The tokens that no text contains.
#pragma once

#include <optional>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::text {

/// The numbers of a vocabulary's special tokens; those it does not have are absent.
///
/// Two may share a number: some vocabularies have one token for [CLS] and [SEP].
struct SpecialTokens {
  std::optional<index_t> pad = {};      // fills the rows of shorter texts in a batch
  std::optional<index_t> unknown = {};  // for tokens that are not in the vocabulary
  std::optional<index_t> cls = {};      // before a text
  std::optional<index_t> sep = {};      // after a text, and so between two
  std::optional<index_t> mask = {};     // for a token that the model has to guess

  /// All that are there, each once, in rising order.
  std::vector<index_t> ids() const;
  bool contains(index_t id) const;

  bool operator==(const SpecialTokens&) const = default;
};

}  // namespace tessera::text
