// tokenize prints numbers, tokens and bytes.
#include "tessera/models/text/word_tokenizer.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

class TokenizeProgram : public Programs {
 protected:
  void SetUp() override {
    Programs::SetUp();
    const std::vector<std::string> texts = {"the cat sat", "the dog"};
    text::WordTokenizer::of(texts).save(folder_ / "words");
  }
};

TEST_F(TokenizeProgram, ShowsNumbersTokensAndBytes) {
  write("lines.txt", "The cat\n\nthe bird\n");
  const std::string outcome = output_of("tokenize", "--model words lines.txt --threads 1");
  EXPECT_EQ(outcome,
            "       2  [CLS]\n       4  the                   0-3\n"
            "       5  cat                   4-7\n\n"
            "       2  [CLS]\n\n"
            "       2  [CLS]\n       4  the                   0-3\n"
            "       1  [UNK]                 4-8\n\n");
  const Outcome json = run("tokenize", "--model words --json --max-length 2 < lines.txt");
  EXPECT_TRUE(json.output.starts_with(
      R"({"ids":[2,4],"tokens":["[CLS]","the"],"offsets":[[0,0],[0,3]],"types":[0,0],"texts":[null,0]})"
      "\n"))
      << json.output;
  const Outcome bare = run("tokenize", "--model words --json --no-special lines.txt");
  EXPECT_TRUE(bare.output.starts_with(R"({"ids":[4,5],"tokens":["the","cat"],)")) << bare.output;
}

TEST_F(TokenizeProgram, PairsAndSpecialTokensThatALineSpellsOut) {
  const std::string model = "--model '" TESSERA_GOLDEN_DIR "/folders/bert' --json ";
  write("pairs.txt", "the cat\tsat [SEP]\n");
  EXPECT_EQ(
      run("tokenize", model + "--pair pairs.txt").output,
      R"({"ids":[2,37,38,3,39,3,3],"tokens":["[CLS]","the","cat","[SEP]","sat","[SEP]","[SEP]"],)"
      R"("offsets":[[0,0],[0,3],[4,7],[0,0],[0,3],[4,9],[0,0]],"types":[0,0,0,0,1,1,1],)"
      R"("texts":[null,0,0,null,1,1,null]})"
      "\n");
  const Outcome plain = run("tokenize", model + "--pair --plain-text pairs.txt");
  EXPECT_TRUE(plain.output.starts_with(R"({"ids":[2,37,38,3,39,1,29,)")) << plain.output;
}

TEST_F(TokenizeProgram, WhatItRefuses) {
  write("lines.txt", "the cat\n");
  write("bad.txt", "the \xff\n");
  expect_fails(
      "tokenize",
      {
          {"lines.txt", "--model"},
          {"--model absent lines.txt", "absent: "},
          {"--model lines.txt lines.txt", "lines.txt: "},
          {"--model words absent.txt", "absent.txt: cannot open"},
          {"--model words < bad.txt", "standard input: line 1, byte 5: must be UTF-8"},
          {"--model words < /dev/null", "standard input: must have at least 1 byte, got none"},
          {"--model words --pair lines.txt", "lines.txt: line 1: must be two texts with one tab"},
      });
  write("pairs.txt", "the cat\tsat\n");
  EXPECT_TRUE(fails("tokenize", "--model words --pair pairs.txt", "pair"));
}

}  // namespace
}  // namespace tessera::test
