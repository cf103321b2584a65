// run_encoder gives PyTorch's numbers; inspect_checkpoint lists the contents of a file.
#include "tessera/tensor/create.h"
#include "tessera/tensor/io/json.h"
#include "tessera/tensor/io/npy.h"
#include "tessera/tensor/io/safetensors.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/rearrange.h"
#include "tests/programs/programs.h"
#include "tests/support/golden_models.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using State = std::map<std::string, Tensor>;

class EncoderPrograms : public Programs {
 protected:
  /// Writes the golden file's inputs of the module, and returns the options for them.
  std::string arguments_of(const GoldenCase& golden, const std::string& prefix = "") const {
    State state;
    for (const auto& [name, tensor] : golden.state()) state.emplace(prefix + name, tensor);
    save_safetensors(folder_ / "w.safetensors", state);
    save_npy(folder_ / "x.npy", golden.input("src"));
    std::string arguments = "--weights w.safetensors --input x.npy --output y.npy --heads " +
                            std::to_string(golden.option("nhead"));
    for (const char* name : {"src_mask", "mask"}) {
      if (!golden.has_input(name)) continue;
      save_npy(folder_ / "mask.npy", golden.input(name));
      arguments += " --attn-mask mask.npy";
    }
    if (golden.has_input("src_key_padding_mask")) {
      save_npy(folder_ / "padding.npy", golden.input("src_key_padding_mask"));
      arguments += " --key-padding-mask padding.npy";
    }
    return arguments;
  }

  /// Options of a file of layers that are not in run_encoder.npz.
  static std::string options_of(const GoldenCase& golden) {
    return std::string(golden.option("gelu") ? " --activation gelu" : "") +
           (golden.option("norm_first") ? " --norm-first" : "") + " --eps " +
           str_cat(golden.option<double>("layer_norm_eps"));
  }

  void run_encoder(const std::string& arguments) const { output_of("run_encoder", arguments); }

  void expect_output(const GoldenCase& golden, const std::string& file = "y.npy") const {
    const Tensor got = load_npy(folder_ / file);
    ASSERT_EQ(got.shape(), golden.output().shape());
    for (index_t b = 0; b < got.size(0); ++b) {
      for (index_t t = 0; t < got.size(1); ++t) {
        if (!golden.is_real(b, t)) continue;
        ASSERT_TRUE(near(got.select(0, b).select(0, t),
                         array(golden.output().select(0, b).select(0, t)), 0, 1e-5))
            << golden.name() << ", sequence " << b << ", token " << t;
      }
    }
  }
};

TEST_F(EncoderPrograms, EncodersAreThoseOfPyTorch) {
  for (const char* name : {"encoder_pre_relu_padding_32", "encoder_pre_gelu_causal_padding_8"}) {
    const GoldenCase golden(name);
    run_encoder(arguments_of(golden) + options_of(golden) + " --threads 2");
    expect_output(golden);
    const std::string with_two = file_text(folder_ / "y.npy");
    run_encoder(arguments_of(golden) + options_of(golden) + " --threads 1");
    EXPECT_TRUE(file_text(folder_ / "y.npy") == with_two) << name;
  }
}

TEST_F(EncoderPrograms, CausalIsTheMaskOfThatName) {
  const GoldenCase golden("encoder_post_gelu_causal_8");
  const std::string arguments = arguments_of(golden) + options_of(golden);
  run_encoder(arguments.substr(0, arguments.find(" --attn-mask")) + options_of(golden) +
              " --causal");
  expect_output(golden);
}

