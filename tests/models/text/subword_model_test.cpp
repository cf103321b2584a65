#include "tessera/models/text/detail/subword_model.h"

#include <thread>

#include "tessera/models/text/detail/subword_trainer.h"
#include "tessera/tensor/random.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using namespace test;

std::unique_ptr<SubwordModel> model_of(const std::string& json) {
  return read_subword_model(parse_json(json, "model.json"));
}

std::vector<Piece> pieces_of(const SubwordModel& model, std::string_view word) {
  Effort effort(std::ssize(word));
  std::vector<Piece> pieces;
  model.tokenize(word, pieces, effort);
  return pieces;
}

/// The tokens of a word: "number:begin-end number:begin-end".
std::string tokenized(const SubwordModel& model, std::string_view word) {
  std::ostringstream out;
  for (const Piece& piece : pieces_of(model, word)) {
    out << (out.tellp() > 0 ? " " : "") << piece.id << ':' << piece.bytes.begin << '-'
        << piece.bytes.end;
  }
  return out.str();
}

// Numbers have gaps and a different order than the tokens; accents have two bytes.
constexpr const char* kWordPiece = R"({"type": "WordPiece", "max_input_chars_per_word": 12,
  "vocab": {"[UNK]": 9, "un": 1, "##believ": 2, "##able": 3, "unb": 4, "##": 5, "caf": 6,
            "##\u00e9": 7, "##a": 8, "a": 12}})";
constexpr const char* kWordLevel =
    R"({"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "cat": 1, "cats": 2}})";
constexpr const char* kPairs = R"({"type": "BPE",
  "vocab": {"a": 0, "b": 1, "c": 2, "aa": 3, "aab": 4, "bc": 5, "abc": 6, "ab": 7},
  "merges": [["a", "a"], ["aa", "b"], ["b", "c"], ["a", "bc"], ["a", "b"], ["ab", "c"]]})";
constexpr const char* kAffixes = R"({"type": "BPE", "unk_token": "<unk>", "fuse_unk": true,
  "continuing_subword_prefix": "@", "end_of_word_suffix": "</w>",
  "vocab": {"<unk>": 0, "a": 1, "@b": 2, "@c</w>": 3, "ab": 4, "abc</w>": 5, "a</w>": 6},
  "merges": ["#version: 0.2", "a @b", "ab @c</w>"]})";
constexpr const char* kBytes = R"({"type": "BPE", "unk_token": "<unk>", "byte_fallback": true,
  "ignore_merges": true, "dropout": 0.0,
  "vocab": {"<unk>": 0, "a": 1, "<0xC3>": 2, "<0xA9>": 3, "aab": 4, "b": 5}, "merges": []})";
constexpr const char* kUnigram = R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0],
  ["a", -1], ["b", -2], ["ab", -3], ["abc", -2.5], ["c", -8], ["aa", -2], ["bb", -4.5], ["ab", -3]]})";
// An unknown character scores 10 less than the worst piece: "xy z" wins with -16 over -18.5.
constexpr const char* kUnigramCosts = R"({"type": "Unigram", "unk_id": 0,
  "vocab": [["<unk>", 0], ["xy", -8], ["z", -8], ["yz", -0.5]]})";
// Unknown characters score higher than the piece of two of them.
constexpr const char* kUnigramBytes = R"({"type": "Unigram", "unk_id": 0, "byte_fallback": true,
  "vocab": [["<unk>", 60], ["a", 60], ["<0xC3>", 60], ["<0xA9>", 60], ["xy", 70], ["yz", 200]]})";

