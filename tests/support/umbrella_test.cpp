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

/// Whether `umbrella` includes every public header of the folders.
void expect_complete(const std::string& umbrella, const std::vector<std::string>& folders) {
  std::set<std::string> found = kByName;
  add_includes(umbrella, found);
  int headers = 0;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::directory_iterator(kRoot / folder)) {
      if (entry.path().extension() != ".h") continue;
      ++headers;
      const std::string header = folder + "/" + entry.path().filename().string();
      EXPECT_TRUE(found.contains(header)) << umbrella << " does not bring " << header;
    }
  }
  EXPECT_GT(headers, 3);
}

TEST(UmbrellaTest, OpsBringsEveryOp) {
  expect_complete("tensor/ops/ops.h", {"tensor/ops"});
}

TEST(UmbrellaTest, NnBringsNnAndTensor) {
  expect_complete("nn/nn.h",
                  {"nn", "nn/training", "tensor", "tensor/autograd", "tensor/io", "tensor/ops"});
}

const std::vector<std::string> kOfModels = {"models",          "models/text", "nn",
                                            "nn/training",     "tensor",      "tensor/io",
                                            "tensor/autograd", "tensor/ops"};

TEST(UmbrellaTest, ModelsBringsModelsTextNnAndTensor) {
  expect_complete("models/models.h", kOfModels);
}

TEST(UmbrellaTest, HuggingFaceBringsEverything) {
  std::vector<std::string> folders = kOfModels;
  folders.emplace_back("models/hugging_face");
  expect_complete("models/hugging_face/hugging_face.h", folders);
}

TEST(UmbrellaTest, PagesBringsItsFolder) {
  expect_complete("models/pages/pages.h", {"models/pages"});
}

}  // namespace