TEST_F(EncoderPrograms, MasksOfEachHeadTheTanhFormAndTheWeightsOfAttention) {
  const GoldenCase golden("run_encoder");
  const std::string options =
      " --activation gelu_tanh --norm-first --eps 1e-3 --final-eps 1e-5 --attention-output a.npy";
  run_encoder(arguments_of(golden, "model.encoder.") + " --prefix model.encoder." + options);
  expect_output(golden);
  EXPECT_TRUE(near(load_npy(folder_ / "a.npy"), array(golden.weights()), 0, 1e-5));

  // A sequence has the same bits in a large and in a small batch.
  const Tensor few = load_npy(folder_ / "y.npy");
  for (const char* file : {"x.npy", "padding.npy", "mask.npy"}) {
    const Tensor once = load_npy(folder_ / file);
    Axes times = Axes::filled(once.rank(), 1);
    times[0] = 7;
    save_npy(folder_ / file, tile(once, times));
  }
  run_encoder(
      "--weights w.safetensors --input x.npy --output y.npy --heads 3 --attn-mask mask.npy "
      "--key-padding-mask padding.npy --prefix model.encoder." +
      options);
  EXPECT_TRUE(same_bits(load_npy(folder_ / "y.npy").slice(0, 18, 21), few));
  EXPECT_TRUE(near(load_npy(folder_ / "a.npy").slice(1, 18, 21), array(golden.weights()), 0, 1e-5));

  // A missing or superfluous prefix is an error; as float64, the numbers are the same.
  EXPECT_TRUE(
      fails("run_encoder", arguments_of(golden, "model.encoder.") + options,
            "w.safetensors: tensors layers.0.self_attn.in_proj_weight and linear1.weight: "));
  const std::string arguments = arguments_of(golden) + options;
  EXPECT_TRUE(fails("run_encoder", arguments + " --prefix a.",
                    "tensors a.layers.0.self_attn.in_proj_weight and linear1.weight: "));
  const Tensor x = load_npy(folder_ / "x.npy");
  const index_t heads = golden.option("nhead");
  save_npy(folder_ / "x.npy", x.slice(0, 1, 2).to(kFloat64));
  save_npy(folder_ / "padding.npy", load_npy(folder_ / "padding.npy").slice(0, 1, 2));
  save_npy(folder_ / "mask.npy", load_npy(folder_ / "mask.npy").slice(0, heads, 2 * heads));
  run_encoder(arguments);
  const Tensor one = load_npy(folder_ / "y.npy");
  EXPECT_EQ(one.dtype(), kFloat64);
  ASSERT_EQ(one.shape(), x.slice(0, 1, 2).shape());
  const Tensor first = one.select(0, 0).select(0, 0);
  EXPECT_TRUE(near(first, array(golden.output().select(0, 1).select(0, 0)), 0, 1e-12));
  EXPECT_TRUE(near(load_npy(folder_ / "a.npy").select(1, 0), array(golden.weights().select(1, 1)),
                   0, 1e-12));
}

TEST_F(EncoderPrograms, LayersAloneAndFloatPadding) {
  for (const char* name : {"encoder_layer_eps", "encoder_layer_post_gelu_additive_padding_32"}) {
    const GoldenCase golden(name);
    const std::string arguments = arguments_of(golden, "layers.0.") + options_of(golden);
    if (golden.has_input("src_key_padding_mask")) {
      const Tensor padding = golden.input("src_key_padding_mask");
      save_npy(folder_ / "padding.npy", padding.to(kFloat32) * -1e30);
    }
    run_encoder(arguments);
    expect_output(golden);
  }
}

TEST_F(EncoderPrograms, WhatRunEncoderRefuses) {
  const GoldenCase golden("encoder_pre_relu_padding_32");
  const std::string good = arguments_of(golden) + options_of(golden);
  const auto refused = [&](const std::string& more, const std::string& words) {
    EXPECT_TRUE(fails("run_encoder", good + more, words));
  };
  save_npy(folder_ / "whole.npy", tensor({{1, 0}}).to(kInt64));
  save_npy(folder_ / "narrow.npy", golden.input("src").slice(2, 0, 30));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {" --weights absent.safetensors", "absent.safetensors: cannot open"},
      {" --heads 5", "--heads: must divide the width 32 of w.safetensors, got 5"},
      {" --heads 0", "--heads"},
      {" --activation tanh", "--activation"},
      {" --key-padding-mask x.npy", "x.npy: shape must be (3, 7), got (3, 7, 32)"},
      {" --key-padding-mask whole.npy", "whole.npy: dtype must be bool"},
      {" --attn-mask padding.npy", "padding.npy: shape must be (7, 7) or (12, 7, 7), got"},
      {" --input padding.npy", "padding.npy: dtype must be floating, got bool"},
      {" --input narrow.npy", "narrow.npy: shape must be (B, T, 32), got (3, 7,"},
      {" --threads 0", "--threads"}};
  for (const auto& [more, words] : cases) refused(more, words);
  EXPECT_TRUE(fails("run_encoder", "--heads 4", "--weights"));

  const State state = golden.state();
  const auto with = [&](const std::string& name, const Tensor& value, const std::string& words) {
    State changed = state;
    changed.erase(name);
    if (value.defined()) changed.emplace(name, value);
    save_safetensors(folder_ / "w.safetensors", changed);
    refused("", "w.safetensors: " + words);
  };
  const Tensor wide = golden.input("src").select(0, 0);
  const std::string mismatch = "load_state_dict: state must fit";
  with("layers.1.linear1.weight", {}, mismatch);
  with("layers.1.linear1.weight", wide, mismatch);
  with("layers.1.linear2.weight", wide, mismatch);
  with("layers.0.linear1.weight", {}, "tensors layers.0.self_attn.in_proj_weight and ");
  with("layers.0.self_attn.in_proj_weight", wide, "tensors layers.0.self_attn.in_proj_weight and ");
  Tensor broken = state.at("layers.1.linear1.bias").clone();
  broken.slice(0, 3, 4).fill(std::nan(""));
  with("layers.1.linear1.bias", broken, "tensor layers.1.linear1.bias: weights must be finite");
  for (const char* name : {"layers.7.linear1.weight", "layers.x.linear1.weight", "fc.weight"}) {
    with(name, wide, mismatch);
  }
  with("norm.bias", wide, mismatch);
  save_safetensors(folder_ / "w.safetensors", {{"fc", wide}});
  refused("", "w.safetensors: tensors layers.0.self_attn.in_proj_weight and linear1.weight: ");
}

