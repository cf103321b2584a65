#include "models/hugging_face/detail/family.h"

#include <array>
#include <string>

#include "models/hugging_face/detail/families.h"

namespace tessera::models {

namespace {

constexpr std::array kFamilies = {
    &families::kBert,       &families::kRoberta,   &families::kXlmRoberta, &families::kCamembert,
    &families::kDistilBert, &families::kMpnet,     &families::kAlbert,     &families::kElectra,
    &families::kModernBert, &families::kNomicBert, &families::kGte,
};

/// Encoders that users may try, and the reason why they are not supported.
struct Refusal {
  std::string_view name;
  std::string_view why;
};
constexpr Refusal kRefused[] = {
    {"deberta", "its attention needs relative position terms, which are unsupported"},
    {"deberta-v2", "its attention needs relative position terms, which are unsupported"},
    {"neobert", "its projections are packed by head, which is unsupported"},
};

}  // namespace

std::span<const Family* const> all_families() {
  return kFamilies;
}

const Family& family_of(const Json& config) {
  const Json type = config.at("model_type");
  const std::string_view name = type.text();
  for (const Family* family : kFamilies) {
    if (family->name == name) return *family;
  }
  for (const Refusal& refused : kRefused) {
    if (refused.name != name) continue;
    type.fail("must be a supported family, got ", type.described(), "; ", refused.why);
  }
  std::string known;
  for (const Family* family : kFamilies) {
    known += (known.empty() ? "" : ", ") + std::string(family->name);
  }
  type.fail("must be one of ", known, ", got ", type.described());
}

}  // namespace tessera::models
