#include "tessera/tensor/io/safetensors.h"

#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/io/json.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;
using Tensors = std::map<std::string, Tensor>;

std::string file_of(const std::string& header, const std::string& data) {
  return little_endian(header.size(), 8) + header + data;
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

Safetensors load_bytes(const std::string& bytes) {
  const TemporaryFolder folder;
  return load_safetensors(folder.write("x.safetensors", bytes));
}

/// Opens a file that is refused, in both ways; the errors are the same.
void refuse(const std::filesystem::path& path) {
  const std::string text = file_error([&] { SafetensorsFile{path}; });
  EXPECT_EQ(file_error([&] { load_safetensors(path); }), text);
  throw std::runtime_error(text);
}

/// The error of loading `bytes`, without the file's name in front.
std::string safetensors_error(const std::string& bytes) {
  return test::error_of_bytes(bytes, refuse);
}

/// The error for a file whose header is `json` and whose data are `size` zero bytes.
std::string header_error(const std::string& json, std::size_t size = 8) {
  return safetensors_error(file_of(json, std::string(size, '\0')));
}

/// The error for one tensor "w" with this entry, in a file with 8 bytes of data.
std::string entry_error(const std::string& value) {
  return header_error(R"({"w":)" + value + "}");
}

TEST(SafetensorsFile, TellsWhatItHoldsAsItIsStored) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "x.safetensors", file_of(R"({"b":)" + entry("F16", "[2,3]", "[4,16]") + R"(,"a":)" +
                                   entry("I32", "[]", "[0,4]") + R"(,"__metadata__":{"k":"v"}})",
                               std::string(16, '\0')));
  const SafetensorsFile file(path);
  const std::vector<StoredTensor> stored = file.stored();
  ASSERT_EQ(stored.size(), 2U);
  EXPECT_EQ(stored[0].name, "a");
  EXPECT_EQ(stored[1].dtype, "F16");
  EXPECT_EQ(stored[1].shape, (Shape{2, 3}));
  EXPECT_EQ(stored[1].bytes, 12);
  EXPECT_EQ(file.metadata().at("k"), "v");
}

// Written by hand from the format's description: two tensors out of order, text about them, spaces
// after the JSON and a header whose length is not a multiple of 8.
TEST(LoadSafetensors, ReadsAFileWrittenByHand) {
  const std::string header = R"({ "b" : {"data_offsets":[8,20],"shape":[3],"dtype":"F32"},)"
                             R"("__metadata__":{"format":"pt","who":"\u00e9\n"},)"
                             R"("a":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}   )";
  const std::string one = {'\0', '\0', '\x80', '\x3f'};  // 1.0f
  const std::string half = {'\0', '\0', '\0', '\xbf'};   // -0.5f
  const std::string nan = {'\0', '\0', '\xc0', '\x7f'};
  ASSERT_NE(header.size() % 8, 0u);
  const Safetensors file =
      load_bytes(file_of(header, "\x05" + std::string(7, '\xff') + one + half + nan));
  ASSERT_EQ(file.tensors.size(), 2u);
  const Tensor a = file.tensors.at("a");
  EXPECT_EQ(a.dtype(), kInt64);
  EXPECT_EQ(a.shape(), Shape{});
  EXPECT_EQ(a.item<index_t>(), 5 - 256);
  const Tensor b = file.tensors.at("b");
  EXPECT_EQ(b.dtype(), kFloat32);
  EXPECT_EQ(b.shape(), Shape{3});
  EXPECT_EQ(b.item_at<float>({0}), 1.0F);
  EXPECT_EQ(b.item_at<float>({1}), -0.5F);
  EXPECT_TRUE(std::isnan(b.item_at<float>({2})));
  const std::map<std::string, std::string> texts = {{"format", "pt"}, {"who", "\xc3\xa9\n"}};
  EXPECT_EQ(file.metadata, texts);
}

