#include "tessera/tensor/io/json.h"

#include "tests/support/bounded.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

Json parse(const std::string& text) {
  return parse_json(text, "x.json");
}

/// The error of `body`, without the file's name.
template <class Body>
std::string error_of(const Body& body) {
  const std::string text = file_error(body);
  EXPECT_TRUE(text.starts_with("x.json: ")) << text;
  return text.substr(std::min<std::size_t>(text.size(), 8));
}

std::string parse_error(const std::string& text, const JsonLimits& limits = {}) {
  return error_of([&] { parse_json(text, "x.json", limits); });
}

const std::string kDocument = R"({
  "layers": 12, "eps": 1e-12, "name": "b\u00e9rt\n", "tied": true, "scaling": null,
  "labels": {"0": "O", "1": "B-PER"}, "merges": [["a", "b"], "c d", [], {}]})";

TEST(Json, GivesWhatWasAskedFor) {
  const Json json = parse(kDocument);
  EXPECT_TRUE(json.is_object());
  EXPECT_EQ(json.size(), 7);
  EXPECT_EQ(json.integer("layers"), 12);
  EXPECT_EQ(json.integer("layers", {1, 12}), 12);
  EXPECT_EQ(json.number("layers"), 12.0);
  EXPECT_EQ(json.number("eps"), 1e-12);
  EXPECT_EQ(json.text("name"), "b\xc3\xa9rt\n");
  EXPECT_TRUE(json.boolean("tied"));
  EXPECT_EQ(json.at("merges").item(0).item(1).text(), "b");
  EXPECT_EQ(json.at("merges").item(1).text(), "c d");
  EXPECT_EQ(json.at("merges").item(2).size(), 0);
  EXPECT_EQ(json.at("merges").as_list().size(), 4);
  EXPECT_EQ(json.at("labels").as_object().size(), 2);
  EXPECT_EQ(error_of([&] { json.as_list(); }), "must be a list, got an object");
  EXPECT_EQ(error_of([&] { json.at("merges").as_object(); }),
            "merges: must be an object, got a list");
}

TEST(Json, NullIsAbsent) {
  const Json json = parse(kDocument);
  EXPECT_FALSE(json.has("scaling"));
  EXPECT_FALSE(json.has("nothing"));
  EXPECT_EQ(json.integer("scaling", {}, 7), 7);
  EXPECT_EQ(json.number("nothing", 0.5), 0.5);
  EXPECT_EQ(json.text("nothing", "x"), "x");
  EXPECT_FALSE(json.boolean("nothing", false));
  EXPECT_EQ(error_of([&] { json.at("scaling"); }), "must have a value for 'scaling'");
  EXPECT_EQ(error_of([&] { json.integer("nothing"); }), "must have a value for 'nothing'");
}

TEST(Json, WalksInTheFilesOrder) {
  std::vector<std::string> seen;
  const Json json = parse(kDocument);
  for (const Json& value : json.items()) seen.emplace_back(value.key());
  EXPECT_EQ(seen, (std::vector<std::string>{"layers", "eps", "name", "tied", "scaling", "labels",
                                            "merges"}));
  seen.clear();
  for (const Json& value : json.at("labels").items()) {
    seen.push_back(std::string(value.key()) + "=" + std::string(value.text()));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"0=O", "1=B-PER"}));
  seen.clear();
  for (const Json& value : json.at("merges").items()) seen.push_back(value.described());
  EXPECT_EQ(seen, (std::vector<std::string>{"a list", "the text 'c d'", "a list", "an object"}));
  for (const Json& value : json.at("merges").item(3).items()) ADD_FAILURE() << value.described();
}

TEST(Json, ValuesKeepTheDocument) {
  const Json name = parse(kDocument).at("labels").at("1");
  EXPECT_EQ(name.text(), "B-PER");
  EXPECT_EQ(name.key(), "1");
}

TEST(Json, ErrorsNameThePlace) {
  const Json json = parse(kDocument);
  EXPECT_EQ(error_of([&] {
              json.integer("layers", {1, 10});
            }),
            "layers: must be an integer from 1 to 10, got 12");
  EXPECT_EQ(error_of([&] { json.integer("layers", {20}); }),
            "layers: must be an integer of at least 20, got 12");
  EXPECT_EQ(error_of([&] { json.integer("eps"); }), "eps: must be an integer, got 1e-12");
  EXPECT_EQ(error_of([&] { json.text("layers"); }), "layers: must be a text, got 12");
  EXPECT_EQ(error_of([&] { json.number("tied"); }), "tied: must be a number, got true");
  EXPECT_EQ(error_of([&] { json.boolean("labels"); }),
            "labels: must be true or false, got an object");
  EXPECT_EQ(error_of([&] { json.at("labels").integer("1"); }),
            "labels.1: must be an integer, got the text 'B-PER'");
  EXPECT_EQ(error_of([&] { json.at("merges").item(0).item(1).integer(); }),
            "merges[0][1]: must be an integer, got the text 'b'");
  EXPECT_EQ(error_of([&] { json.at("merges").item(4); }),
            "merges: must have more than 4 values, got 4");
  EXPECT_EQ(error_of([&] { json.at("merges").find("a"); }),
            "merges: must be an object, got a list");
  EXPECT_EQ(error_of([&] { json.at("eps").items(); }),
            "eps: must be a list or an object, got 1e-12");
}