/// Results of the tokenizers library (0.23.2).
TEST(SubwordModel, HasTheTokensOfTheTokenizersLibrary) {
  const struct {
    const char* model;
    const char* word;
    const char* tokens;
  } cases[] = {
      {kWordPiece, "unbelievable", "9:0-12"},
      {kWordPiece, "unable", "1:0-2 3:2-6"},
      {kWordPiece, "caf\u00e9", "6:0-3 7:3-5"},
      {kWordPiece, "##", "5:0-2"},
      {kWordPiece, "##a", "8:0-3"},
      {kWordPiece, "aaaaaaaaaaaa",
       "12:0-1 8:1-2 8:2-3 8:3-4 8:4-5 8:5-6 8:6-7 8:7-8 8:8-9 8:9-10 8:10-11 8:11-12"},
      {kWordPiece, "aaaaaaaaaaaaa", "9:0-13"},
      {kWordLevel, "cat", "1:0-3"},
      {kWordLevel, "ca", "0:0-2"},
      {kPairs, "aaaaa", "3:0-2 3:2-4 0:4-5"},
      {kPairs, "aabc", "4:0-3 2:3-4"},
      {kPairs, "bxc", "5:0-2"},
      {kPairs, "xyz", ""},
      {kPairs, "abcabcaa", "6:0-3 6:3-6 3:6-8"},
      {kAffixes, "abc", "5:0-3"},
      {kAffixes, "a", "6:0-1"},
      {kAffixes, "abca", "4:0-2 0:2-4"},
      {kAffixes, "xya", "0:0-3"},
      {kAffixes, "axxc", "1:0-1 0:1-3 3:3-4"},
      {kAffixes, "ab", "1:0-1 0:1-2"},
      {kBytes, "aab", "4:0-3"},
      {kBytes, "a\u00e9b", "1:0-1 2:1-3 3:1-3 5:3-4"},
      {kBytes, "\u00e8\u00e9a", "2:0-2 3:0-2 0:2-4 1:4-5"},
      {kBytes, "xya", "0:0-1 0:1-2 1:2-3"},
      {kUnigram, "abc", "4:0-3"},
      {kUnigram, "abb", "8:0-2 2:2-3"},
      {kUnigram, "aaa", "1:0-1 6:1-3"},
      {kUnigram, "xaxxb", "0:0-1 1:1-2 0:2-4 2:4-5"},
      {kUnigram, "a<unk>x", "1:0-1 0:1-7"},
      {kUnigramCosts, "xyz", "1:0-2 2:2-3"},
      {kUnigramBytes, "a\u00e9", "1:0-1 2:1-3 3:1-3"},
      {kUnigramBytes, "axya", "1:0-1 4:1-3 1:3-4"},
      {kUnigramBytes, "\u00e9\u00e8a", "0:0-4 1:4-5"},
      {kUnigramBytes, "xx", "0:0-2"},
      {kUnigramBytes, "xyy", "0:0-3"},
      {kUnigramBytes, "xyz", "0:0-1 5:1-3"},
  };
  for (const auto& c : cases) {
    const auto model = model_of(c.model);
    EXPECT_EQ(tokenized(*model, c.word), c.tokens) << c.word << " in " << c.model;
    EXPECT_EQ(tokenized(*model, c.word), c.tokens) << "again " << c.word;
    EXPECT_EQ(tokenized(*model, ""), "");
  }
}

TEST(SubwordModel, KnowsItsTokensAndOldFiles) {
  EXPECT_EQ(model_of(kWordPiece)->tokens(),
            (TokenList{"", "un", "##believ", "##able", "unb", "##", "caf", "##\xc3\xa9", "##a",
                       "[UNK]", "", "", "a"}));
  EXPECT_EQ(model_of(kUnigram)->tokens()[4], "abc");
  for (const char* json : {kWordLevel, kPairs, kUnigram}) {  // files that do not name their kind
    const std::string text = json;
    const std::size_t begin = text.find("\"type\"");
    const std::string untyped = text.substr(0, begin) + text.substr(text.find(',', begin) + 1);
    EXPECT_EQ(tokenized(*model_of(untyped), "cat"), tokenized(*model_of(text), "cat")) << untyped;
  }
}

