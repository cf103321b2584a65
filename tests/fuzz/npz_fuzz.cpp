// A .npz file, unchanged and with correct checksums, which a changed entry would not have by
// chance.
#include "tessera/tensor/io/npy.h"

#include "tests/fuzz/same_tensor.h"
#include "tests/fuzz/target.h"

namespace tessera::test {

namespace {

std::size_t number(std::string_view bytes, std::size_t at, std::size_t width) {
  std::size_t value = 0;
  for (std::size_t i = width; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

/// CRC-32, bit by bit.
std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t sum = 0xffffffff;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~sum;
}

/// Sets the checksum of each entry in the list to that of its bytes, if they exist.
std::string with_checksums(std::string_view archive) {
  std::string result(archive);
  constexpr std::string_view kEntry = "PK\1\2";
  constexpr std::size_t kMost = 16;  // entries, so that overlapping ones take no time
  std::size_t at = 0;
  for (std::size_t i = 0; i < kMost; ++i, ++at) {
    at = archive.find(kEntry, at);
    if (at == std::string_view::npos || at + 46 > archive.size()) break;
    const std::size_t size = number(archive, at + 24, 4);
    const std::size_t local = number(archive, at + 42, 4);
    if (local > archive.size() || archive.size() - local < 30) continue;
    const std::size_t begin =
        local + 30 + number(archive, local + 26, 2) + number(archive, local + 28, 2);
    if (begin > archive.size() || size > archive.size() - begin) continue;
    const std::uint32_t sum = checksum(archive.substr(begin, size));
    for (std::size_t byte = 0; byte < 4; ++byte) {
      result[at + 16 + byte] = static_cast<char>(sum >> 8 * byte & 255);
    }
  }
  return result;
}

}  // namespace

void fuzz_npz(std::string_view bytes) {
  try {
    load_npz(fuzz_file("x.npz", with_checksums(bytes)));
  } catch (const std::runtime_error&) {  // the unchanged file has its own errors
  }
  for (const auto& [name, array] : load_npz(fuzz_file("x.npz", bytes))) {
    expect(same_tensor(array, array.clone()), "an array that cannot be read");
  }
}

}  // namespace tessera::test
