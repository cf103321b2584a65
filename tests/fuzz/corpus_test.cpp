// Every fuzz target on its corpus, so that no fixed error returns.

#include <string_view>

#include "tests/fuzz/target.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

const std::map<std::string, void (*)(std::string_view)> kTargets = {
    {"api", fuzz_api},
    {"checkpoint", fuzz_checkpoint},
    {"config", fuzz_config},
    {"npy", fuzz_npy},
    {"npz", fuzz_npz},
    {"safetensors", fuzz_safetensors},
    {"tokenizer", fuzz_tokenizer},
    {"tokenizer_config", fuzz_tokenizer_config},
    {"vocabulary", fuzz_vocabulary}};

/// The members of a tar archive: a header of 512 bytes with the name and, at 124, the size in octal
/// digits; then the contents, in whole blocks of 512 bytes.
std::map<std::string, std::string> members_of(const std::string& tar) {
  constexpr std::size_t kBlock = 512;
  std::map<std::string, std::string> members;
  for (std::size_t at = 0; at < tar.size() && tar[at] != '\0';) {
    const std::size_t size = std::stoul(tar.substr(at + 124, 11), nullptr, 8);
    members[tar.c_str() + at] = tar.substr(at + kBlock, size);
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
  return members;
}

TEST(FuzzCorpus, HoldsNoFinding) {
  for (const auto& [name, target] : kTargets) {
    const auto files =
        members_of(file_text(TESSERA_SOURCE_DIR "/tests/fuzz/corpus/" + name + ".tar"));
    EXPECT_GE(files.size(), 3U) << name;
    for (const auto& [file, bytes] : files) {
      EXPECT_EQ(finding(target, bytes), "") << name << ": " << file;
    }
  }
}

/// A .safetensors file of this header and no data.
std::string safetensors_of(const std::string& header) {
  return little_endian(header.size(), 8) + header;
}

/// `text`, `count` times.
std::string repeated(const std::string& text, int count) {
  std::string result;
  result.reserve(text.size() * static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

/// An archive whose list names `count` entries that do not exist.
std::string archive_of_nothing(int count) {
  const std::string list = repeated("PK\1\2" + std::string(42, '\0'), count);
  const auto number = static_cast<std::uint64_t>(count);
  return list + "PK\6\6" + std::string(20, '\0') + little_endian(number, 8) +
         little_endian(number, 8) + little_endian(list.size(), 8) + little_endian(0, 8) + "PK\6\7" +
         little_endian(0, 4) + little_endian(list.size(), 8) + little_endian(1, 4) + "PK\5\6" +
         little_endian(0, 4) + std::string(12, '\xff') + little_endian(0, 2);
}

// A fuzzer's files are small; these are large and consist of many small items.
TEST(FuzzCorpus, NoLargeFileTakesMuchMoreMemoryThanItHasBytes) {
  constexpr int kMany = 600000;
  EXPECT_EQ(finding(fuzz_npz, archive_of_nothing(kMany)), "");
  EXPECT_EQ(finding(fuzz_safetensors,
                    safetensors_of("{\"w\":{\"shape\":[" + repeated("0,", kMany) + "0]}}")),
            "");
  EXPECT_EQ(finding(fuzz_checkpoint,
                    safetensors_of("{\"__metadata__\":[" + repeated("[],", kMany) + "[]]}")),
            "");
  EXPECT_EQ(finding(fuzz_npy, "\x93NUMPY\2" + std::string(1, '\0') + "\xff\xff\xff\0" +
                                  std::string(1 << 24, '(')),
            "");
}

TEST(FuzzCorpus, FindsWhatATargetMustNotDo) {
  EXPECT_EQ(finding([](std::string_view) {}, ""), "");
  EXPECT_EQ(finding([](std::string_view) { throw std::runtime_error("no"); }, ""), "");
  EXPECT_NE(finding([](std::string_view) { throw std::runtime_error("a\nb"); }, ""), "");
  EXPECT_NE(finding([](std::string_view) { throw std::invalid_argument("no"); }, ""), "");
  EXPECT_NE(finding([](std::string_view) { expect(false, "no"); }, ""), "");
  const auto hoard = [](std::string_view) { expect(std::string(40 << 20, 'x').back() == 'x', ""); };
  EXPECT_EQ(finding(hoard, "").empty(), !counts_memory());
}

}  // namespace
}  // namespace tessera::test