TEST_F(EncoderPrograms, InspectCheckpointListsWhatIsThere) {
  save_safetensors(folder_ / "a.safetensors",
                   {{"wei\"ght", tensor({{1.0, 2.0, 3.0}})}, {"ids", tensor({1, 2}).to(kInt64)}},
                   {{"who", "me\x1b[2J"}});
  const std::string table = output_of("inspect_checkpoint", "a.safetensors");
  for (const char* words :
       {"a.safetensors: 2 tensors, 5 elements, 28 bytes\n", "  who: 'me\\x1b[2J'\n",
        "ids      I64    (2,)       16\n", "wei\"ght  F32    (1, 3)     12\n"}) {
    EXPECT_TRUE(contains(table, words));
  }
  const std::string outcome = output_of("inspect_checkpoint", "--json a.safetensors a.safetensors");
  const std::string first = outcome.substr(0, outcome.find('\n') + 1);
  EXPECT_EQ(outcome, first + first);
  const Json json = parse_json(first, "output");
  EXPECT_EQ(json.at("metadata").text("format"), "pt");
  EXPECT_EQ(json.at("tensors").item(1).text("name"), "wei\"ght");
  EXPECT_EQ(json.at("tensors").item(1).at("shape").item(1).integer(), 3);
  EXPECT_EQ(json.at("tensors").item(1).integer("bytes"), 12);
}

TEST_F(EncoderPrograms, InspectCheckpointListsWhatCannotBeLoaded) {
  const std::string header = R"({"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"F4","shape":[8],"data_offsets":[4,8]}})";
  write("a.safetensors", little_endian(header.size(), 8) + header + std::string(8, '\0'));
  const std::string table = output_of("inspect_checkpoint", "a.safetensors");
  EXPECT_TRUE(contains(table, "a     F8_E4M3  (4,)       4\n")) << table;
  EXPECT_TRUE(contains(table, "b     F4       (8,)       4\n")) << table;
}

TEST_F(EncoderPrograms, InspectCheckpointRefusesWhatIsMalformed) {
  save_safetensors(folder_ / "a.safetensors", {{"w", tensor({1.0, 2.0})}});
  const std::string good = file_text(folder_ / "a.safetensors");
  EXPECT_TRUE(fails("inspect_checkpoint", "", "FILE"));
  EXPECT_TRUE(fails("inspect_checkpoint", "absent", "absent: cannot open"));
  for (const auto& [bytes, words] :
       {std::pair(good.substr(0, 5), "must be a .safetensors file, got only 5"),
        std::pair(good.substr(0, 40), "byte 0: "),
        std::pair(good + "x", "tensors must end with the data at byte 9"),
        std::pair(good.substr(0, good.size() - 1), "tensor 'w'")}) {
    write("b.safetensors", bytes);
    EXPECT_TRUE(fails("inspect_checkpoint", "a.safetensors b.safetensors",
                      "b.safetensors: " + std::string(words)));
  }
}

}  // namespace
}  // namespace tessera::test
