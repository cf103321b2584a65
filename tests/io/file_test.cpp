#include "tessera/tensor/io/file.h"

#include <sys/stat.h>
#include <thread>

#include "tessera/tensor/io/detail/replacement.h"
#include "tessera/tensor/io/json.h"
#include "tessera/tensor/io/npy.h"
#include "tessera/tensor/io/safetensors.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

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
            path.string() + ": byte 10: must have 3 more bytes, got the end of the file");
}

TEST(InputFile, WantsARegularFile) {
  const TemporaryFolder folder;
  const auto open = [&](const char* name) { InputFile file(folder.path() / name); };
  EXPECT_EQ(file_error([&] { open("absent"); }),
            (folder.path() / "absent").string() + ": cannot open: No such file or directory");
  EXPECT_TRUE(contains(file_error([&] { open("."); }), "must be a regular file"));
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(contains(file_error([&] { open("pipe"); }), "must be a regular file"));
}

TEST(FileRegion, StaysWithinItself) {
  const TemporaryFolder folder;
  const InputFile file(folder.write("a", "0123456789"));
  const FileRegion region(file, 2, 5, "part");
  std::string text(5, ' ');
  region.read(0, text.data(), 5);
  EXPECT_EQ(text, "23456");
  EXPECT_EQ(file_error([&] { region.read(1, text.data(), 5); }),
            "part: byte 1: read must end inside the region of 5 bytes, got 5 bytes");
  EXPECT_FALSE(file_error([&] { region.read(-1, text.data(), 1); }).empty());
}

TEST(RefuseStandIn, NamesWhatADownloadLeftAndTheCure) {
  const TemporaryFolder folder;
  const auto refuse = [&](const std::string& bytes) {
    const auto path = folder.write("model", bytes);
    const std::string error = file_error([&] { refuse_incomplete_download(InputFile(path)); });
    EXPECT_TRUE(error.starts_with(path.string() + ": must be the file itself, got ")) << error;
    EXPECT_EQ(file_error([&] { load_safetensors(path); }), error);
    EXPECT_EQ(file_error([&] { load_npy(path); }), error);
    EXPECT_EQ(file_error([&] { load_npz(path); }), error);
    EXPECT_EQ(file_error([&] { read_json(path); }), error);
    return error;
  };
  EXPECT_TRUE(contains(
      refuse("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 437955512\n"),
      "a Git LFS pointer; run git lfs pull"));
  for (const char* page :
       {"<!DOCTYPE html>\n<html>", "<html lang=\"en\">", "\xef\xbb\xbf\n <!doctype HTML>"}) {
    EXPECT_TRUE(contains(refuse(page), "an HTML page; download the file itself"));
  }
}

TEST(RefuseStandIn, LetsOtherFilesPass) {
  const TemporaryFolder folder;
  for (const char* bytes : {"", "{}", "version 2", " ", "<", "<p>", "htm"}) {
    refuse_incomplete_download(InputFile(folder.write("other", bytes)));
  }
}

TEST(WriteFile, WritesAndReplaces) {
  const TemporaryFolder folder;
  const std::string a = "first ";
  const std::string b = "second";
  write_file(folder.path() / "f", {bytes_of(a), bytes_of(b)});
  EXPECT_EQ(folder.read("f"), "first second");
  write_file(folder.path() / "f", {bytes_of(b)});
  EXPECT_EQ(folder.read("f"), "second");
  EXPECT_EQ(folder.file_count(), 1);  // no temporary files remain
}

TEST(WriteFile, FailureLeavesTheOldFileAndNothingElse) {
  const TemporaryFolder folder;
  const std::string text = "x";
  std::filesystem::create_directory(folder.path() / "d");
  folder.write("d/inside", "old");
  const std::string error = file_error([&] { write_file(folder.path() / "d", {bytes_of(text)}); });
  EXPECT_TRUE(contains(error, (folder.path() / "d").string() + ": cannot replace"));
  EXPECT_EQ(folder.read("d/inside"), "old");
  EXPECT_EQ(folder.file_count(), 1);
  EXPECT_TRUE(
      contains(file_error([&] { write_file(folder.path() / "absent" / "f", {bytes_of(text)}); }),
               "cannot create"));
}