TEST(LoadSafetensors, ConvertsEveryElementType) {
  const auto one = [](const std::string& dtype, const std::string& bytes) {
    const std::string header =
        R"({"w":)" + entry(dtype, "[1]", "[0," + std::to_string(bytes.size()) + "]") + "}";
    return load_bytes(file_of(header, bytes)).tensors.at("w");
  };
  const auto check = [&](const std::string& dtype, const std::string& bytes, DType wanted,
                         double value) {
    const Tensor w = one(dtype, bytes);
    EXPECT_EQ(w.dtype(), wanted) << dtype;
    EXPECT_EQ(w.item<double>(), value) << dtype;
  };
  check("BOOL", {'\1'}, kBool, 1);
  check("BOOL", {'\0'}, kBool, 0);
  check("U8", {'\xfe'}, kInt64, 254);
  check("I8", {'\xfe'}, kInt64, -2);
  check("U16", {'\xfe', '\xff'}, kInt64, 65534);
  check("I16", {'\xfe', '\xff'}, kInt64, -2);
  check("U32", "\xfe\xff\xff\xff", kInt64, 4294967294.0);
  check("I32", "\xfe\xff\xff\xff", kInt64, -2);
  check("I64", "\xfe\xff\xff\xff\xff\xff\xff\xff", kInt64, -2);
  check("F16", {'\x00', '\xc1'}, kFloat32, -2.5);
  check("BF16", {'\x20', '\xc0'}, kFloat32, -2.5);
  check("F32", {'\0', '\0', '\x20', '\xc0'}, kFloat32, -2.5);
  check("F64", {'\0', '\0', '\0', '\0', '\0', '\0', '\x04', '\xc0'}, kFloat64, -2.5);
}

TEST(SafetensorsFile, ReadsOneTensorAtATime) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "f";
  save_safetensors(path, {{"b", tensor({{1.0, 2.0}})}, {"a", tensor({3})}}, {{"k", "v"}});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.name(), path.string());
  EXPECT_EQ(file.metadata().at("k"), "v");
  EXPECT_EQ(file.shapes(), (std::map<std::string, Shape>{{"a", {1}}, {"b", {1, 2}}}));
  EXPECT_EQ(file.read("b").to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(file.read("a").to_vector<index_t>(), (std::vector<index_t>{3}));
  EXPECT_EQ(file_error([&] { file.read("c"); }), path.string() + ": must have a tensor 'c'");
}

TEST(SaveSafetensors, WritesTheseBytes) {
  const TemporaryFolder folder;
  const Tensors tensors = {{"a\"", tensor({true, false, true})},
                           {"b", tensor({{1.0, 2.0}})},
                           {"c", tensor({3})},
                           {"d", tensor({0.5}, kFloat64)},
                           {"e", tensor({4.0})}};
  save_safetensors(folder.path() / "f", tensors, {{"note", "x\ty"}});
  std::string header = R"({"__metadata__":{"format":"pt","note":"x\ty"},)"
                       R"("c":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                       R"("d":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},)"
                       R"("b":{"dtype":"F32","shape":[1,2],"data_offsets":[16,24]},)"
                       R"("e":{"dtype":"F32","shape":[1],"data_offsets":[24,28]},)"
                       R"("a\"":{"dtype":"BOOL","shape":[3],"data_offsets":[28,31]}})";
  header.append((64 - (8 + header.size()) % 64) % 64, ' ');
  const std::string data = little_endian(3, 8) + little_endian(0x3fe0000000000000, 8) +
                           little_endian(0x3f800000, 4) + little_endian(0x40000000, 4) +
                           little_endian(0x40800000, 4) + std::string("\1\0\1", 3);
  EXPECT_EQ(folder.read("f"), file_of(header, data));
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(SaveSafetensors, RoundTripsDtypesShapesViewsAndTexts) {
  const TemporaryFolder folder;
  const Tensor x = tensor({{1.0, -2.0, 3.0}, {4.0, 5.0, std::numeric_limits<double>::infinity()}});
  const Tensors tensors = {{"float32", x},
                           {"float64", x.to(kFloat64)},
                           {"int64", tensor({{-1, 2}, {3, 4}})},
                           {"bool", tensor({true, false})},
                           {"scalar", tensor(7.0)},
                           {"none", zeros({0, 3})},
                           {"none too", zeros({2, 0}, kFloat64)},
                           {"a view", x.transpose(0, 1).slice(0, {}, {}, -2)},
                           {"broadcast", tensor({1.0}).expand({4})}};
  const std::map<std::string, std::string> texts = {
      {"format", "tessera"}, {"", ""}, {"long", std::string(5000, 'x') + "\"\\\x01\xe2\x82\xac"}};
  fails("save_safetensors", "1 to", [&] { save_safetensors(folder.path() / "f", tensors, texts); });
  auto named = texts;
  named.erase("");
  save_safetensors(folder.path() / "f", tensors, named);
  const Safetensors file = load_safetensors(folder.path() / "f");
  EXPECT_EQ(file.metadata, named);
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (const auto& [name, wanted] : tensors) {
    const Tensor& got = file.tensors.at(name);
    EXPECT_EQ(got.dtype(), wanted.dtype()) << name;
    ASSERT_EQ(got.shape(), wanted.shape()) << name;
    EXPECT_EQ(got.to(kFloat64).to_vector<double>(), wanted.to(kFloat64).to_vector<double>())
        << name;
  }
}