TEST(SubwordModel, RefusesWhatIsNoModel) {
  const std::string token(1001, 'a');  // a megabyte would take a thousand times as long as its size
  const std::string pieces = R"({"type": "WordPiece", "vocab": {"a": 0, "##)" + token + R"(": 1})";
  const std::string long_token = "tokens must have at most 1000 bytes, got 100";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"type": "Char", "vocab": {}})",
       "type: must be 'WordPiece', 'BPE', 'Unigram' or 'WordLevel', got 'Char'"},
      {R"({"type": "WordPiece"})", "vocab"},
      {R"({"type": "WordPiece", "vocab": ["a"]})", "vocab: must be an object"},
      {R"({"type": "WordPiece", "vocab": {"a": -1}})", "vocab.a: must be an integer from 0 to"},
      {R"({"type": "WordPiece", "vocab": {"a": 9000000000}})", "vocab.a: must be an integer"},
      {R"({"type": "WordPiece", "vocab": {"a": "1"}})", "vocab.a: must be an integer"},
      {R"({"type": "WordPiece", "vocab": {"a": 1, "b": 1}})",
       "vocab.b: tokens must have different numbers, got 1 for 'a' too"},
      {R"({"type": "BPE", "vocab": {"a": 1}, "merges": ["a a"]})",
       "merge 0 of 'a' and 'a': 'aa' must be a token"},
      {R"({"type": "BPE", "vocab": {"a": 1}, "merges": ["a  a"]})",
       "merges[0]: must be two tokens"},
      {R"({"type": "BPE", "vocab": {"a": 1}, "merges": [["a"]]})", "merges[0]: must be a text"},
      {R"({"type": "BPE", "vocab": {"a": 1, "aa": 2}, "merges": ["a a"],
           "continuing_subword_prefix": "##"})",
       "the second token must have the prefix '##', got 'a'"},
      {R"({"type": "BPE", "vocab": {}, "merges": [], "dropout": 0.1})", "dropout: must be 0"},
      {R"({"type": "Unigram", "vocab": {"a": 1}})", "vocab: must be a list"},
      {R"({"type": "Unigram", "vocab": [["a"]]})", "vocab[0]: must be a piece and its score"},
      {R"({"type": "Unigram", "vocab": [["a", "b"]]})", "vocab[0][1]: must be a number"},
      {R"({"type": "Unigram", "unk_id": 1, "vocab": [["a", 1]]})", "unk_id: must be an integer"},
      {pieces + R"(, "max_input_chars_per_word": 1001})", long_token},
      {R"({"type": "Unigram", "vocab": [["b", 0], [")" + token + R"(", 1]]})", long_token},
  };
  for (const auto& [json, words] : cases) {
    expect_refused([&text = json] { model_of(text); }, "model.json: ..." + words);
  }
  EXPECT_EQ(tokenized(*model_of(pieces + "}"), "a"), "0:0-1");
}

TEST(SubwordModel, NeedsAnUnknownTokenForUnknownWords) {
  for (const char* json :
       {R"({"type": "WordPiece", "vocab": {"a": 0}})",
        R"({"type": "WordLevel", "vocab": {"a": 0}})",
        R"({"type": "Unigram", "vocab": [["a", 0]]})",
        R"({"type": "BPE", "unk_token": "?", "vocab": {"a": 0}, "merges": []})"}) {
    const auto model = model_of(json);
    EXPECT_EQ(tokenized(*model, "a"), "0:0-1");
    EXPECT_TRUE(throws("encode", {"unknown token"}, [&] { tokenized(*model, "x"); })) << json;
  }
}

/// A random word of the first letters of the alphabet.
std::string random_word(Rng& rng, std::uint32_t letters, std::uint32_t longest) {
  std::string word;
  for (std::uint32_t i = 1 + rng.next_u32() % longest; i > 0; --i) {
    word += static_cast<char>('a' + rng.next_u32() % letters);
  }
  return word;
}

using Merges = std::vector<std::pair<std::string, std::string>>;

