// The interactive page of the course is the one that its program writes now.
#include "tensor/kernels/dispatch.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

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
