#include "tessera/tensor/io/npy.h"

#include <cstring>
#include <locale>

#include "tessera/tensor/create.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

/// A .npy file of this dict, unpadded, and these elements.
std::string npy(const std::string& dict, const std::string& elements, int major = 1) {
  const std::string header = dict + "\n";
  return std::string("\x93NUMPY") + static_cast<char>(major) + '\0' +
         little_endian(header.size(), major == 1 ? 2 : 4) + header + elements;
}

std::string dict(const std::string& descr, const std::string& shape,
                 const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

/// While in scope, the locale writes a thousand as 1,000.
class ThousandsLocale {
 public:
  ThousandsLocale() : old_(std::locale::global(std::locale(std::locale(), new Punctuation))) {}
  ~ThousandsLocale() { std::locale::global(old_); }
  ThousandsLocale(const ThousandsLocale&) = delete;
  ThousandsLocale& operator=(const ThousandsLocale&) = delete;

 private:
  struct Punctuation : std::numpunct<char> {
    char do_thousands_sep() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale old_;
};

Tensor load(const std::string& bytes) {
  const TemporaryFolder folder;
  return load_npy(folder.write("x.npy", bytes));
}

/// The error of loading `bytes`, without the file's name in front.
std::string npy_error(const std::string& bytes) {
  return test::error_of_bytes(bytes, load_npy);
}

template <class T>
std::string raw(const std::vector<T>& values, bool swap = false) {
  std::string bytes;
  for (const T value : values) {
    std::string one(sizeof(T), '\0');
    std::memcpy(one.data(), &value, sizeof(T));
    bytes += swap ? std::string(one.rbegin(), one.rend()) : one;
  }
  return bytes;
}

template <class T>
void expect_integers(const std::string& code) {
  const std::vector<T> values = {0, 1, std::numeric_limits<T>::min(),
                                 std::numeric_limits<T>::max()};
  const std::vector<index_t> expected(values.begin(), values.end());
  for (const bool swap : {false, true}) {
    const std::string descr = (swap ? ">" : "<") + code;
    const Tensor loaded = load(npy(dict(descr, "(4,)"), raw(values, swap)));
    EXPECT_EQ(loaded.to_vector<index_t>(), expected) << descr;
  }
}

TEST(LoadNpy, IntegersBecomeInt64) {
  expect_integers<std::int8_t>("i1");
  expect_integers<std::int16_t>("i2");
  expect_integers<std::int32_t>("i4");
  expect_integers<index_t>("i8");
  expect_integers<std::uint8_t>("u1");
  expect_integers<std::uint16_t>("u2");
  expect_integers<std::uint32_t>("u4");
  EXPECT_EQ(load(npy(dict("|u1", "(2,)"), "\x07\xff")).to_vector<index_t>(),
            (std::vector<index_t>{7, 255}));
}

TEST(LoadNpy, FloatsAndBools) {
  const std::vector<float> floats = {1.5f, -0.0f, std::numeric_limits<float>::infinity()};
  EXPECT_EQ(load(npy(dict("<f4", "(3,)"), raw(floats))).to_vector<float>(), floats);
  EXPECT_EQ(load(npy(dict(">f4", "(3,)"), raw(floats, true))).to_vector<float>(), floats);
  const std::vector<double> doubles = {0.1, -1e300};
  EXPECT_EQ(load(npy(dict("<f8", "(2,)"), raw(doubles))).to_vector<double>(), doubles);
  EXPECT_EQ(load(npy(dict(">f8", "(2,)"), raw(doubles, true))).to_vector<double>(), doubles);
  const Tensor flags = load(npy(dict("|b1", "(3,)"), std::string("\x01\x00\x02", 3)));
  EXPECT_EQ(flags.to_vector<bool>(), (std::vector<bool>{true, false, true}));
  unsigned char byte = 0;  // a bool of any other representation would be undefined behaviour
  std::memcpy(&byte, flags.data<bool>() + 2, 1);
  EXPECT_EQ(byte, 1);
}

TEST(LoadNpy, EveryHalf) {
  std::string bytes;
  for (std::uint64_t bits = 0; bits < 65536; ++bits) bytes += little_endian(bits, 2);
  const Tensor loaded = load(npy(dict("<f2", "(65536,)"), bytes));
  ASSERT_EQ(loaded.dtype(), kFloat32);
  const float* values = loaded.data<float>();
  for (int bits = 0; bits < 65536; ++bits) {
    const int exponent = bits >> 10 & 31;
    const double fraction = (bits & 1023) / 1024.0;
    double expected =
        exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
    if (exponent == 31) expected = fraction == 0 ? INFINITY : NAN;
    if (bits >= 32768) expected = -expected;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(values[bits])) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(values[bits]), expected) << bits;
      ASSERT_EQ(std::signbit(values[bits]), bits >= 32768) << bits;
    }
  }
}