TEST(SaveSafetensors, LeavesNoTraceOnATape) {
  const TemporaryFolder folder;
  const Tensor w = tensor({{1.0, 2.0}, {3.0, 4.0}}).set_requires_grad();
  const Tape tape;
  const Tensor transposed = w.t();
  const index_t recorded = tape.size();
  save_safetensors(folder.path() / "f", {{"w", transposed}});
  EXPECT_EQ(tape.size(), recorded);
}

TEST(SaveSafetensors, RefusesWhatItCouldNotRead) {
  const TemporaryFolder folder;
  const auto refuses = [&](const std::string& part, const Tensors& tensors) {
    fails("save_safetensors", {part}, [&] { save_safetensors(folder.path() / "f", tensors); });
  };
  refuses("'w' must be defined", {{"w", Tensor()}});
  refuses("text must be UTF-8, got 'w\\xff'", {{"w\xff", zeros({1})}});
  refuses("__metadata__", {{"__metadata__", zeros({1})}});
  refuses("1 to 4096 bytes", {{"", zeros({1})}});
  refuses("1 to 4096 bytes", {{std::string(4097, 'x'), zeros({1})}});
  fails("save_safetensors", "header must have at most 100000000 bytes", [&] {
    save_safetensors(folder.path() / "f", {}, {{"note", std::string(50'000'000, '"')}});
  });
  EXPECT_EQ(folder.file_count(), 0);
  const std::string quotes(5'000'000, '"');
  save_safetensors(folder.path() / "f", {}, {{"note", quotes}});
  EXPECT_EQ(load_safetensors(folder.path() / "f").metadata.at("note"), quotes);
}

TEST(LoadSafetensors, ChecksTheHeadersLength) {
  EXPECT_EQ(safetensors_error("1234567"), "must be a .safetensors file, got only 7 bytes");
  EXPECT_EQ(safetensors_error(little_endian(100'000'001, 8)),
            "byte 0: header must have at most 100000000 bytes, got 100000001");
  EXPECT_EQ(safetensors_error(little_endian(~std::uint64_t{0}, 8)),
            "byte 0: header must have at most 100000000 bytes, got 18446744073709551615");
  EXPECT_EQ(safetensors_error(little_endian(3, 8) + "{}"),
            "byte 0: header must fit the remaining 2 bytes, got 3");
  EXPECT_EQ(safetensors_error(little_endian(0, 8)), "byte 8: header must begin with '{'");
  EXPECT_TRUE(load_bytes(file_of("{}", "")).tensors.empty());
}

TEST(LoadSafetensors, WantsTheFormatsJson) {
  EXPECT_EQ(header_error(" {}"), "byte 8: header must begin with '{'");
  EXPECT_TRUE(contains(header_error("{"), "header: byte 1: must be JSON"));
  EXPECT_EQ(header_error(std::string("{}\0", 3)), "header: byte 2: must not be a zero byte");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"w":1})", "header: w: must be an object, got 1"},
      {R"({"w":[]})", "header: w: must be an object, got a list"},
      {R"({"w":null})", "header: w: must be an object, got null"},
      {R"({"__metadata__":{"a":1}})", "header: __metadata__.a: must be a text, got 1"},
      {R"({"__metadata__":{"a":{}}})", "header: __metadata__.a: must be a text, got an object"},
      {R"({"__metadata__":[]})", "header: __metadata__: must be an object, got a list"},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(header_error(text), error) << text;
  EXPECT_TRUE(contains(header_error("{\"w\":" + std::string(1000000, '[')), "at most 3 deep"));
  EXPECT_TRUE(contains(header_error("{\"" + std::string(5000, 'n') + "\":{}}"),
                       "at most 4096 bytes, got 5000"));
  EXPECT_LE(header_error("{\"" + std::string(100000, '\x7f')).size(), 512u);
}

TEST(LoadSafetensors, BoundsTheValuesOfAHeader) {
  std::string list = "[0";
  for (int i = 0; i < 525000; ++i) list += ",0";
  EXPECT_EQ(header_error("{\"w\":" + list + "]}"), "header: must have at most 524288 values");
  Tensors tensors;
  for (int i = 0; i < 50000; ++i) tensors.emplace(str_cat("w", i), Tensor::empty({0}));
  fails("save_safetensors", "50000 tensors", [&] { save_safetensors("x.safetensors", tensors); });
}

