// Files of the course that programs write: small_model, which lessons 009 and 010 read, and
// live.html.
#include "tessera/tensor/kernels/dispatch.h"
#include "tests/programs/programs.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

class SmallModelTest : public Programs {};

const std::string kSmallModel = TESSERA_SOURCE_DIR "/examples/course/small_model";

#if !defined(TESSERA_SANITIZED)  // it trains for a minute there
TEST_F(SmallModelTest, IsMadeAgainByteForByte) {
#if defined(__x86_64__)
  if (current_isa() == "baseline") GTEST_SKIP() << "without a fused multiply-add: different bits";
#endif
  fs::copy(kSmallModel, folder_ / "again", fs::copy_options::recursive);
  for (const char* made : {"model.safetensors", "tokenizer.json"}) {
    fs::remove(folder_ / "again" / made);
  }
  const std::string output = output_of("make_small_model", "again");
  EXPECT_TRUE(contains(output, "1000 of 1000 new sentences are correct")) << output;
  EXPECT_TRUE(folder_contents(folder_ / "again") == folder_contents(kSmallModel))
      << "build/release/examples/make_small_model examples/course/small_model  makes it again";
}
#endif

TEST_F(SmallModelTest, IsSmall) {
  std::size_t bytes = 0;
  for (const auto& [name, content] : folder_contents(kSmallModel)) bytes += content.size();
  EXPECT_LT(bytes, 300'000u);
}

TEST_F(SmallModelTest, LessonsReadAnotherModel) {
  fs::copy(kSmallModel, folder_ / "copy", fs::copy_options::recursive);
  for (const char* lesson : {"009_minilm_by_hand", "010_what_heads_do"}) {
    const std::string own = output_of(lesson, "");
    const std::string other = output_of(lesson, "copy");
    EXPECT_TRUE(own.starts_with(other) && !other.empty()) << lesson << " prints\n" << other;
    EXPECT_TRUE(fails(lesson, "nowhere",
                      "FOLDER: must be the folder of a model, or a folder for pictures"));
  }
  write("copy/model.safetensors", "no tensors");
  EXPECT_TRUE(fails("009_minilm_by_hand", "copy", "copy/model.safetensors"));
  EXPECT_TRUE(fails("make_small_model", "", "arguments: must be 1, FOLDER, got 0"));
}

const std::string kCourse = TESSERA_SOURCE_DIR "/examples/course";

using LivePage = Programs;

TEST_F(LivePage, IsWhatTheTargetLiveWrites) {
  output_of("train_reverse", "--save run");
  output_of("live_page", "--weights run/checkpoint.safetensors --sources '" + kCourse +
                             "/live' --output live.html");
  const std::string page = file_text(folder_ / "live.html");
  EXPECT_TRUE(contains(page, "\"float32\":\""));
  if (std::string_view(current_isa()) == "baseline") {
    GTEST_SKIP() << "without fused multiply-add other weights are trained";
  }
  EXPECT_TRUE(page == file_text(kCourse + "/live.html"))
      << "examples/course/live.html is old: cmake --build build/release --target live";
}

TEST_F(LivePage, RefusesOtherModels) {
  const std::string small = "--words 40 --epochs 1 --length 5 --width 8 --feed-forward 16 ";
  output_of("train_reverse", small + "--save small");
  output_of("train_reverse", small + "--heads 2 --save heads");
  output_of("train_reverse", small + "--layers 2 --save layers");
  write("text.safetensors", "no tensors");
  const std::string rest = " --sources '" + kCourse + "/live' --output live.html";
  expect_fails(
      "live_page",
      {{"--weights heads/checkpoint.safetensors" + rest,
        "heads/checkpoint.safetensors: option.heads: must be 1, got 2"},
       {"--weights layers/checkpoint.safetensors" + rest, "option.layers: must be 1, got 2"},
       {"--weights text.safetensors" + rest, "text.safetensors"},
       {"--weights small/checkpoint.safetensors --sources none --output live.html", "none"}});
  EXPECT_FALSE(fs::exists(folder_ / "live.html"));
}

}  // namespace
}  // namespace tessera::test
