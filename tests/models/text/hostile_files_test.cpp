// Files made to exhaust time or memory: each is read, or refused in one line, within the limits of
// tests/support/limits.h.
#include "tessera/models/text/detail/subword_model.h"
#include "tessera/models/text/detail/unicode.h"
#include "tessera/models/text/text.h"
#include "tests/support/bounded.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

const std::string kTiny = R"({"type":"WordLevel","unk_token":"u","vocab":{"u":0,"a":1}})";

std::string with(const std::string& parts, const std::string& model = kTiny) {
  return "{" + parts + (parts.empty() ? "" : ",") + "\"model\":" + model + "}";
}

/// `item(i)` of each i below `count`, with commas between them.
std::string listed(int count, const std::function<std::string(int)>& item) {
  std::string all;
  for (int i = 0; i < count; ++i) all += (i > 0 ? "," : "") + item(i);
  return all;
}

std::string repeated(const std::string& what, int times, const std::string& between = ",") {
  std::string all = what;
  for (int i = 1; i < times; ++i) all += between + what;
  return all;
}

std::string number(int i) {
  return std::to_string(i);
}

/// A model of Unigram: `pieces` are lists of a piece and its score.
std::string unigram(const std::string& pieces, const std::string& more = "") {
  return R"({"type":"Unigram","unk_id":0)" + more + R"(,"vocab":[["u",0],)" + pieces + "]}";
}

/// Pieces "a", "aa", ... Shorter pieces are better, so each path is better than the previous one.
std::string nested_pieces(int count) {
  return listed(count, [](int i) {
    return "[\"" + std::string(static_cast<std::size_t>(i) + 1, 'a') + "\",-" + number(i * i) + "]";
  });
}

/// The 256 tokens of byte_fallback.
std::string tokens_of_bytes() {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return listed(256, [&](int i) {
    const auto byte = static_cast<std::size_t>(i);
    return str_cat("\"<0x", kDigits[byte / 16], kDigits[byte % 16], ">\":", i);
  });
}

/// Short strings of all letters, a different one for each i.
std::string noise(int i, int size) {
  std::string text;
  std::uint64_t state = 0x9e3779b97f4a7c15 * static_cast<std::uint64_t>(i + 1);
  for (int k = 0; k < size; ++k) {
    state = state * 6364136223846793005 + 1442695040888963407;
    text += static_cast<char>('a' + (state >> 40) % 26);
  }
  return text;
}

struct Case {
  const char* what;
  std::string file;
  std::string text;
  const char* error;  // a part of it; "": the file is read, and the text is encoded
};

std::string sequence(const char* part, const char* list, const std::string& steps) {
  return str_cat('"', part, R"(":{"type":"Sequence",")", list, "\":[", steps, "]}");
}

std::string added(int count, const std::string& content, const std::string& more = "") {
  return "\"added_tokens\":[" +
         listed(count,
                [&](int i) {
                  return str_cat(R"({"id":)", i + 9, R"(,"content":")", content, i, '"', more, '}');
                }) +
         "]";
}

