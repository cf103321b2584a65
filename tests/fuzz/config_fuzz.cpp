// A config.json: the options of its family's encoder, labels and scoring, each read or refused.
#include <stdexcept>

#include "tessera/models/hugging_face/detail/family.h"
#include "tessera/models/hugging_face/detail/heads.h"
#include "tests/fuzz/target.h"

namespace tessera::test {

namespace {

/// `body` may refuse the file, in one line.
template <class Body>
void refused_or_not(const Body& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    expect(std::string_view(error.what()).find('\n') == std::string_view::npos, "several lines");
  }
}

}  // namespace

void fuzz_config(std::string_view bytes) {
  const Json config = parse_json(bytes, "config.json", kSmallJson);
  refused_or_not([&] { models::read_labels(config); });
  refused_or_not([&] { models::text_scoring(config, 2); });
  refused_or_not([&] { models::pair_scoring(config, 1); });
  const models::Family& family = models::family_of(config);
  const models::TokenEncoderOptions options = family.options(config);
  expect(options.encoder.layers.size() <= 1024, "so many layers");
  if (family.group_size != nullptr) expect(family.group_size(config) > 0, "layers in no groups");
}

}  // namespace tessera::test
