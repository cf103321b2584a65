// One header is enough: models/hugging_face/hugging_face.h includes every public header,
// models/models.h all except those of pretrained models, nn/nn.h those of nn and tensor,
// tensor/ops/ops.h every op. Headers in folders detail/ are private, and no public header includes
// them.
#include <filesystem>
#include <regex>

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = TESSERA_SOURCE_DIR;

/// Public headers for authors of ops or programs, who include them by name.
const std::set<std::string> kByName = {"tensor/autograd/recording.h", "tensor/io/file.h"};

/// Adds to `found` all of our headers that `header` includes, directly or indirectly.
void add_includes(const std::string& header, std::set<std::string>& found) {
  if (!found.insert(header).second) return;
  static const std::regex kInclude("^#include \"(.*)\"$");
  std::istringstream in(tessera::test::file_text(kRoot / header));
  EXPECT_FALSE(in.str().empty()) << header;
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, match, kInclude)) add_includes(match[1], found);
  }
}

TEST(UmbrellaTest, BringsThePublicHeadersOfItsFolders) {
  const std::vector<std::string> tensor = {"tensor", "tensor/autograd", "tensor/io", "tensor/ops"};
  const std::vector<std::string> nn = {"nn", "nn/training"};
  const std::vector<std::string> models = {"models", "models/text"};
  const std::vector<std::string> hugging_face = {"models/hugging_face"};
  using Groups = std::vector<std::vector<std::string>>;
  const std::vector<std::pair<std::string, Groups>> umbrellas = {
      {"tensor/ops/ops.h", {{"tensor/ops"}}},
      {"nn/nn.h", {tensor, nn}},
      {"models/models.h", {tensor, nn, models}},
      {"models/hugging_face/hugging_face.h", {tensor, nn, models, hugging_face}},
      {"models/pages/pages.h", {{"models/pages"}}}};
  for (const auto& [umbrella, groups] : umbrellas) {
    std::set<std::string> found = kByName;
    add_includes(umbrella, found);
    int headers = 0;
    for (const auto& group : groups) {
      for (const std::string& folder : group) {
        for (const auto& entry : fs::directory_iterator(kRoot / folder)) {
          if (entry.path().extension() != ".h") continue;
          ++headers;
          const std::string header = folder + "/" + entry.path().filename().string();
          EXPECT_TRUE(found.contains(header)) << umbrella << " does not bring " << header;
        }
      }
    }
    EXPECT_GT(headers, 3) << umbrella;
  }
}

}  // namespace