std::vector<Case> cases() {
  const std::string grows =
      R"("normalizer":{"type":"Replace","pattern":{"String":"a"},"content":")";
  const std::string chars = R"({"type":"Split","pattern":{"Regex":"."},"behavior":"Isolated"})";
  const std::string tries = R"({"type":"Split","pattern":{"Regex":")" + repeated("a?", 700, "") +
                            R"(b"},"behavior":"Isolated"})";
  const std::string many_a(20'000, 'a');
  const std::string longer_a(200'000, 'a');
  const std::string nearly = std::string(900, 'a') + "b";  // begins everywhere, ends nowhere
  return {
      {"values", "{\"model\":[" + repeated("0", 4'100'000) + "]}", "a", "at most 4000000 values"},
      {"deep words",
       with("", R"({"type":"WordLevel","vocab":{)" +
                    listed(20'000, [](int i) { return '"' + noise(i, 60) + "\":" + number(i); }) +
                    "}}"),
       "a", "different beginnings"},
      {"wide nodes",
       with("", R"({"type":"WordLevel","unk_token":"aaa","vocab":{)" +
                    listed(15'000,
                           [](int i) {
                             const std::string own = i == 0 ? "aaa" : noise(i, 4);
                             return '"' + own + number(i == 0 ? 0 : i) + "\":" + number(i);
                           }) +
                    "}}"),
       "a", "neither"},
      {"a long token",
       with("", "{\"type\":\"WordLevel\",\"vocab\":{\"" + std::string(1'000'000, 'x') + "\":0}}"),
       "a", "a token must have at most 2000 bytes"},
      {"a long piece",
       with("", "{\"type\":\"Unigram\",\"vocab\":[[\"" + std::string(100'000, 'x') + "\",0]]}"),
       "a", "at most 1000 bytes"},
      {"a long prefix",
       with("", R"({"type":"BPE","unk_token":"a","vocab":{"a":0},"merges":[],)"
                "\"continuing_subword_prefix\":\"" +
                    std::string(1'000'000, 'p') + "\"}"),
       std::string(20'000, 'b'), "prefixes and suffixes"},
      {"a prefix that becomes tokens",
       with("", R"({"type":"BPE","byte_fallback":true,"merges":[],"vocab":{)" + tokens_of_bytes() +
                    R"(},"continuing_subword_prefix":")" + std::string(100, 'p') + "\"}"),
       many_a, "at most 252000 tokens"},
      {"nested pieces", with("", unigram(nested_pieces(900))), longer_a, "at most 45000000 steps"},
      {"fewer nested pieces", with("", unigram(nested_pieces(200))), longer_a, ""},
      {"a piece that nearly matches", with("", unigram("[\"a\",0],[\"" + nearly + "\",0]")),
       longer_a, "at most 45000000 steps"},
      {"a continuation that nearly matches",
       with("", R"({"type":"WordPiece","max_input_chars_per_word":1000000,"unk_token":"a",)"
                R"("vocab":{"a":0,"##a":1,"##)" +
                    nearly + "\":2}}"),
       longer_a, "at most 45000000 steps"},
      {"an added token that nearly matches", with(added(1, nearly)), longer_a,
       "at most 45000000 steps"},
      {"added tokens", with(added(50'000, "<t")), repeated("<t5>", 5000, " "), ""},
      {"too many", with(added(132'000, "t")), "a", "must have at most 131072"},
      {"far too many", with("\"added_tokens\":[" + repeated("0", 3'000'000, ",") + "]"), "a",
       "must have at most 131072"},
      {"added tokens that grow",
       with(added(1000, "a", R"(,"normalized":true)") + "," + grows + std::string(9000, 'b') +
            "\"}"),
       "a", "added_tokens: "},
      {"a text that grows in parts",
       with(added(1, "<", R"(,"special":true,"normalized":false)") + "," + grows +
            std::string(900, 'b') + "\"}"),
       repeated("a", 20'000, "<0"), "must become at most"},
      {"steps", with(sequence("normalizer", "normalizers", repeated(R"({"type":"NFKC"})", 20'000))),
       "a", "at most 100 steps"},
      {"steps in steps",
       with(sequence(
           "decoder", "decoders",
           repeated(R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Fuse"}]})", 51))),
       "a", "at most 100 steps"},
      {"words that take long",
       with(sequence("pre_tokenizer", "pretokenizers", chars + "," + tries)), many_a,
       "at most 9000000 steps"},
      {"a class of classes",
       with(R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"[)" + repeated("[^a]", 500, "") +
            R"(]"},"behavior":"Isolated"})"),
       "a", "at most 64 parts"},
      {"ranges",
       with(R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"[)" +
            listed(2500, [](int i) { return str_cat("\\\\u", 4000 + i); }) +
            R"(]"},"behavior":"Isolated"})"),
       repeated("\xc3\xa9", 50'000, ""), ""},
      {"a template",
       with(R"("post_processor":{"type":"TemplateProcessing","single":[)" +
            repeated(R"({"SpecialToken":{"id":"t"}})", 2000) +
            R"(,{"Sequence":{"id":"A"}}],"pair":[],"special_tokens":{"t":{"ids":[]}}})"),
       "a", "must have at most 1000 parts"},
      {"unknown bytes that strip",
       with(R"("added_tokens":[{"id":1,"content":"<0x20>","lstrip":true,"normalized":false}],)"
            R"("post_processor":{"type":"ByteLevel"})",
            R"({"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["u",0],["<0x20>",0]]})"),
       std::string(60'000, ' '), ""},
      {"a number without end", with("\"x\":0." + std::string(5'000'000, '9')), "a", ""},
      {"a text without end", with("\"x\":\"" + std::string(5'000'000, '9')), "a", "must be JSON"},
      {"numbers with exponents", "{\"model\":[" + repeated("1e5", 200'000) + "]}", "a",
       "an object"},
  };
}

/// Expects an error with this part; none for "".
void expect_error(const std::string& error, const std::string& part) {
  EXPECT_TRUE(test::contains(error, part));
  EXPECT_EQ(error.empty(), part.empty()) << error;
}

TEST(HostileFiles, TokenizersTakeLittle) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    const std::string error = test::within_bounds(
        test::kMostBytesPerJsonByte * c.file.size(),
        [&] {
          const auto tokenizer = tokenizer_from_text(c.file, "t.json");
          tokenizer->decode(tokenizer->encode(c.text).ids);
        },
        c.text.size());
    expect_error(error, c.error);
    EXPECT_TRUE(error.size() < 400 && error.find('\n') == std::string::npos) << error;
  }
}

/// One token per byte, which is the maximum. `times`: the growth of a text.
TEST(HostileFiles, LongLinesTakeLittle) {
  const std::string bytes_model =
      R"({"type":"BPE","byte_fallback":true,"merges":[],"vocab":{)" + tokens_of_bytes() + "}}";
  const std::string space = R"({"type":"Metaspace","replacement":"▁","split":true})";
  const struct {
    const char* what;
    std::string file;
    std::string character;
    std::size_t times;
  } kLines[] = {
      {"Unigram", with("", unigram("[\"a\",0]")), "a", 1},
      {"bytes", with("", bytes_model), "é", 1},
      {"byte level", with(R"("pre_tokenizer":{"type":"ByteLevel"})", bytes_model), "é", 2},
      {"characters",
       with(R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"."},"behavior":"Isolated"})"),
       "a", 1},
      {"spaces", with("\"pre_tokenizer\":" + space, unigram("[\"▁\",0]")), " ", 3},
      {"added tokens", with(added(1, "<")), "<0", 1},
      {"accents", with(R"("normalizer":{"type":"BertNormalizer"})"), "é", 1},
      {"characters of many", with(R"("normalizer":{"type":"NFKD"})"), "\xef\xb7\xba", 11},
      {"our own characters",
       R"({"type":"characters","vocab":["[PAD]","[UNK]","[CLS]","[MASK]","a"]})", "a", 1},
  };
  for (const auto& c : kLines) {
    SCOPED_TRACE(c.what);
    std::string line;
    while (line.size() * c.times < 3'000'000) line += c.character;
    EXPECT_EQ(
        test::within_bounds(
            test::kMostBytesPerJsonByte * c.file.size(),
            [&] { tokenizer_from_text(c.file, "t.json")->encode(line); }, line.size() * c.times),
        "");
  }
}

/// The pairs that would share a position of a hash table with a known hash function.
TEST(HostileFiles, MergesCannotBeAimedAtATable) {
  constexpr int kTokens = 1000;
  constexpr std::size_t kMerges = 30'000;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (std::uint64_t left = 0; left < kTokens; ++left) {
    for (std::uint64_t right = 0; right < kTokens; ++right) {
      const std::uint64_t pair = left << 32 | right;
      pairs.emplace_back((pair ^ pair >> 29) * 0x9e3779b97f4a7c15 >> 47, pair);
    }
  }
  std::nth_element(pairs.begin(), pairs.begin() + kMerges, pairs.end());
  const auto token = [](std::uint64_t i) {
    std::string text;
    append_utf8(static_cast<char32_t>(0x4e00 + i), text);
    return text;
  };
  JsonObject tokens;
  JsonList merges;
  for (std::uint64_t i = 0; i < kTokens; ++i) tokens.add(token(i), i);
  std::string word;
  for (std::size_t i = 0; i < kMerges; ++i) {
    const std::string left = token(pairs[i].second >> 32);
    const std::string right = token(pairs[i].second & 0xffffffff);
    merges.add(JsonList().add(left).add(right));
    tokens.add(left + right, kTokens + i);
    word += left + right + "\xe4\xb8\x80";
  }
  const Json model = parse_json(
      JsonObject({{"type", "BPE"}, {"vocab", tokens}, {"merges", merges}}).text(), "t.json");
  EXPECT_EQ(test::within_bounds(std::size_t{16} << 20,
                                [&] {
                                  std::vector<Piece> pieces;
                                  Effort effort(std::ssize(word));
                                  read_subword_model(model)->tokenize(word, pieces, effort);
                                }),
            "");
}

TEST(HostileFiles, VocabulariesTakeLittle) {
  const auto own = [](const char* type, const std::string& tokens) {
    return str_cat(R"({"type":")", type, R"(","vocab":["[PAD]","[UNK]","[CLS]","[MASK]",)", tokens,
                   "]}");
  };
  const std::string bert = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  const struct {
    const char* name;
    std::string file;
    const char* error;
  } kFiles[] = {
      {"v.json", own("characters", '"' + std::string(2'000'000, 'x') + '"'), "must be a token"},
      {"v.json", own("words", '"' + repeated("a", 1'000'000) + '"'), "must be a token"},
      {"v.json", own("characters", repeated("\"x\"", 1'100'000)),
       "must have at most 1048576 tokens"},
      {"v.json", own("words", listed(1'000'000, [](int i) { return str_cat("\"a", i, '"'); })), ""},
      {"vocab.txt", bert + repeated("x", 1'100'000, "\n"), "must have at most 1048576 lines"},
      {"vocab.txt", bert + std::string(2'000'000, 'x'),
       "a token must have at most 1000 bytes, got 2000000"},
      {"vocab.txt", bert + repeated("x", 200'000, "\n"), ""},
  };
  for (const auto& c : kFiles) {
    const test::TemporaryFolder folder;
    const auto path = folder.write(c.name, c.file);
    const bool is_own = std::string(c.name) == "v.json";
    const std::string error =
        test::within_bounds((is_own ? test::kMostBytesPerJsonByte : 1) * c.file.size(),
                            [&] { load_tokenizer(is_own ? path : folder.path())->encode("x y"); });
    expect_error(error, c.error);
  }
}

}  // namespace
}  // namespace tessera::text
