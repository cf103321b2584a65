#include "tessera/tensor/create.h"
#include "tessera/tensor/io/npy.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

/// CRC-32 bit by bit.
std::uint32_t crc32(const std::string& bytes) {
  std::uint32_t sum = 0xffffffff;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~sum;
}

std::string npy_bytes(const Tensor& tensor) {
  const TemporaryFolder folder;
  save_npy(folder.path() / "x.npy", tensor);
  return folder.read("x.npy");
}

/// One entry of an archive and its possible irregularities.
struct Member {
  std::string name;
  std::string data;
  std::uint64_t method = 0;
  std::uint64_t flags = 0;
  std::uint64_t checksum_error = 0;
  bool zip64 = false;  // sizes and offset in the zip64 field
};

constexpr std::uint64_t kFull32 = 0xffffffff;

/// Version, flags, method, time, date, checksum, stored size, size, name length: the common fields
/// of the local and the central header.
std::string common(const Member& m, bool local) {
  // numpy.savez writes every local header for zip64.
  const std::uint64_t size = local || m.zip64 ? kFull32 : m.data.size();
  return little_endian(45, 2) + little_endian(m.flags, 2) + little_endian(m.method, 2) +
         little_endian(0, 4) + little_endian(crc32(m.data) ^ m.checksum_error, 4) +
         little_endian(size, 4) + little_endian(size, 4) + little_endian(m.name.size(), 2);
}

std::string sizes64(const Member& m) {
  return little_endian(m.data.size(), 8) + little_endian(m.data.size(), 8);
}

std::string archive(const std::vector<Member>& members, bool zip64_end = false,
                    const std::string& comment = "") {
  std::string bytes;
  std::string list;
  for (const Member& m : members) {
    const std::uint64_t offset = bytes.size();
    bytes += "PK\3\4" + common(m, true) + little_endian(20, 2) + m.name + little_endian(1, 2) +
             little_endian(16, 2) + sizes64(m) + m.data;
    std::string extra = little_endian(0xcafe, 2) + little_endian(3, 2) + "abc";  // an unknown field
    if (m.zip64) {
      extra += little_endian(1, 2) + little_endian(24, 2) + sizes64(m) + little_endian(offset, 8);
    }
    list += "PK\1\2" + little_endian(45, 2) + common(m, false) + little_endian(extra.size(), 2) +
            little_endian(0, 2 + 2 + 2 + 4) + little_endian(m.zip64 ? kFull32 : offset, 4) +
            m.name + extra;
  }
  const std::uint64_t list_offset = bytes.size();
  bytes += list;
  if (zip64_end) {
    const std::uint64_t end64 = bytes.size();
    bytes += "PK\6\6" + little_endian(44, 8) + little_endian(45, 2) + little_endian(45, 2) +
             little_endian(0, 8) + little_endian(members.size(), 8) +
             little_endian(members.size(), 8) + little_endian(list.size(), 8) +
             little_endian(list_offset, 8);
    bytes += "PK\6\7" + little_endian(0, 4) + little_endian(end64, 8) + little_endian(1, 4);
  }
  const std::uint64_t count = zip64_end ? 0xffff : members.size();
  bytes += "PK\5\6" + little_endian(0, 4) + little_endian(count, 2) + little_endian(count, 2) +
           little_endian(zip64_end ? kFull32 : list.size(), 4) +
           little_endian(zip64_end ? kFull32 : list_offset, 4) + little_endian(comment.size(), 2) +
           comment;
  return bytes;
}

std::map<std::string, Tensor> load_archive(const std::string& bytes) {
  const TemporaryFolder folder;
  return load_npz(folder.write("x.npz", bytes));
}

std::string npz_error(const std::string& bytes) {
  return test::error_of_bytes(bytes, load_npz);
}

std::vector<Member> two_members() {
  return {{.name = "w.npy", .data = npy_bytes(tensor({{1.0, 2.0}, {3.0, 4.0}}))},
          {.name = "layer/b.npy", .data = npy_bytes(tensor({5, 6, 7}))}};
}

void expect_two(const std::map<std::string, Tensor>& arrays) {
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays.at("w").to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(arrays.at("w").shape(), (Shape{2, 2}));
  EXPECT_EQ(arrays.at("layer/b").to_vector<index_t>(), (std::vector<index_t>{5, 6, 7}));
}