TEST(WriteFile, ReplacesNoDeviceOrPipe) {
  const TemporaryFolder folder;
  const std::string text = "x";
  const std::filesystem::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(pipe, folder.path() / "link");
  for (const char* name : {"pipe", "link"}) {
    EXPECT_EQ(file_error([&] { write_file(folder.path() / name, {bytes_of(text)}); }),
              (folder.path() / name).string() + ": must be a regular file to be replaced");
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link"));
  EXPECT_EQ(folder.file_count(), 2);
}

TEST(CheckWritable, FindsWhatWriteFileWouldAndLeavesNothing) {
  const TemporaryFolder folder;
  folder.write("old", "old");
  std::filesystem::create_directory(folder.path() / "d");
  check_writable(folder.path() / "new");
  check_writable(folder.path() / "old");
  EXPECT_EQ(folder.read("old"), "old");
  EXPECT_EQ(folder.file_count(), 2);
  for (const char* name : {"absent/f", "old/f", "d"}) {
    const std::string path = (folder.path() / name).string();
    EXPECT_TRUE(file_error([&] { check_writable(path); }).starts_with(path + ": ")) << name;
  }
  EXPECT_FALSE(file_error([] { check_writable("/dev/null"); }).empty());
  EXPECT_FALSE(file_error([] { check_writable(std::string(300, 'x')); }).empty());
}

TEST(WriteFile, RemovesWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  const std::string text = "x";
  folder.write(".tessera-1-0.tmp", "half a f");
  folder.write(".tessera-1-0.tmp.txt", "not ours");
  folder.write("tessera-1-0.tmp", "not ours");
  std::filesystem::create_directories(folder.path() / ".tessera-1-1.tmp" / "half");
  write_file(folder.path() / "f", {bytes_of(text)});
  EXPECT_FALSE(std::filesystem::exists(folder.path() / ".tessera-1-0.tmp"));
  EXPECT_EQ(folder.file_count(), 3);
}

TEST(Replacement, KeepsEachFolderThatCannotTakeThePlace) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "d");
  for (int saves = 1; saves <= 2; ++saves) {
    // "." is not a name that a folder can have.
    detail::Replacement made(folder.path() / "d" / ".", detail::Replacement::Kind::kFolder);
    write_text(made.path() / "model", "x");
    EXPECT_TRUE(contains(file_error([&] { made.take_the_place(); }), "the new folder is"));
    int kept = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "d")) {
      EXPECT_TRUE(contains(entry.path().string(), ".saving-"));
      EXPECT_TRUE(std::filesystem::exists(entry.path() / "model"));
      ++kept;
    }
    EXPECT_EQ(kept, saves);
  }
}

// On file systems that cannot exchange two names, it can be killed between two renames.
TEST(Replacement, RemovesNothingIfTheTargetHasItsOldName) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / ".tessera-d.old");
  std::filesystem::create_directory(folder.path() / ".tessera-1-0.tmp");
  const auto replace = [&] {
    const detail::Replacement made(folder.path() / "d", detail::Replacement::Kind::kFolder);
  };
  EXPECT_TRUE(contains(file_error(replace), "'.tessera-d.old'"));
  EXPECT_EQ(folder.file_count(), 2);
  std::filesystem::create_directory(folder.path() / "d");
  std::filesystem::create_directory(folder.path() / ".d.old");
  replace();
  EXPECT_EQ(folder.file_count(), 2);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / ".d.old")) << "is not ours";
}

TEST(FileLock, IsHeldByOneAtATimeAndLeavesNothing) {
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  {
    const auto lock = lock_folder(run, "checkpoint");
    EXPECT_TRUE(
        file_error([&] { lock_folder(run, "checkpoint"); }).starts_with(run + ": must not"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(run));
  lock_folder(run, "checkpoint");
  folder.write("file", "x");
  EXPECT_FALSE(file_error([&] { lock_folder(folder.path() / "file", "checkpoint"); }).empty());
}

TEST(SameFile, FollowsLinksAlsoToWhatIsNotThereYet) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return folder.path() / name; };
  folder.write("a", "x");
  folder.write("b", "x");
  std::filesystem::create_directory(path("d"));
  std::filesystem::create_hard_link(path("a"), path("hard"));
  std::filesystem::create_symlink("a", path("link"));
  std::filesystem::create_symlink("d/new", path("dangling"));
  std::filesystem::create_directory_symlink("d", path("e"));
  for (const char* name : {"a", "d/../a", "hard", "link"}) {
    EXPECT_TRUE(is_same_file(path(name), path("a"))) << name;
    EXPECT_FALSE(is_same_file(path(name), path("b"))) << name;
  }
  EXPECT_TRUE(is_same_file(path("dangling"), path("e/new")));
  EXPECT_FALSE(is_same_file(path("dangling"), path("d/other")));
  EXPECT_TRUE(is_in_folder(path("e/new"), path("d")));
  EXPECT_TRUE(is_in_folder(path("dangling"), path("d")));
  EXPECT_FALSE(is_in_folder(path("a"), path("d")));
  EXPECT_FALSE(is_in_folder(path("d"), path("d/deeper")));
}

TEST(WriteFile, WritersAtWorkDoNotDisturbEachOther) {
  const TemporaryFolder folder;
  constexpr int kWriters = 4;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 100; ++i) {
        const std::string text(static_cast<std::size_t>(20000 + i),
                               static_cast<char>('a' + writer));
        write_file(folder.path() / "shared", {bytes_of(text)});
        write_file(folder.path() / std::to_string(writer), {bytes_of(text)});
        const std::string read = folder.read("shared");
        EXPECT_EQ(read, std::string(read.size(), read.at(0)));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(folder.file_count(), 1 + kWriters);
}

}  // namespace
}  // namespace tessera