TEST(LoadSafetensors, RefusesTheSameKeyTwice) {
  const std::string empty = entry("F32", "[0]", "[0,0]");
  EXPECT_EQ(header_error("{\"a\":" + empty + ",\"\\u0061\":" + empty + "}", 0),
            "header: keys of an object must be different, got 'a' twice");
}

TEST(LoadSafetensors, WantsWholeEntries) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{}", "w: must have a value for 'dtype'"},
      {R"({"dtype":"F32"})", "w: must have a value for 'shape'"},
      {R"({"dtype":"F32","shape":[2]})", "w: must have a value for 'data_offsets'"},
      {R"({"dtype":"F32","strides":[1]})", "w.strides: key must be dtype, shape or data_offsets"},
      {R"({"dtype":["F32"]})", "w.dtype: must be a text, got a list"},
      {R"({"dtype":"F32","shape":2})", "w.shape: must be a list, got 2"},
      {entry("F32", "[2]", "[0]"), "w.data_offsets: must have 2 offsets, got 1"},
      {entry("F32", "[2]", "[0,8,8]"), "w.data_offsets: must have 2 offsets, got 3"},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(entry_error(text), "header: " + error) << text;
}

TEST(LoadSafetensors, WantsPlainUnsignedNumbers) {
  for (const std::string number : {"2.0", "2e0", "1E1", "18446744073709551616", "-0", "-1"}) {
    EXPECT_TRUE(
        entry_error(entry("F32", "[" + number + "]", "[0,8]"))
            .starts_with("header: w.shape[0]: must be an integer from 0 to 281474976710656"))
        << number;
    EXPECT_TRUE(entry_error(entry("F32", "[2]", "[" + number + ",8]"))
                    .starts_with("header: w.data_offsets[0]: must be an integer from 0 to "))
        << number;
  }
  EXPECT_TRUE(contains(entry_error(entry("F32", "[02]", "[0,8]")), "must be JSON"));
  EXPECT_TRUE(contains(entry_error(entry("F32", R"(["2"])", "[0,8]")), "got the text '2'"));
  EXPECT_TRUE(contains(entry_error(entry("F32", "[[2]]", "[0,8]")), "at most 3 deep"));
  EXPECT_TRUE(contains(entry_error(entry("F32", "[true]", "[0,8]")), "got true"));
}

TEST(SafetensorsFile, Int32IsCalledInt32) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "x", file_of(R"({"é\u0000":)" + entry("I32", "[2]", "[0,8]") + "}", std::string(8, '\0')));
  const SafetensorsFile file(path);
  EXPECT_EQ(file.dtype(std::string("é\0", 3)), "int32");
  EXPECT_TRUE(contains(entry_error(entry("I32", "[3]", "[0,8]")), "shape (3,) of int32"));
  EXPECT_EQ(file_error([&] { file.dtype(std::string("é\0\x1b", 4)); }),
            path.string() + ": must have a tensor 'é\\x00\\x1b'");
}

TEST(LoadSafetensors, RefusesOtherDtypes) {
  const auto error = [](const std::string& value) {
    const std::string bytes = file_of(R"({"w":)" + value + "}", std::string(8, '\0'));
    return error_of_bytes(bytes, [](const auto& path) { load_safetensors(path); });
  };
  EXPECT_EQ(error(entry("F8_E4M3", "[8]", "[0,8]")),
            "tensor 'w': dtype must be bool, int8 to int64, uint8 to uint32, float16, bfloat16, "
            "float32 or float64, got 'F8_E4M3'");
  EXPECT_TRUE(contains(error(entry("U64", "[1]", "[0,8]")), "'U64'"));
}