TEST(LoadNpz, NamedArrays) {
  expect_two(load_archive(archive(two_members())));
  EXPECT_TRUE(load_archive(archive({})).empty());
}

TEST(LoadNpz, AComment) {
  expect_two(load_archive(
      archive(two_members(), false, "saved on a PK\5\6 Monday, with some words more")));
}

TEST(LoadNpz, Zip64) {
  std::vector<Member> members = two_members();
  expect_two(load_archive(archive(members, true)));
  members[1].zip64 = true;
  expect_two(load_archive(archive(members)));
  expect_two(load_archive(archive(members, true)));
}

TEST(LoadNpz, LargeEntriesAreChecksummedWhole) {
  const Tensor x = arange(40000);
  EXPECT_EQ(
      load_archive(archive({{.name = "x.npy", .data = npy_bytes(x)}})).at("x").to_vector<index_t>(),
      x.to_vector<index_t>());
}

TEST(LoadNpz, EntriesThatAreRefused) {
  const std::string data = npy_bytes(tensor({1.0}));
  EXPECT_EQ(
      npz_error(archive({{.name = "a.npy", .data = "squeezed", .method = 8}})),
      "entry 'a.npy': must not be compressed; save with numpy.savez, not numpy.savez_compressed");
  EXPECT_EQ(npz_error(archive({{.name = "a.npy", .data = data, .flags = 1}})),
            "entry 'a.npy': must not be encrypted");
  EXPECT_EQ(npz_error(archive({{.name = "a.txt", .data = data}})),
            "entry 'a.txt': name must end in .npy");
  EXPECT_EQ(npz_error(archive({{.name = std::string("\x1b\0é.txt", 8), .data = data}})),
            "entry '\\x1b\\x00é.txt': name must end in .npy");
  EXPECT_EQ(npz_error(archive({{.name = "a.npy", .data = data}, {.name = "a.npy", .data = data}})),
            "entry 'a.npy': names must be different, got this one twice");
  EXPECT_EQ(npz_error(archive({{.name = "a.npy", .data = data, .checksum_error = 1}})),
            "entry 'a.npy': data must have the stored checksum, got damaged data");
  EXPECT_EQ(npz_error(archive({{.name = "a.npy", .data = "nothing of that kind"}})),
            "entry 'a.npy': byte 0: must be \\x93NUMPY, as in a .npy file");
}

TEST(LoadNpz, EntriesMustNotShareBytes) {
  // A second line of the list that points to the first entry's data.
  std::string bytes =
      archive({{.name = "a.npy", .data = npy_bytes(zeros({100}))}, {.name = "b.npy", .data = ""}});
  const std::size_t first = bytes.find("PK\1\2");
  const std::size_t second = bytes.find("PK\1\2", first + 1);
  bytes.replace(second + 16, 12, bytes, first + 16, 12);
  EXPECT_EQ(npz_error(bytes), "entry 'b.npy': entries together must not be larger than the file");
}

TEST(LoadNpz, NotAnArchive) {
  const std::string missing =
      "must be a .npz file, got a file that is truncated or not a zip archive";
  EXPECT_EQ(npz_error(""), missing);
  EXPECT_EQ(npz_error(npy_bytes(tensor({1.0}))), missing);
  EXPECT_EQ(npz_error(std::string(100000, 'P')), missing);
}

TEST(LoadNpz, SurvivesEveryCutAndEveryChangedByte) {
  for (const bool zip64 : {false, true}) {
    test::expect_cuts_refused(archive(two_members(), zip64), load_npz);
  }
  std::vector<Member> members = two_members();
  members[1].zip64 = true;
  const std::string bytes = archive(members, true);
  // A field that says nothing about the arrays may change, or a letter of a name.
  test::expect_changes_survived(bytes, bytes.size(), {1, 0x80, 0xff},
                                [](const auto& path) { EXPECT_EQ(load_npz(path).size(), 2u); });
}

TEST(LoadNpz, ChangedDataIsNeverLoaded) {
  const std::vector<Member> members = two_members();
  const std::string bytes = archive(members);
  const std::size_t begin = bytes.find(members[0].data);
  for (std::size_t i = 0; i < members[0].data.size(); i += 3) {
    std::string changed = bytes;
    changed[begin + i] = static_cast<char>(changed[begin + i] ^ 4);
    EXPECT_EQ(npz_error(changed),
              "entry 'w.npy': data must have the stored checksum, got damaged data")
        << i;
  }
}

}  // namespace
}  // namespace tessera
