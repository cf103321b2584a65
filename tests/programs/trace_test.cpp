// run_encoder --trace writes PyTorch's steps, and compare_trace finds the first difference of two
// traces.
#include <string>

#include "tensor/io/npy.h"
#include "tensor/io/safetensors.h"
#include "tensor/ops/arithmetic.h"
#include "tests/programs/programs.h"
#include "tests/support/golden_models.h"

namespace tessera::test {
namespace {

const std::string kPost = "encoder_post_relu_none_36";
const std::string kPre = "encoder_pre_gelu_causal_padding_8";

class Traces : public Programs {
 protected:
  /// Writes weights and inputs of a golden encoder, and returns the options that name them.
  std::string arguments_of(const std::string& name, const std::string& changed = "") const {
    const GoldenCase golden(name);
    std::map<std::string, Tensor> state = golden.state();
    if (!changed.empty()) state.at(changed) = state.at(changed) + 0.01;
    save_safetensors(folder_ / "w.safetensors", state);
    save_npy(folder_ / "x.npy", golden.input("src"));
    std::string arguments = "--weights w.safetensors --input x.npy --output y.npy --heads " +
                            std::to_string(golden.option("nhead"));
    if (golden.has_input("mask")) {
      save_npy(folder_ / "mask.npy", golden.input("mask"));
      save_npy(folder_ / "padding.npy", golden.input("src_key_padding_mask"));
      arguments += " --attn-mask mask.npy --key-padding-mask padding.npy";
    }
    if (golden.option("gelu")) arguments += " --activation gelu";
    return arguments + (golden.option("norm_first") ? " --norm-first" : "");
  }

  void trace(const std::string& arguments, const std::string& file) const {
    output_of("run_encoder", arguments + " --trace " + file);
  }

  static std::string pytorchs(const std::string& name) {
    return "'" TESSERA_GOLDEN_DIR "/" + name + ".trace.txt'";
  }
};

TEST_F(Traces, AreThoseOfPyTorch) {
  for (const std::string& name : {kPost, kPre}) {
    const std::string arguments = arguments_of(name);
    trace(arguments + " --threads 2", "ours.txt");
    const Outcome compared = run("compare_trace", "ours.txt " + pytorchs(name));
    EXPECT_EQ(compared.status, 0) << compared.output << compared.errors;
    EXPECT_TRUE(contains(compared.output, " steps agree; nearest to the tolerance is "));

    // The same text for any number of threads, and an output with the same bits as without a trace.
    const std::string text = file_text(folder_ / "ours.txt");
    const std::string output = file_text(folder_ / "y.npy");
    trace(arguments + " --threads 1", "ours.txt");
    EXPECT_TRUE(file_text(folder_ / "ours.txt") == text) << name;
    ASSERT_EQ(run("run_encoder", arguments).status, 0);
    EXPECT_TRUE(file_text(folder_ / "y.npy") == output) << name;
  }
}

TEST_F(Traces, PartWhereAWeightDiffers) {
  trace(arguments_of(kPre, "layers.1.linear2.bias"), "ours.txt");
  const Outcome parted = run("compare_trace", "ours.txt " + pytorchs(kPre));
  EXPECT_EQ(parted.status, 1) << parted.errors;
  EXPECT_EQ(parted.output.find("layers.1.feed_forward: the traces differ here, at step 27 of 44"),
            0u)
      << parted.output;
  EXPECT_TRUE(contains(parted.output,
                       "  all steps before it agree, up to layers.1.feed_forward.activation\n"));
  EXPECT_EQ(run("compare_trace", "--atol 1 --rtol 1 ours.txt " + pytorchs(kPre)).status, 0);
}

TEST_F(Traces, WhatCompareTraceSaysAndRefuses) {
  const std::string input = "input 2x3 0 1 1 2 3\n";
  write("a.txt", "# name\n" + input + "norm 2x3 0.5 nan 1 inf -inf\n");
  const auto with = [&](const std::string& text) {
    return "a.txt " + write("b.txt", text).string();
  };
  EXPECT_EQ(run("compare_trace", with(input + "norm 2x3 0.5 nan 1 inf -inf\n")).status, 0);
  // NaN and a number, and different infinities, differ; so do numbers just outside the tolerance.
  for (const char* norm : {"norm 2x3 0.5 1 1 inf -inf\n", "norm 2x3 0.5 nan 1 inf inf\n",
                           "norm 2x3 0.5 nan 1 7 -inf\n", "norm 2x3 0.50002 nan 1 inf -inf\n",
                           "norm 2x3 inf nan 1 inf -inf\n"}) {
    const Outcome parted = run("compare_trace", with(input + norm));
    EXPECT_EQ(parted.status, 1) << norm << parted.errors;
    EXPECT_EQ(parted.output.find("norm: the traces differ here, at step 2 of 2\n"), 0u);
  }
  const std::string near = input + "norm 2x3 0.5000000000000001 nan 1 inf -inf\n";
  const Outcome told = run("compare_trace", "--atol 0 --rtol 0 " + with(near));
  EXPECT_EQ(told.output,
            "norm: the traces differ here, at step 2 of 2\n  mean: 0.5 in a.txt, "
            "0.5000000000000001 in " +
                path("b.txt") +
                "\n  1.11022e-16 apart, 0 allowed\n"
                "  all steps before it agree, up to input\n");
  const auto refused = [&](const std::string& text, const std::string& words) {
    EXPECT_TRUE(fails("compare_trace", with(text), words)) << text;
  };
  refused(input, "b.txt: step 2: must be 'norm' as in a.txt, got the end of the file");
  refused(input + "layers.0 2x3 0 1 1 2 3\n",
          "b.txt: step 2: must be 'norm' as in a.txt, got 'layers.0'");
  refused("input 3x3 0 1 1 2 3\n",
          "b.txt: step 1: 'input' must have the shape '2x3' and 3 first values as in a.txt, got "
          "'3x3' and 3");
  refused("input 2x3 0 1 1 2\n",
          "b.txt: step 1: 'input' must have the shape '2x3' and 3 first values as in a.txt, got "
          "'2x3' and 2");
  refused(input + "norm 2x3 0\n",
          "b.txt: line 2: must have name, shape, mean, deviation and first");
  refused("input 2x3 0 1 1 2 x3\n", "b.txt: line 1: must be a number, got 'x3'");
  refused("\n# nothing\n", "b.txt: must have a step of a trace, got none");
  EXPECT_TRUE(fails("compare_trace", "a.txt", "A and B must be two traces, got one"));
  EXPECT_TRUE(fails("compare_trace", "a.txt absent.txt", "absent.txt"));
  EXPECT_TRUE(fails("run_encoder", arguments_of(kPost) + " --trace absent/t.txt", "absent/t.txt"));
}

}  // namespace
}  // namespace tessera::test
