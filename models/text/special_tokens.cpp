#include "models/text/special_tokens.h"

#include <algorithm>

namespace tessera::text {

std::vector<index_t> SpecialTokens::ids() const {
  std::vector<index_t> ids;
  for (const auto& id : {pad, unknown, cls, sep, mask}) {
    if (id) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

bool SpecialTokens::contains(index_t id) const {
  return id == pad || id == unknown || id == cls || id == sep || id == mask;
}

}  // namespace tessera::text
