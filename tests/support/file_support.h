// A folder for a test's files, which is removed with the test, and checks of the loaders' errors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/errors.h"

namespace tessera::test {

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The files of a folder and its subfolders, by name.
inline std::map<std::string, std::string> folder_contents(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = file.path().lexically_relative(folder).string();
    files[name] = file.is_directory() ? "a folder" : file_text(file.path());
  }
  return files;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int counter = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("tessera_test_" + std::to_string(::getpid()) + "_" + std::to_string(counter++));
    std::filesystem::create_directory(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Writes a file of this folder with these bytes. (A new file: some file systems wait for the
  /// disk if a file is truncated and written again.)
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::filesystem::remove(path_ / name);
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  std::string read(const std::string& name) const { return file_text(path_ / name); }
  int file_count() const {
    return static_cast<int>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

/// The text of the std::runtime_error that `body` must throw; a failure of the test otherwise.
template <class Body>
std::string file_error(const Body& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// The error of `load` on a file of these bytes, without the file's name.
template <class Load>
std::string error_of_bytes(const std::string& bytes, const Load& load) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.write("x", bytes);
  const std::string text = file_error([&] { load(path); });
  EXPECT_TRUE(text.starts_with(path.string() + ": ")) << text;
  return text.substr(std::min(text.size(), path.string().size() + 2));
}

/// Checks that `load` refuses every shorter prefix of a file of these bytes.
template <class Load>
void expect_cuts_refused(const std::string& bytes, const Load& load) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.write("x", bytes);
  for (std::size_t size = bytes.size(); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    EXPECT_FALSE(file_error([&] { load(path); }).empty()) << size;
  }
}

/// Changes each of the first `count` bytes in turn, and checks that `load` reads the file or throws
/// a short error.
template <class Load>
void expect_changes_survived(const std::string& bytes, std::size_t count,
                             const std::vector<int>& flips, const Load& load) {
  const TemporaryFolder folder;
  for (std::size_t at = 0; at < count; ++at) {
    for (const int flip : flips) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      try {
        SCOPED_TRACE(at);
        load(folder.write("x", changed));  // some changed files are valid
      } catch (const std::runtime_error& error) {
        EXPECT_LE(std::string(error.what()).size(), 512U);
      }
    }
  }
}

/// Checks that `body` throws a std::runtime_error of one line that has `what`, or the parts of it
/// between "..." in this order.
template <class Body>
void expect_refused(const Body& body, const std::string& what) {
  const std::string text = file_error(body);
  EXPECT_FALSE(contains(text, "\n"));
  EXPECT_LE(text.size(), 700U) << text;
  std::size_t at = 0;  // where the last part ends
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 3) {
    end = what.find("...", begin);
    const std::string part = what.substr(begin, end - begin);
    ASSERT_TRUE(contains(std::string_view(text).substr(at), part)) << text;
    at = text.find(part, at) + part.size();
  }
}

/// `value` as `width` little-endian bytes.
inline std::string little_endian(std::uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(i < 8 ? value >> 8 * i & 255 : 0);
  return bytes;
}

}  // namespace tessera::test
