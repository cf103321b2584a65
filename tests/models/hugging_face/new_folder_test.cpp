// Folders that may be saved to, without loss of files.
#include "tessera/models/hugging_face/detail/new_folder.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tessera/models/hugging_face/save_folder.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;
using Path = std::filesystem::path;

class SaveTarget : public ::testing::Test {
 protected:
  const Path from = folders() / "bert";
  const TokenEncoder encoder = load_encoder(ModelFolder(from));
  const TemporaryFolder scratch;
  const Path to = scratch.path() / "to";

  std::string error(const Path& target, const SaveOptions& options = {}) const {
    const std::string text = file_error([&] { save_folder(target, from, encoder, options); });
    EXPECT_NE(text.find(target.string()), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  void refuse(const Path& target, const std::string& why, const SaveOptions& options = {}) const {
    const auto before = folder_contents(scratch.path());
    const std::string text = error(target, options);
    EXPECT_NE(text.find(why), std::string::npos) << text;
    EXPECT_EQ(folder_contents(scratch.path()), before);
  }
};

TEST_F(SaveTarget, IsNewOrEmptyOrReplacedOnRequest) {
  std::filesystem::create_directory(to);
  save_folder(to, from, encoder);
  refuse(to, "not empty");
  refuse(to, "not empty", {.dry_run = true});
  save_folder(to, from, encoder, {.overwrite = true, .dry_run = true});
  save_folder(scratch.path() / "another", from, encoder, {.dry_run = true});
  const auto before = folder_contents(to);
  save_folder(to, to, load_encoder(ModelFolder(to)), {.overwrite = true});  // onto itself
  EXPECT_EQ(folder_contents(to), before);
  EXPECT_EQ(scratch.file_count(), 1);
  std::ofstream(to / "notes.txt") << "mine";
  refuse(to, "'notes.txt'", {.overwrite = true});
  std::filesystem::remove(to / "notes.txt");
  std::filesystem::create_directory_symlink("to", scratch.path() / "link");
  save_folder(scratch.path() / "link", from, encoder, {.overwrite = true});
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path() / "link"));
}

// So that a process killed in between leaves a model there, the old one or the new one.
TEST_F(SaveTarget, IsThereAtAllTimes) {
  std::filesystem::create_directory(to);
  std::atomic<bool> ends = false;
  int missed = 0;
  std::thread watcher([&] {
    while (!ends) missed += std::filesystem::exists(to) ? 0 : 1;
  });
  for (int i = 0; i < 100; ++i) {
    NewFolder folder(to, true);
    std::ofstream(folder.path() / "config.json") << i;
    folder.take_the_place();
  }
  ends = true;
  watcher.join();
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(folder_contents(to).size(), 1U);
  EXPECT_EQ(scratch.file_count(), 1);
}

TEST_F(SaveTarget, HasADryRun) {
  save_folder(to, from, encoder, {.dry_run = true});
  EXPECT_EQ(scratch.file_count(), 0);
  save_folder(to, from, encoder);
  refuse(to, "not empty", {.dry_run = true});
  const auto before = folder_contents(scratch.path());
  save_folder(to, from, encoder, {.overwrite = true, .dry_run = true});
  EXPECT_EQ(folder_contents(scratch.path()), before);
  std::filesystem::create_directory(to / "more");
  std::ofstream(to / "more/notes.txt") << "mine";
  refuse(to, "'more", {.overwrite = true, .dry_run = true});
}

TEST_F(SaveTarget, IsRefusedWhereNoFolderCanBe) {
  scratch.write("file", "x");
  refuse(scratch.path() / "file", "must be a folder or absent, got a file");
  refuse(scratch.path() / "file", "must be a folder or absent, got a file", {.overwrite = true});
  refuse(scratch.path() / "file/to", "is not a folder");
  refuse(scratch.path() / "no/such/to", "is not a folder");
  error("/proc/no_such_folder");
  EXPECT_NE(error("/proc", {.overwrite = true}).find("mount point"), std::string::npos);
  refuse(scratch.path() / "file", "must be a folder or absent, got a file", {.dry_run = true});
}

TEST_F(SaveTarget, StaysAsItWasWhereSavingFails) {
  const EditedFolder edited("bert");
  std::filesystem::create_directory(edited.path() / "merges.txt");
  expect_refused([&] { save_folder(to, edited.path(), encoder); }, "merges.txt");
  EXPECT_TRUE(throws("save_folder",
                     {"word_embeddings", "give the folder that the model was made from"},
                     [&] { save_folder(to, folders() / "bert_old", encoder); }));
  EXPECT_TRUE(throws("save_folder", {"distilbert", "token_type_embeddings"},
                     [&] { save_folder(to, folders() / "distilbert", encoder); }));
  EXPECT_EQ(scratch.file_count(), 0);
}

}  // namespace
}  // namespace tessera::models