TEST(SafetensorsFile, ListsTensorsOfOtherDtypes) {
  const TemporaryFolder folder;
  const auto open = [&](const std::string& entries) {
    return SafetensorsFile(folder.write("x", file_of("{" + entries + "}", std::string(8, '\0'))));
  };
  for (const char* dtype : {"F8_E4M3", "F8_E5M2", "F8_E8M0", "F6_E2M3", "F4", "U64", "C64", "X"}) {
    const SafetensorsFile file =
        open(R"("w":)" + entry(dtype, "[2]", "[0,4]") + R"(,"b":)" + entry("F32", "[1]", "[4,8]"));
    ASSERT_EQ(file.stored().size(), 2U);
    EXPECT_EQ(file.stored()[0].dtype, dtype);
    EXPECT_EQ(file.stored()[0].bytes, 4);
    EXPECT_FALSE(file.can_read("w"));
    EXPECT_TRUE(file.can_read("b"));
    EXPECT_EQ(file.read("b").count(), 1);
    EXPECT_TRUE(contains(file_error([&] { file.read("w"); }), "tensor 'w': dtype must be bool"));
    EXPECT_TRUE(contains(file_error([&] { file.dtype("w"); }), "tensor 'w': dtype must be bool"));
  }
  const auto error = [&](const std::string& entries) { return file_error([&] { open(entries); }); };
  EXPECT_TRUE(contains(error(R"("w":)" + entry("F8_E4M3", "[8]", "[0,9]")), "offsets must lie in"));
  EXPECT_TRUE(contains(error(R"("w":)" + entry("F8_E4M3", "[8]", "[4,3]")), "offsets must lie in"));
  EXPECT_TRUE(
      contains(error(R"("w":)" + entry("F8_E4M3", "[8]", "[0,4]")), "must end with the data"));
  EXPECT_TRUE(contains(error(R"("w":)" + entry(std::string(33, 'F'), "[8]", "[0,8]")),
                       "dtype: must have at most 32 bytes, got 33"));
}

TEST(LoadSafetensors, ChecksProductsAndSizes) {
  // Products of these sizes wrap around to 0 or to 8 bytes in 64-bit arithmetic.
  for (const std::string shape :
       {"[281474976710656,281474976710656]", "[4294967297,4294967297,4294967297]",
        "[0,281474976710656,281474976710656]", "[281474976710656,65536]"}) {
    EXPECT_TRUE(
        contains(entry_error(entry("F32", shape, "[0,8]")), "number of bytes must fit int64"))
        << shape;
  }
  EXPECT_EQ(entry_error(entry("F32", "[2,18446744073709551614]", "[0,8]")),
            "header: w.shape[1]: must be an integer from 0 to 281474976710656, got "
            "18446744073709551614");
  EXPECT_EQ(entry_error(entry("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]")),
            "header: w.shape: must have at most 8 axes, got 9");
  EXPECT_EQ(entry_error(entry("F32", "[4294967298]", "[0,8]")),
            "tensor 'w': offsets must lie in the data's 8 bytes and have the 17179869192 bytes of "
            "shape (4294967298,) of float32, got 0 to 8");
}

TEST(LoadSafetensors, ChecksOffsets) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":)" + entry("F32", "[1]", a) + R"(,"b":)" + entry("F32", "[1]", b) + "}";
  };
  EXPECT_EQ(load_bytes(file_of(two("[4,8]", "[0,4]"), "12345678")).tensors.size(), 2u);
  EXPECT_EQ(
      entry_error(entry("F32", "[2]", "[0,7]")),
      "tensor 'w': offsets must lie in the data's 8 bytes and have the 8 bytes of shape (2,) of "
      "float32, got 0 to 7");
  EXPECT_TRUE(contains(entry_error(entry("F32", "[2]", "[8,0]")), "8 to 0"));
  EXPECT_TRUE(contains(entry_error(entry("F32", "[2]", "[4,12]")), "got 4 to 12"));
  EXPECT_EQ(entry_error(entry("F32", "[2]", "[0,9223372036854775808]")),
            "header: w.data_offsets[1]: must be an integer from 0 to 4611686018427387904, got "
            "9223372036854775808");
  EXPECT_EQ(header_error(two("[0,4]", "[0,4]"), 8),
            "tensor 'b': must begin at byte 4 of the data, where the tensor before it ends, got 0");
  EXPECT_EQ(header_error(two("[0,4]", "[5,9]"), 9),
            "tensor 'b': must begin at byte 4 of the data, where the tensor before it ends, got 5");
  EXPECT_EQ(header_error(R"({"a":)" + entry("F32", "[1]", "[4,8]") + "}", 8),
            "tensor 'a': must begin at byte 0 of the data, where the tensor before it ends, got 4");
  EXPECT_EQ(header_error(two("[0,4]", "[4,8]"), 9),
            "tensors must end with the data at byte 9, got 8");
  EXPECT_EQ(header_error("{}", 1), "tensors must end with the data at byte 1, got 0");
}

TEST(LoadSafetensors, SurvivesEveryCutAndEveryChangedByte) {
  const TemporaryFolder folder;
  save_safetensors(folder.path() / "f", {{"ab", tensor({{1.0, 2.0}})}, {"c", tensor({true})}});
  const std::string whole = folder.read("f");
  test::expect_cuts_refused(whole, refuse);
  // A changed element or name is fine, all else must be seen.
  test::expect_changes_survived(whole, whole.size(), {1, 2, 32, 128, 255}, load_safetensors);
}

}  // namespace
}  // namespace tessera
