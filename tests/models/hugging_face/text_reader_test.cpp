#include "tessera/models/hugging_face/text_reader.h"

#include <chrono>
#include <mutex>
#include <thread>

#include "tessera/tensor/create.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using test::throws;

text::Encoding encoding_of(index_t length, index_t type = 0) {
  text::Encoding encoding;
  for (index_t i = 0; i < length; ++i) {
    encoding.ids.push_back(100 * length + i);
    encoding.type_ids.push_back(i == 0 ? 0 : type);
  }
  return encoding;
}

std::vector<text::Encoding> encodings_of(const std::vector<index_t>& lengths) {
  std::vector<text::Encoding> encodings;
  for (const index_t length : lengths) encodings.push_back(encoding_of(length));
  return encodings;
}

/// An empty tokenizer whose token 7 is [PAD].
class PaddingTokenizer final : public text::Tokenizer {
 public:
  PaddingTokenizer()
      : Tokenizer(text::Vocabulary({"a", "b", "c", "d", "e", "f", "g", "[PAD]"}, {.pad = 7})) {}
  std::string decode(std::span<const index_t>) const override { return {}; }
  std::string to_text() const override { return {}; }

 private:
  std::vector<text::Piece> split(std::string_view) const override { return {}; }
};

class BatchesTest : public ::testing::Test {
 protected:
  void TearDown() override { set_thread_count(0); }
};

TEST_F(BatchesTest, HaveEachEncodingOnceWithItsOwnTokens) {
  std::vector<index_t> lengths;
  for (index_t i = 0; i < 150; ++i) lengths.push_back(1 + i * 7 % 23);
  const auto encodings = encodings_of(lengths);
  const TextReader reader = {.tokenizer = std::make_shared<PaddingTokenizer>()};
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    std::mutex mutex;
    std::multiset<index_t> seen;
    index_t largest = 0;
    index_t last_done = 0;
    reader.for_each_batch(encodings,
                          {.batch_size = 16,
                           .progress =
                               [&](index_t done, index_t all) {
                                 EXPECT_GT(done, last_done);
                                 EXPECT_EQ(all, 150);
                                 last_done = done;
                               }},
                          [&](const Tokens& tokens, std::span<const index_t> chosen) {
                            const std::lock_guard lock(mutex);
                            EXPECT_EQ(tokens.ids.size(0), std::ssize(chosen));
                            EXPECT_FALSE(tokens.type_ids.defined());
                            largest = std::max(largest, std::ssize(chosen));
                            for (index_t row = 0; row < std::ssize(chosen); ++row) {
                              const index_t number = chosen[static_cast<std::size_t>(row)];
                              seen.insert(number);
                              std::vector<index_t> want =
                                  encodings[static_cast<std::size_t>(number)].ids;
                              if (tokens.lengths.defined()) {
                                EXPECT_EQ(tokens.lengths.item_at<index_t>({row}), std::ssize(want));
                              } else {
                                EXPECT_EQ(tokens.ids.size(1), std::ssize(want));
                              }
                              want.resize(static_cast<std::size_t>(tokens.ids.size(1)), 7);
                              EXPECT_EQ(tokens.ids.select(0, row).to_vector<index_t>(), want);
                            }
                          });
    EXPECT_EQ(seen.size(), 150u);
    EXPECT_EQ(std::set<index_t>(seen.begin(), seen.end()).size(), 150u);
    EXPECT_EQ(last_done, 150);
    EXPECT_LE(largest, 16);
    EXPECT_GE(largest, 8);
  }
}

TEST_F(BatchesTest, PutEqualLengthsTogether) {
  set_thread_count(1);
  std::vector<index_t> longest;
  TextReader().for_each_batch(encodings_of({3, 9, 3, 9, 5, 3}), {.batch_size = 2},
                              [&](const Tokens& tokens, std::span<const index_t> chosen) {
                                longest.push_back(tokens.ids.size(1));
                                if (longest.size() == 1) {
                                  EXPECT_EQ(std::vector<index_t>(chosen.begin(), chosen.end()),
                                            (std::vector<index_t>{1, 3}));
                                }
                                EXPECT_EQ(tokens.lengths.defined(), tokens.ids.size(1) == 5);
                              });
  EXPECT_EQ(longest, (std::vector<index_t>{9, 5, 3}));
}

