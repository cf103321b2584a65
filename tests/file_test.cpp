#include "tensor/io/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/file_support.h"

namespace tessera {
namespace {

using test::file_error;
using test::TemporaryFolder;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span<const char>(text));
}

TEST(InputFile, ReadsByPosition) {
  const TemporaryFolder folder;
  const InputFile file(folder.write("a", "0123456789"));
  EXPECT_EQ(file.size(), 10);
  std::string text(4, ' ');
  file.read(3, text.data(), 4);
  EXPECT_EQ(text, "3456");
  file.read(10, text.data(), 0);
}

TEST(InputFile, ReadingPastTheEndNamesThePlace) {
  const TemporaryFolder folder;
  const auto path = folder.write("a", "0123456789");
  const InputFile file(path);
  std::string text(8, ' ');
  EXPECT_EQ(file_error([&] { file.read(5, text.data(), 8); }),
            path.string() + ": byte 10: the file ends, but 3 more are needed");
}

TEST(InputFile, WantsARegularFile) {
  const TemporaryFolder folder;
  const auto open = [&](const char* name) { InputFile file(folder.path() / name); };
  EXPECT_EQ(file_error([&] { open("absent"); }),
            (folder.path() / "absent").string() + ": cannot open: No such file or directory");
  EXPECT_NE(file_error([&] { open("."); }).find("not a regular file"), std::string::npos);
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_NE(file_error([&] { open("pipe"); }).find("not a regular file"), std::string::npos);
}

TEST(FileRegion, StaysWithinItself) {
  const TemporaryFolder folder;
  const InputFile file(folder.write("a", "0123456789"));
  const FileRegion region(file, 2, 5, "part");
  std::string text(5, ' ');
  region.read(0, text.data(), 5);
  EXPECT_EQ(text, "23456");
  EXPECT_EQ(file_error([&] { region.read(1, text.data(), 5); }),
            "part: byte 1: wanted 5 bytes of 5");
  EXPECT_FALSE(file_error([&] { region.read(-1, text.data(), 1); }).empty());
}

TEST(Printable, HidesControlCharactersAndLength) {
  EXPECT_EQ(printable("plain"), "'plain'");
  EXPECT_EQ(printable(std::string("a\x1b[2J\0\xff", 7)), "'a\\x1b[2J\\x00\\xff'");
  EXPECT_EQ(printable(std::string(81, 'x')), "'" + std::string(80, 'x') + "...'");
}

TEST(WriteFile, WritesAndReplaces) {
  const TemporaryFolder folder;
  const std::string a = "first ";
  const std::string b = "second";
  write_file(folder.path() / "f", {bytes_of(a), bytes_of(b)});
  EXPECT_EQ(folder.read("f"), "first second");
  write_file(folder.path() / "f", {bytes_of(b)});
  EXPECT_EQ(folder.read("f"), "second");
  EXPECT_EQ(folder.file_count(), 1);  // nothing temporary stays
}

TEST(WriteFile, FailureLeavesTheOldFileAndNothingElse) {
  const TemporaryFolder folder;
  const std::string text = "x";
  std::filesystem::create_directory(folder.path() / "d");
  folder.write("d/inside", "old");
  const std::string error = file_error([&] { write_file(folder.path() / "d", {bytes_of(text)}); });
  EXPECT_NE(error.find((folder.path() / "d").string() + ": cannot replace"), std::string::npos);
  EXPECT_EQ(folder.read("d/inside"), "old");
  EXPECT_EQ(folder.file_count(), 1);
  EXPECT_NE(file_error([&] {
              write_file(folder.path() / "absent" / "f", {bytes_of(text)});
            }).find("cannot create"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