/// The definition: joins the pair of lowest rank, the leftmost of several, until there is none.
std::vector<std::string> naive_merges(const std::string& word, const Merges& merges) {
  std::vector<std::string> parts;
  for (const char c : word) parts.emplace_back(1, c);
  for (;;) {
    std::size_t best = merges.size(), place = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found =
          std::find(merges.begin(), merges.begin() + static_cast<std::ptrdiff_t>(best),
                    std::pair(parts[i], parts[i + 1]));
      const auto rank = static_cast<std::size_t>(found - merges.begin());
      if (rank < best) best = rank, place = i;
    }
    if (best == merges.size()) return parts;
    parts[place] += parts[place + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

TEST(BytePair, JoinsAsItsDefinitionSays) {
  Rng rng(1, 0);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> vocabulary = {"a", "b", "c"};
    Merges merges;
    for (int i = 0; i < 12; ++i) {
      const std::string left = vocabulary[rng.next_u32() % vocabulary.size()];
      const std::string right = vocabulary[rng.next_u32() % vocabulary.size()];
      const std::string both = left + right;
      if (std::find(vocabulary.begin(), vocabulary.end(), both) != vocabulary.end()) continue;
      vocabulary.push_back(both);
      merges.emplace_back(left, right);
    }
    JsonObject numbers;
    for (const std::string& token : vocabulary) {
      numbers.add(token, &token - vocabulary.data());
    }
    const auto pair = [](const auto& merge) {
      return JsonList().add(merge.first).add(merge.second);
    };
    const auto model = model_of(
        JsonObject({{"type", "BPE"}, {"vocab", numbers}, {"merges", json_list(merges, pair)}})
            .text());
    for (int i = 0; i < 20; ++i) {
      const std::string word = random_word(rng, 3, 30);
      std::vector<std::string> parts;
      for (const Piece& piece : pieces_of(*model, word)) {
        parts.emplace_back(model->tokens()[piece.id]);
      }
      EXPECT_EQ(parts, naive_merges(word, merges)) << word;
    }
  }
}

TEST(Trie, FindsWhatAMapFinds) {
  Rng rng(2, 0);
  std::vector<std::string> keys;
  for (int i = 0; i < 4000; ++i) {  // some share long beginnings, some have every byte
    std::string key = random_word(rng, i % 3 == 0 ? 2 : 26, i % 5 == 0 ? 40 : 4);
    if (i % 4 == 0) key += static_cast<char>(rng.next_u32() % 256);
    if (i % 7 == 0) key = key + key.back();
    keys.push_back(key);
  }
  std::map<std::string, index_t> map;
  for (std::size_t i = 0; i < keys.size(); ++i) map[keys[i]] = static_cast<index_t>(i);
  const Trie trie{TokenList(keys)};
  for (const std::string& key : keys) {
    EXPECT_EQ(trie.find(key), map.at(key));
    const std::string more = key + "zz";
    Trie::Match longest;
    std::size_t shorter = 0;
    for (std::size_t size = 1; size <= more.size(); ++size) {
      const auto found = map.find(more.substr(0, size));
      EXPECT_EQ(trie.find(more.substr(0, size)),
                found == map.end() ? std::nullopt : std::optional(found->second));
      if (found == map.end()) continue;
      longest = {size, found->second};
      ++shorter;
    }
    EXPECT_EQ(trie.longest(Trie::kRoot, more).size, longest.size);
    EXPECT_EQ(trie.longest(Trie::kRoot, more).value, longest.value);
    trie.each_prefix(Trie::kRoot, more, [&](std::size_t, index_t) { --shorter; });
    EXPECT_EQ(shorter, 0u);
  }
  EXPECT_EQ(Trie(TokenList()).find("a"), std::nullopt);
  EXPECT_EQ(Trie(TokenList()).find(""), std::nullopt);
  EXPECT_EQ(Trie({"a"}).value(Trie::kNone), std::nullopt);
}

/// Quadratic time would take minutes.
TEST(SubwordModel, TakesLinearTimeForALongWord) {
  constexpr index_t kLong = 1'000'000;
  const std::string word(kLong, 'a');
  const auto pairs = model_of(kPairs);
  const auto unigram = model_of(kUnigram);
  const auto pieces = model_of(R"({"type": "WordPiece", "max_input_chars_per_word": 2000000,
                                   "vocab": {"a": 0, "##aa": 1, "##a": 2}})");
  EXPECT_EQ(std::ssize(pieces_of(*pairs, word)), kLong / 2);
  EXPECT_EQ(pieces_of(*unigram, word).back().bytes.end, kLong);
  EXPECT_EQ(std::ssize(pieces_of(*pieces, word)), 1 + kLong / 2);
  const std::string key(100'000, 'b');  // the deepest possible trie
  EXPECT_EQ(Trie({"a", key}).find(key), 1);
}

TEST(SubwordModel, RemembersWordsForSeveralThreads) {
  std::unique_ptr<SubwordModel> fresh;
  std::vector<std::string> words;
  std::vector<std::string> expected;
  Rng rng(3, 0);
  for (int i = 0; i < 3000; ++i) {
    if (i % 10 == 0) fresh = model_of(kPairs);  // with an empty cache
    words.push_back(random_word(rng, 3, 12));
    expected.push_back(tokenized(*fresh, words.back()));
  }
  const auto shared = model_of(kPairs);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < words.size(); ++i)
        count += tokenized(*shared, words[i]) != expected[i];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

using test::throws;

WordCounts counts_of(const std::string& text) {
  WordCounts counts;
  std::istringstream in(text);
  for (std::string word; in >> word;) ++counts[word];
  return counts;
}

std::string listed(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += (text.empty() ? "" : " ") + token;
  return text;
}

// Many pairs are equally frequent, and some overlap themselves.
constexpr const char* kText =
    "she sells sea shells by the sea shore the shells she sells are sea shells aaaaaaa aaa banana "
    "bananas";

/// Results of training by the tokenizers library (0.23.2).
TEST(LearnSubwords, LearnsTheTokensOfTheTokenizersLibrary) {
  EXPECT_EQ(listed(learn_subwords(counts_of(kText), {.prefix = ""})),
            "a b e h l n o r s t y aa he ll se she lls an sea shells ban re the aaa sells ana "
            "banana are by ho sho aaaa bananas shore aaaaaaa");
}

TEST(LearnSubwords, StopsWhereTheOptionsSay) {
  const WordCounts counts = counts_of(kText);
  const std::string characters = "a b e h l n o r s t y";
  EXPECT_EQ(listed(learn_subwords(counts, {.vocab_size = 14, .prefix = ""})),
            characters + " aa he ll");
  EXPECT_EQ(listed(learn_subwords(counts, {.min_count = 6, .prefix = ""})), characters + " aa he");
  EXPECT_EQ(learn_subwords(counts, {.vocab_size = 0}), learn_subwords(counts, {}));
  EXPECT_EQ(
      listed(learn_subwords(counts, {.vocab_size = 3, .special = {"[X]", "a"}, .prefix = ""})),
      "[X] " + characters);
  // Models could not read longer ones.
  std::size_t longest = 0;
  for (const std::string& token : learn_subwords({{std::string(3000, 'a'), 1}}, {})) {
    longest = std::max(longest, token.size());
  }
  EXPECT_GT(longest, 500U);
  EXPECT_LE(longest, 1000U);
}

TEST(LearnSubwords, DropsRareCharactersAndMarksWhatContinuesAWord) {
  const WordCounts counts = {{"ab", 5}, {"xab", 1}, {"b\xc3\xa9", 2}};
  // Equally rare characters are removed from the highest code point down.
  EXPECT_EQ(listed(learn_subwords(counts, {.vocab_size = 1, .max_characters = 2, .prefix = ""})),
            "a b");
  EXPECT_EQ(listed(learn_subwords({{"ba", 1}}, {.max_characters = 1, .prefix = ""})), "a");
  EXPECT_EQ(listed(learn_subwords(counts, {.min_count = 2})),
            "a b x \xc3\xa9 ##b ##\xc3\xa9 ##a ab b\xc3\xa9");
}

TEST(LearnSubwords, RefusesWhatItCannotCount) {
  EXPECT_TRUE(throws("learn_subwords", {"must be at least 0", "-1"},
                     [] { learn_subwords({}, {.min_count = -1}); }));
  EXPECT_TRUE(throws("learn_subwords", {"counts of words must be at least 0, got -2"}, [] {
    learn_subwords({{"a", -2}}, {});
  }));
  EXPECT_TRUE(throws("split_characters", {"must be UTF-8"}, [] {
    learn_subwords({{"\xff", 1}}, {});
  }));
}

}  // namespace
}  // namespace tessera::text
