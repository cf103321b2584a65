// One header is enough: models/models.h brings every public header, nn/nn.h those of nn and tensor,
// tensor/ops/ops.h every op.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// What is for the library itself; a header that is not named here is public.
const std::set<std::string> kPrivate = {
    "models/lengths.h",
    "nn/check.h",
    "nn/differences.h",
    "nn/multi_tensor.h",
    "tensor/autograd/recording.h",
    "tensor/io/elements.h",
    "tensor/io/file.h",
    "tensor/io/npy_header.h",
    "tensor/io/safetensors_header.h",
    "tensor/loop.h",
    "tensor/number_format.h",
    "tensor/ops/map.h",
    "tensor/reduction.h",
    "tensor/rows.h",
};

const fs::path kRoot = TESSERA_SOURCE_DIR;

/// Adds to `found` all of our headers that `header` includes, it and those of these.
void add_includes(const std::string& header, std::set<std::string>& found) {
  if (!found.insert(header).second) return;
  static const std::regex kInclude("^#include \"(.*)\"$");
  std::ifstream in(kRoot / header);
  EXPECT_TRUE(in.is_open()) << header;
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, match, kInclude)) add_includes(match[1], found);
  }
}

/// Whether `umbrella` brings every public header of the folders.
void expect_complete(const std::string& umbrella, const std::vector<std::string>& folders) {
  std::set<std::string> found;
  add_includes(umbrella, found);
  int headers = 0;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::directory_iterator(kRoot / folder)) {
      if (entry.path().extension() != ".h") continue;
      ++headers;
      const std::string header = folder + "/" + entry.path().filename().string();
      EXPECT_TRUE(found.contains(header) || kPrivate.contains(header))
          << umbrella << " does not bring " << header;
    }
  }
  EXPECT_GT(headers, 5);
}

TEST(UmbrellaTest, OpsBringsEveryOp) {
  expect_complete("tensor/ops/ops.h", {"tensor/ops"});
}

TEST(UmbrellaTest, NnBringsNnAndTensor) {
  expect_complete("nn/nn.h", {"nn", "tensor", "tensor/autograd", "tensor/io", "tensor/ops"});
}

TEST(UmbrellaTest, ModelsBringsEverything) {
  expect_complete("models/models.h",
                  {"models", "nn", "tensor", "tensor/autograd", "tensor/io", "tensor/ops"});
}

TEST(UmbrellaTest, PrivateHeadersExist) {
  for (const std::string& header : kPrivate) {
    EXPECT_TRUE(fs::exists(kRoot / header)) << header;
  }
}

}  // namespace