TEST(Json, ErrorsEscapeKeysThatCannotBePrinted) {
  const Json json = parse(R"({"\u0000\u001bé": 1})");
  EXPECT_EQ(error_of([&] { (*json.items().begin()).text(); }),
            "\\x00\\x1bé: must be a text, got 1");
  EXPECT_EQ(error_of([&] { json.at("\x1bé"); }), "must have a value for '\\x1bé'");
}

TEST(Json, IntegersAreWrittenAsSuch) {
  for (const std::string number : {"2.0", "2e0", "-0", "9223372036854775808", "1e400"}) {
    const std::string text = "[" + number + "]";
    EXPECT_TRUE(error_of([&] { parse(text).item(0).integer(); }).starts_with("[0]: must be an"));
  }
  EXPECT_EQ(parse("[-9223372036854775808]").item(0).integer(), std::numeric_limits<index_t>::min());
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const std::string text :
       {"", "{", "[1,]", "{\"a\":1,}", "01", "[1] 2", "nul", "nan", "+Infinity", "NaNs", "'a'",
        "\"\xff\"", "\"\\ud800\"", "\"\n\"", "// x\n1"}) {
    EXPECT_TRUE(contains(parse_error(text), "must be JSON")) << text;
  }
  EXPECT_EQ(parse_error(std::string("1\0", 2)), "byte 1: must not be a zero byte");
}

// Python's json module writes and reads them.
TEST(Json, NumbersMayBeNotFinite) {
  const std::string text =
      R"({"a":[NaN,1,{"b":Infinity,"c":-Infinity}],"NaN":"NaN, Infinity","d":-2})";
  const Json json = parse(text);
  EXPECT_EQ(json.integer("d"), -2);
  EXPECT_EQ(json.text("NaN"), "NaN, Infinity");
  EXPECT_EQ(json.at("a").item(1).integer(), 1);
  EXPECT_EQ(json.at("a").item(0).kind(), Json::Kind::kNumber);
  EXPECT_EQ(JsonText(json).text(), text);
  EXPECT_EQ(error_of([&] { json.at("a").item(0).number(); }),
            "a[0]: must be a finite number, got NaN");
  EXPECT_EQ(error_of([&] { json.at("a").item(2).number("c"); }),
            "a[2].c: must be a finite number, got -Infinity");
  EXPECT_TRUE(error_of([&] { json.at("a").item(2).integer("b"); }).ends_with("got Infinity"));
  EXPECT_EQ(parse(" NaN ").kind(), Json::Kind::kNumber);
  EXPECT_EQ(parse("[Infinity\n, 0]").item(1).integer(), 0);
  const Json large = parse("[-1e999, 1" + std::string(400, '0') + ", 1e-999, 1e308, \"1e999\"]");
  EXPECT_TRUE(error_of([&] { large.item(0).number(); }).ends_with("got -Infinity"));
  EXPECT_TRUE(error_of([&] { large.item(1).number(); }).ends_with("got Infinity"));
  EXPECT_EQ(large.item(2).number(), 0);
  for (const std::string wrong : {"1e999.5", "01e999", "+1e999", ".1e999", "1e999-", "1.e999"}) {
    EXPECT_TRUE(contains(parse_error("[" + wrong + "]"), "must be JSON")) << wrong;
  }
  EXPECT_EQ(large.item(3).number(), 1e308);
}

TEST(Json, RefusesTheSameKeyTwice) {
  EXPECT_EQ(parse_error(R"({"a":1,"b":{"a":1},"\u0061":2})"),
            "keys of an object must be different, got 'a' twice");
  EXPECT_EQ(parse_error(R"([{"x":{"k":[],"k":{}}}])"),
            "keys of an object must be different, got 'k' twice");
}

