// Every fuzz target on its corpus: what was found once stays mended.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "tests/fuzz/target.h"

namespace tessera::test {
namespace {

const std::map<std::string, void (*)(std::string_view)> kTargets = {
    {"checkpoint", fuzz_checkpoint}, {"npy", fuzz_npy}, {"npz", fuzz_npz},
    {"safetensors", fuzz_safetensors}};

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FuzzCorpus, HoldsNoFinding) {
  for (const auto& [name, target] : kTargets) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(TESSERA_SOURCE_DIR) / "tests/fuzz/corpus" / name)) {
      EXPECT_EQ(finding(target, read(entry.path())), "") << entry.path();
      ++files;
    }
    EXPECT_GT(files, 0) << name;
  }
}

TEST(FuzzCorpus, FindsWhatATargetMustNotDo) {
  EXPECT_EQ(finding([](std::string_view) {}, ""), "");
  EXPECT_EQ(finding([](std::string_view) { throw std::runtime_error("no"); }, ""), "");
  EXPECT_NE(finding([](std::string_view) { throw std::runtime_error("a\nb"); }, ""), "");
  EXPECT_NE(finding([](std::string_view) { throw std::invalid_argument("no"); }, ""), "");
  EXPECT_NE(finding([](std::string_view) { expect(false, "no"); }, ""), "");
}

}  // namespace
}  // namespace tessera::test
