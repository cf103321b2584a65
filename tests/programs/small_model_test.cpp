// examples/course/small_model, which lessons 008 and 009 read: made again, and read with errors.
#include "tensor/kernels/dispatch.h"
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
  EXPECT_TRUE(contains(output, "1000 of 1000 new sentences are right")) << output;
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
  for (const char* lesson : {"008_minilm_by_hand", "009_what_heads_do"}) {
    const std::string own = output_of(lesson, "");
    const std::string other = output_of(lesson, "copy");
    EXPECT_TRUE(own.starts_with(other) && !other.empty()) << lesson << " prints\n" << other;
    EXPECT_TRUE(fails(lesson, "nowhere",
                      "FOLDER: must be the folder of a model, or a folder for pictures"));
  }
  write("copy/model.safetensors", "no tensors");
  EXPECT_TRUE(fails("008_minilm_by_hand", "copy", "copy/model.safetensors"));
  EXPECT_TRUE(fails("make_small_model", "", "arguments: must be 1, FOLDER, got 0"));
}

}  // namespace
}  // namespace tessera::test