TEST(LoadNpy, FortranOrder) {
  const std::vector<float> stored = {1, 4, 2, 5, 3, 6};
  const Tensor x = load(npy(dict("<f4", "(2, 3)", "True"), raw(stored)));
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(LoadNpy, ShapesOfEveryKind) {
  EXPECT_EQ(load(npy(dict("<f4", "()"), raw<float>({2}))).shape(), Shape());
  EXPECT_EQ(load(npy(dict("<f4", "(0,)"), "")).shape(), Shape{0});
  EXPECT_EQ(load(npy(dict("<f4", "(3, 0, 5)", "True"), "")).shape(), (Shape{3, 0, 5}));
  EXPECT_EQ(load(npy(dict("<f4", "(1,2)"), raw<float>({1, 2}))).shape(), (Shape{1, 2}));
  EXPECT_EQ(load(npy(dict("<f4", "(2L,)"), raw<float>({1, 2}))).shape(), Shape{2});
  EXPECT_EQ(load(npy(dict("|i1", "(1, 1, 1, 1, 1, 1, 1, 1)"), "x")).rank(), 8);
}

TEST(LoadNpy, LargerThanOneChunk) {
  std::vector<std::int32_t> values(20001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * i % 65537) - 9;
  EXPECT_EQ(load(npy(dict(">i4", "(20001,)"), raw(values, true))).to_vector<index_t>(),
            std::vector<index_t>(values.begin(), values.end()));
}

TEST(LoadNpy, VersionsAndSpellings) {
  const std::string one = raw<float>({1});
  for (int major : {1, 2, 3}) EXPECT_EQ(load(npy(dict("<f4", "(1,)"), one, major)).count(), 1);
  for (const char* text : {
           "{'shape': (1,), 'fortran_order': False, 'descr': '<f4'}",
           "{\"fortran_order\":False,\"descr\":\"<f4\",\"shape\":(1,)}",
           "  { 'descr' : '<f4' ,\n 'shape' : ( 1 , ) , 'fortran_order' : False , }     \n  ",
       }) {
    EXPECT_EQ(load(npy(text, one)).item<float>(), 1.0f) << text;
  }
}

TEST(LoadNpy, PreambleErrors) {
  EXPECT_EQ(npy_error(""), "must be a .npy file, got only 0 bytes");
  EXPECT_EQ(npy_error("PK\x03\x04 and so on"), "byte 0: must be \\x93NUMPY, as in a .npy file");
  std::string version = npy(dict("<f4", "()"), raw<float>({1}));
  version[6] = 4;
  EXPECT_EQ(npy_error(version), "byte 6: version must be 1.0, 2.0 or 3.0, got 4.0");
  version[6] = 1;
  version[7] = 1;
  EXPECT_EQ(npy_error(version), "byte 6: version must be 1.0, 2.0 or 3.0, got 1.1");
  EXPECT_EQ(
      npy_error(npy(dict("<f4", "()") + std::string(10000, ' '), raw<float>({1}))).substr(0, 52),
      "byte 8: header must have at most 10000 bytes, got 10");
  EXPECT_EQ(npy_error(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)),
            "byte 8: header must have at most 10000 bytes, got 4294967295");
  EXPECT_EQ(npy_error(std::string("\x93NUMPY\x01\x00\x20\x00{", 11)),
            "byte 8: header must fit the remaining 1 bytes, got 32");
}