TEST_F(BatchesTest, AreSmallerWhereTextsAreLong) {
  set_thread_count(1);
  std::vector<index_t> rows;
  TextReader().for_each_batch(
      encodings_of({20000, 100, 100, 100, 1}), {},
      [&](const Tokens& tokens, std::span<const index_t>) { rows.push_back(tokens.ids.size(0)); });
  EXPECT_EQ(rows, (std::vector<index_t>{1, 2, 2}));
}

TEST_F(BatchesTest, GiveTypesWhereAModelReadsThemAndOneIsNotZero) {
  std::vector<text::Encoding> encodings = {encoding_of(3, 1), encoding_of(2)};
  const auto types = [&](bool feed_types) {
    Tensor given;
    TextReader{.feeds_type_ids = feed_types}.for_each_batch(
        encodings, {},
        [&](const Tokens& tokens, std::span<const index_t>) { given = tokens.type_ids; });
    return given;
  };
  EXPECT_EQ(types(true).to_vector<index_t>(), (std::vector<index_t>{0, 1, 1, 0, 0, 0}));
  EXPECT_FALSE(types(false).defined());
}

TEST_F(BatchesTest, Errors) {
  const auto nothing = [](const Tokens&, std::span<const index_t>) {};
  const auto encodings = encodings_of({3, 0, 2});
  TextReader().for_each_batch({}, {}, nothing);
  EXPECT_TRUE(throws("for_each_batch", {"batch_size", "0"},
                     [&] { TextReader().for_each_batch(encodings, {.batch_size = 0}, nothing); }));
  EXPECT_TRUE(throws("for_each_batch", {"text 1 must have at least 1 token"},
                     [&] { TextReader().for_each_batch(encodings, {}, nothing); }));
  EXPECT_TRUE(throws("TextReader", {"must have a tokenizer, got a null pointer"},
                     [] { TextReader().encode_options({}); }));
  text::Encoding typed = encoding_of(3, 1);
  typed.ids.resize(2);
  EXPECT_TRUE(throws("TextReader", {"at most 1 per token, got 3 types of 2 tokens"},
                     [&] { TextReader().tokens(typed); }));
  EXPECT_TRUE(throws("TextReader", {"got 3 types of 2 tokens"}, [&] {
    TextReader().for_each_batch(std::vector{encoding_of(5), typed}, {}, nothing);
  }));
  const auto unused = [](index_t, std::span<const float>) {};
  for (const Tensor& y : {ones({1, 8}), ones({3}), tensor(1.0F)}) {
    const auto model = [&](const Tokens&) { return y; };
    EXPECT_TRUE(throws("each_row", {"must have 2 rows, one per text, got shape"}, [&] {
      TextReader().each_row(encodings_of({4, 4}), {}, model, unused);
    }));
  }
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    EXPECT_THROW(TextReader().for_each_batch(encodings_of(std::vector<index_t>(100, 4)), {},
                                             [](const Tokens&, std::span<const index_t>) {
                                               throw std::length_error("the body's own");
                                             }),
                 std::length_error);
  }
}

// For any thread that fails first.
TEST_F(BatchesTest, TheErrorIsThatOfTheFirstBatch) {
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    std::vector<index_t> lengths(100, 4);
    lengths[70] = 9;  // so its batch is the first
    try {
      TextReader().for_each_batch(encodings_of(lengths), {},
                                  [](const Tokens&, std::span<const index_t> chosen) {
                                    const bool is_first = chosen.front() == 70;
                                    if (is_first)
                                      std::this_thread::sleep_for(std::chrono::milliseconds(20));
                                    throw std::length_error(is_first ? "first" : "later");
                                  });
      ADD_FAILURE() << "no error";
    } catch (const std::length_error& error) {
      EXPECT_STREQ(error.what(), "first");
    }
  }
}

}  // namespace
}  // namespace tessera::models
