// Tensors that are views of a file, each with its own mapping.
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>

#include "tessera/tensor/create.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/safetensors.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

constexpr index_t kCount = 20000;  // 78 KiB of float32, so that pages are shared with neighbours

/// A file with "v", "w" and "x" in this order: 0, 1, ..., each with a different start.
class MappedSafetensors : public ::testing::Test {
 protected:
  MappedSafetensors() {
    save_safetensors(path_, {{"v", numbers(0)}, {"w", numbers(1e5)}, {"x", numbers(2e5)}});
    bytes_ = folder_.read("f");
  }

  static Tensor numbers(double start) { return arange(start, start + kCount).to(kFloat32); }
  static void expect_numbers(const Tensor& x, double start) {
    EXPECT_EQ(x.to_vector<float>(), numbers(start).to_vector<float>());
  }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "f";
  std::string bytes_;
};

TEST_F(MappedSafetensors, AreNotCopied) {
  const MemoryStats before = memory_stats();
  {
    const Safetensors file = load_safetensors(path_);
    EXPECT_EQ(memory_stats().in_use, before.in_use);
    EXPECT_EQ(memory_stats().borrowed - before.borrowed, 3 * 4 * kCount);
    const Tensor& w = file.tensors.at("w");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tensors.at("v").data<float>()) % 64, 0U);
    EXPECT_FALSE(w.storage() == file.tensors.at("v").storage());
    EXPECT_EQ(w.offset(), 0);
    expect_numbers(w, 1e5);
  }
  EXPECT_EQ(memory_stats().borrowed, before.borrowed);
}

TEST_F(MappedSafetensors, AreTheLoadersTypesAtPlacesOfTheirSize) {
  const std::size_t count = 9000;
  const auto borrowed = [&](const std::string& dtype, std::size_t size, std::size_t shift) {
    std::string header = R"({"w":{"dtype":")" + dtype + R"(","shape":[9000],"data_offsets":[0,)" +
                         std::to_string(count * size) + "]}}";
    header.append((8 - header.size() % 8) % 8 + shift, ' ');
    std::string data;
    for (std::size_t i = 0; i < count; ++i) data += little_endian(i % 50, static_cast<int>(size));
    const auto path = folder_.write("g", little_endian(header.size(), 8) + header + data);
    const index_t before = memory_stats().borrowed;
    const Tensor w = load_safetensors(path).tensors.at("w");
    if (w.dtype() == kInt64) {
      EXPECT_EQ(w.item_at<index_t>({8999}), 8999 % 50) << dtype << ' ' << shift;
    }
    return memory_stats().borrowed - before;
  };
  for (std::size_t shift = 0; shift < 8; ++shift) {
    EXPECT_EQ(borrowed("I64", 8, shift), shift == 0 ? 72000 : 0) << shift;
    EXPECT_EQ(borrowed("F64", 8, shift), shift == 0 ? 72000 : 0) << shift;
  }
  EXPECT_EQ(borrowed("I32", 4, 0), 0);
  EXPECT_EQ(borrowed("BF16", 2, 0), 0);
}

TEST_F(MappedSafetensors, BoolsAreChecked) {
  std::string data(70000, '\0');
  data[69999] = 2;
  std::string header = R"({"w":{"dtype":"BOOL","shape":[70000],"data_offsets":[0,70000]}})";
  const Tensor w =
      load_safetensors(folder_.write("g", little_endian(header.size(), 8) + header + data))
          .tensors.at("w");
  EXPECT_EQ(static_cast<const unsigned char*>(w.untyped_data())[69999], 1);
}

TEST_F(MappedSafetensors, WritesReachNeitherTheFileNorOthers) {
  const SafetensorsFile file(path_);
  const Tensor v = file.read("v");
  const Tensor x = file.read("x");
  const Tensor again = file.read("w");
  const std::uint64_t version = again.storage().version();
  {
    Tensor w = file.read("w");
    EXPECT_NE(w.storage().version(), version);
    w.fill(-1);
    EXPECT_EQ(w.item_at({kCount - 1}), -1);
    expect_numbers(file.read("w"), 1e5);
  }
  EXPECT_EQ(again.storage().version(), version);
  expect_numbers(again, 1e5);
  expect_numbers(v, 0);
  expect_numbers(x, 2e5);
  EXPECT_EQ(folder_.read("f"), bytes_);
}

TEST_F(MappedSafetensors, TheirMemoryGoesWithThemAndNoOther) {
  const SafetensorsFile file(path_);
  Tensor v = file.read("v");
  v.fill(5);
  const Tensor x = file.read("x");
  Tensor w = file.read("w");
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto* const first = reinterpret_cast<void*>(
      (reinterpret_cast<std::uintptr_t>(w.data<float>()) + page - 1) / page * page);
  EXPECT_EQ(::msync(first, page, MS_ASYNC), 0);
  w = Tensor();
  EXPECT_EQ(::msync(first, page, MS_ASYNC), -1) << "still mapped";
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(v.to_vector<float>(), std::vector<float>(kCount, 5.0F));
  expect_numbers(x, 2e5);
}

TEST_F(MappedSafetensors, OutliveTheirFile) {
  std::map<std::string, Tensor> old = load_safetensors(path_).tensors;
  save_safetensors(path_, {{"v", old.at("x")}, {"w", old.at("w") * 2}});  // over their own file
  expect_numbers(old.at("w"), 1e5);
  const std::map<std::string, Tensor> now = load_safetensors(path_).tensors;
  expect_numbers(now.at("v"), 2e5);
  EXPECT_EQ(now.at("w").item_at({3}), 2 * (1e5 + 3));
  std::filesystem::remove(path_);
  expect_numbers(old.at("x"), 2e5);
  expect_numbers(now.at("v"), 2e5);
}

TEST_F(MappedSafetensors, AFileThatBecameShorterIsAnError) {
  const SafetensorsFile file(path_);
  std::filesystem::resize_file(path_, bytes_.size() - 5);
  expect_numbers(file.read("w"), 1e5);
  EXPECT_TRUE(contains(file_error([&] { file.read("x"); }), "the end of the file"));
}

TEST_F(MappedSafetensors, OnlyWhatIsThereIsMapped) {
  const InputFile file(path_);
  EXPECT_EQ(file.map(0, 0), nullptr) << "no such mapping";
  EXPECT_EQ(file.map(file.size(), 1), nullptr);
  EXPECT_EQ(file.map(file.size() + 1, 0), nullptr);
  EXPECT_EQ(file.map(1, file.size()), nullptr);
  const auto end = file.map(file.size() - 3, 3);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(end.get()), 3),
            bytes_.substr(bytes_.size() - 3));
}

}  // namespace
}  // namespace tessera