TEST(LoadNpy, HeaderErrors) {
  const auto header_error = [](const std::string& text) { return npy_error(npy(text, "")); };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "header, character 1: must be '{'"},
      {"{}", "header: must have the key 'descr'"},
      {"{'descr': '<f4', 'shape': (1,)}", "header: must have the key 'fortran_order'"},
      {"{'descr': '<f4', 'fortran_order': False}", "header: must have the key 'shape'"},
      {"{'descr': '<f4', 'more': 1}",
       "header, character 23: key must be 'descr', 'fortran_order' or 'shape', got 'more'"},
      {"{'\x1b': 1}",
       "header, character 4: key must be 'descr', 'fortran_order' or 'shape', got '\\x1b'"},
      {"{'descr': '<f4', 'descr': '<f4'}",
       "header, character 24: keys must be different, got 'descr' twice"},
      {"{'descr' '<f4'}", "header, character 9: must be ':'"},
      {"{'descr': '<f4", "header, character 10: string must end in a quote"},
      {"{'descr': 'a\\'b'}", "header, character 10: string must not have escapes"},
      {"{'descr': [('a', '<f4')]}",
       "header, character 10: must be a dtype in quotes (lists of fields cannot be loaded)"},
      {"{'fortran_order': 0}", "header, character 18: must be True or False"},
      {"{,}", "header, character 1: must be a key in quotes"},
      {"{'descr': '<f4' 'shape': ()}", "header, character 16: must be '}'"},
      {dict("<f4", "()") + "x",
       "header, character 55: must be the end of the header, got text after the dict"},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(header_error(text), error) << text;
}

TEST(LoadNpy, ShapeErrors) {
  const auto shape_error = [](const std::string& shape) {
    return npy_error(npy("{'shape': " + shape + "}", ""));
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[1]", "10: must be '('"},
      {"3", "10: must be '('"},
      {"(3)", "12: must be ',' (a tuple of one size is written (3,))"},
      {"(-1,)", "11: must be a size"},
      {"(,)", "11: must be a size"},
      {"(1,,2)", "13: must be a size"},
      {"(1.0, 2)", "12: must be ',' (a tuple of one size is written (3,))"},
      {"(2, 3e1)", "15: must be ')'"},
      {"(01,)", "11: size must not have leading zeros"},
      {"(9223372036854775808,)", "11: size must fit int64"},
      {"(1, 1, 1, 1, 1, 1, 1, 1, 1)", "35: number of axes must be at most 8"},
      {"(1, 2", "15: must be ')'"},
  };
  for (const auto& [shape, error] : cases)
    EXPECT_EQ(shape_error(shape), "header, character " + error) << shape;
}

TEST(LoadNpy, ShapesTooLargeToCount) {
  for (const char* shape : {
           "(4611686018427387904, 4611686018427387904)",  // wraps to 0
           "(2, 9223372036854775807)",
           "(4611686018427387904,)",  // fits, but its bytes do not
           "(0, 4611686018427387904, 4611686018427387904)",
       }) {
    EXPECT_TRUE(contains(npy_error(npy(dict("<f4", shape), "")), "number of bytes must fit int64"))
        << shape;
  }
}

TEST(LoadNpy, DtypeErrors) {
  EXPECT_EQ(npy_error(npy(dict("|O", "(1,)"), "xxxxxxxx")),
            "header: dtype must be bool or numeric, got Python objects ('O')");
  for (const char* descr : {"<u8", "<c8", "<f16", "<U3", "|S1", "|V2", "<M8[s]", "f4", "=f4", "|f4",
                            "", "<", "<f", "<f44", "<i3"}) {
    EXPECT_EQ(npy_error(npy(dict(descr, "(0,)"), "")),
              "header: dtype must be bool, int8 to int64, uint8 to uint32, float16, float32 or "
              "float64, got " +
                  printable(descr));
  }
}