TEST(Json, KeepsToItsLimits) {
  EXPECT_EQ(parse_error(std::string(1'000'000, '[')), "lists and objects must be at most 64 deep");
  // The parser skips a byte order mark.
  EXPECT_EQ(parse_error("\xef\xbb\xbf" + std::string(100, '[')),
            "lists and objects must be at most 64 deep");
  EXPECT_EQ(parse_error("[[1]]", {.depth = 1}), "lists and objects must be at most 1 deep");
  EXPECT_EQ(
      parse_error(std::string(300'000, '[') + std::string(300'000, ']'), {.depth = 1'000'000}),
      "lists and objects must be at most 1000 deep");
  EXPECT_EQ(parse_error("[1,2,3]", {.values = 3}), "must have at most 3 values");
  EXPECT_EQ(parse_error(R"({"a":1,"b":2})", {.values = 4}), "must have at most 4 values");
  EXPECT_EQ(parse_error("[1]", {.bytes = 2}), "must have at most 2 bytes, got 3");
  EXPECT_EQ(parse(R"([",[{:", "\\", "\"[[", -1e5 , true])").size(),
            5);  // signs in texts do not count
  for (const char* endless : {"[\"a", "[\"a\\", "[\"\\\"]"}) {
    EXPECT_TRUE(contains(parse_error(endless), "must be JSON")) << endless;
  }
}

TEST(Json, TakesMemoryInProportionToItsText) {
  for (const std::string item : {"0", "\"\"", "[]", "{}", "[0]", "[\"\"]", R"({"":0})", "-0.5"}) {
    SCOPED_TRACE(item);
    std::string text = "[" + item;
    for (int i = 0; i < (1 << 20); ++i) text += "," + item;  // a list grows at 2^20 values
    text += "]";
    const std::size_t bytes = kMostBytesPerJsonByte * text.size() - std::size_t{kMostBytes};
    EXPECT_EQ(within_bounds(bytes, [&] { parse(text); }), "");
  }
  std::string members = "{";
  for (int i = 0; i < 300'000; ++i) members += str_cat(i > 0 ? "," : "", '"', i, "\":0");
  members += "}";
  const std::size_t bytes = kMostBytesPerJsonByte * members.size() - std::size_t{kMostBytes};
  EXPECT_EQ(within_bounds(bytes, [&] { parse(members); }), "");
}

TEST(Json, ReadsFiles) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(read_json(folder.write("x.json", kDocument)).integer("layers"), 12);
  const auto missing = folder.path() / "missing.json";
  EXPECT_TRUE(file_error([&] { read_json(missing); }).starts_with(missing.string()));
  EXPECT_FALSE(find_json(missing));
  EXPECT_EQ(find_json(folder.path() / "x.json")->integer("layers"), 12);
  const std::filesystem::path loop = folder.path() / "loop";
  std::filesystem::create_symlink("loop", loop);
  EXPECT_TRUE(file_error([&] { find_json(loop); }).starts_with(loop.string() + ": "));
}

TEST(Json, QuotesText) {
  const std::string text = "a\"b\\\b\f\n\r\t\x01\x1f\x7f/\xc3\xa9";
  EXPECT_EQ(JsonText(text).text(), "\"a\\\"b\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7f/\xc3\xa9\"");
  EXPECT_EQ(parse(JsonText(text).text()).text(), text);
  fails("save", "text must be UTF-8, got '\\xff'", [] { JsonText("\xff", "save"); });
}

TEST(Json, WritesValues) {
  EXPECT_EQ(JsonObject({{"a", true}, {"b", 3}, {"c", "d"}, {"e", std::optional<int>()}}).text(),
            R"({"a":true,"b":3,"c":"d","e":null})");
  EXPECT_EQ(json_list(std::vector{0.1f, 1.0f, 1e-7f, INFINITY}).text(), "[0.1,1,1e-07,null]");
  EXPECT_EQ(json_list(std::vector{0.1}, std::identity(), kJsonLines).text(), "[\n  0.1\n]");
  const JsonObject nested = {{"list", JsonList().add(1).add("x")}, {"none", JsonObject()}};
  EXPECT_EQ(nested.text(), R"({"list":[1,"x"],"none":{}})");
  EXPECT_EQ(JsonObject(kJsonLines).text() + JsonList(kJsonLines).text(), "{}[]");
  EXPECT_EQ(JsonObject(kJsonLines).add("a", nested).add("b", "c").text(),
            "{\n  \"a\": {\"list\":[1,\"x\"],\"none\":{}},\n  \"b\": \"c\"\n}");
}

TEST(Json, WritesWhatItRead) {
  const std::string text =
      R"({"layers":12,"eps":1e-12,"one":1.0,"big":1e+22,"name":"bért\n","on":[true,null,[],{}]})";
  EXPECT_EQ(JsonText(parse(text)).text(), text);
}

}  // namespace
}  // namespace tessera