TEST(LoadNpy, TheLengthMustBeExact) {
  EXPECT_EQ(npy_error(npy(dict("<f4", "(2,)"), raw<float>({1}))),
            "byte 68: shape (2,) of float32 must have 8 bytes, got 4");
  EXPECT_EQ(npy_error(npy(dict("<f4", "(2,)"), raw<float>({1, 2}) + "x")),
            "byte 68: shape (2,) of float32 must have 8 bytes, got 9");
  // Memory must not be allocated for this one.
  EXPECT_TRUE(contains(npy_error(npy(dict("|u1", "(1000000000000000000,)"), "")),
                       "must have 1000000000000000000"));
}

TEST(LoadNpy, Int32IsCalledInt32) {
  const TemporaryFolder folder;
  const std::string whole = npy(dict("<i4", "(2,)"), raw<std::int32_t>({1, 2}));
  EXPECT_EQ(npy_dtype(folder.write("x.npy", whole)), "int32");
  EXPECT_EQ(npy_dtype(folder.write("x.npy", npy(dict("|b1", "(1,)"), "1"))), "bool");
  EXPECT_EQ(npy_dtype(folder.write("x.npy", npy(dict(">f2", "(0,)"), ""))), "float16");
  EXPECT_EQ(npy_error(whole + "x"), "byte 68: shape (2,) of int32 must have 8 bytes, got 9");
}

TEST(LoadNpy, SurvivesEveryCutAndEveryChangedByteOfTheHeader) {
  const TemporaryFolder folder;
  save_npy(folder.path() / "whole.npy", tensor({{1.0, 2.0}, {3.0, 4.0}}));
  const std::string bytes = folder.read("whole.npy");
  ASSERT_EQ(bytes.size(), 128u + 16);
  test::expect_cuts_refused(bytes, load_npy);
  const std::vector<int> flips = {1, 2, 4, 8, 16, 32, 64, 128, 255};
  test::expect_changes_survived(bytes, 128, flips,
                                [](const auto& path) { EXPECT_EQ(load_npy(path).count(), 4); });
}

TEST(SaveNpy, WritesTheBytesNumPyWrites) {
  const TemporaryFolder folder;
  save_npy(folder.path() / "a.npy", tensor({{1, 2, 3}, {4, 5, 6}}, kFloat32));
  EXPECT_EQ(folder.read("a.npy"), std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                                      dict("<f4", "(2, 3)") + std::string(58, ' ') + "\n" +
                                      raw<float>({1, 2, 3, 4, 5, 6}));
  save_npy(folder.path() / "b.npy", tensor({true}));
  EXPECT_EQ(folder.read("b.npy").substr(10, 56), dict("|b1", "(1,)").substr(0, 56));
}

TEST(SaveNpy, RoundTrips) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.npy";
  const Tensor base = arange(60).reshape({3, 4, 5});
  for (const DType dtype : {kBool, kInt64, kFloat32, kFloat64}) {
    const Tensor x = base.to(dtype);
    for (const Tensor& view : {x, x.transpose(0, 2), x.slice(1, {}, {}, -2), x.select(0, 1),
                               x.select(0, 0).select(0, 0).select(0, 3), x.slice(2, 0, 0)}) {
      save_npy(path, view);
      const Tensor loaded = load_npy(path);
      EXPECT_EQ(loaded.dtype(), dtype);
      EXPECT_EQ(loaded.shape(), view.shape());
      EXPECT_EQ(loaded.to(kFloat64).to_vector<double>(), view.to(kFloat64).to_vector<double>());
      EXPECT_EQ(std::filesystem::file_size(path) % 64,
                static_cast<std::uintmax_t>(view.count() * item_size(dtype)) % 64);
    }
  }
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(SaveNpy, Errors) {
  const TemporaryFolder folder;
  EXPECT_THROW(save_npy(folder.path() / "x.npy", Tensor()), std::invalid_argument);
  EXPECT_TRUE(contains(file_error([&] { save_npy(folder.path() / "no" / "x.npy", tensor(1)); }),
                       "x.npy: "));
  EXPECT_EQ(folder.file_count(), 0);
}

TEST(SaveNpy, DoesNotDependOnTheLocale) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.npy";
  const ThousandsLocale locale;
  save_npy(path, zeros({1000, 2}));
  EXPECT_EQ(load_npy(path).shape(), (Shape{1000, 2}));
}

}  // namespace
}  // namespace tessera
