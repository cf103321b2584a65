// Runs the weights of a PyTorch nn.TransformerEncoder on an array.
//
//   run_encoder --weights encoder.safetensors --heads 8 --input x.npy --output y.npy
//
// The file is written by safetensors.torch.save_file(encoder.state_dict(), ...); it determines the
// number of layers, their widths and biases. Heads, activation, order of norms and eps, which a
// state dict lacks, are options with PyTorch's defaults. Masks have the same meaning as in PyTorch.
#include <algorithm>
#include <functional>
#include <iostream>
#include <string>

#include <tessera/models/encoder.h>
#include <tessera/nn/module.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/io/npy.h>
#include <tessera/tensor/io/safetensors.h>
#include <tessera/tensor/ops/compare.h>
#include <tessera/tensor/ops/rearrange.h>
#include "examples/programs/cli.h"

namespace {

using namespace tessera;

struct Options {
  std::string weights, input, output, prefix;
  index_t heads = 0;
  std::string activation = "relu";
  bool norm_first = false, causal = false;
  double eps = 1e-5, final_eps = 0;  // 0: as eps
  std::string key_padding_mask, attn_mask, attention_output;
};

/// The encoder of a state dict. Only layers with the shapes of layer 0 are loaded, so a small file
/// cannot request large layers. **Errors**: layer 0 is missing or malformed.
models::Encoder encoder_for(const nn::StateDict& state, const Options& o) {
  const auto shape_of = [&](index_t layer, const std::string& name) {
    const auto found = state.find(str_cat("layers.", layer, ".", name));
    return found == state.end() ? Shape() : found->second.shape();
  };
  const Shape in_proj = shape_of(0, "self_attn.in_proj_weight");
  const Shape linear1 = shape_of(0, "linear1.weight");
  if (in_proj.size() != 2 || in_proj[0] != 3 * in_proj[1] || linear1.size() != 2 ||
      linear1[1] != in_proj[1]) {
    fail_file(o.weights, "tensors ", escaped(o.prefix), "layers.0.self_attn.in_proj_weight and ",
              "linear1.weight: shapes must be (3 D, D) and (F, D), got ", in_proj, " and ", linear1,
              "; --prefix is what comes before 'layers.0'");
  }
  require(in_proj[1] % o.heads == 0, "--heads", "must divide the width ", in_proj[1], " of ",
          o.weights, ", got ", o.heads);
  index_t count = 1;
  while (shape_of(count, "self_attn.in_proj_weight") == in_proj &&
         shape_of(count, "linear1.weight") == linear1) {
    ++count;
  }
  const auto activation = o.activation == "gelu"   ? nn::Activation::kGelu
                          : o.activation == "relu" ? nn::Activation::kRelu
                                                   : nn::Activation::kGeluTanh;
  models::Encoder encoder(
      {.layers = models::repeat_layer({.d_model = in_proj[1],
                                       .nhead = o.heads,
                                       .dim_feedforward = linear1[0],
                                       .dropout = 0,
                                       .activation = activation,
                                       .layer_norm_eps = o.eps,
                                       .norm_first = o.norm_first,
                                       .bias = state.contains("layers.0.linear1.bias")},
                                      count)});
  if (state.contains("norm.weight")) {
    encoder.norm.emplace(nn::NormOptions{.width = state.at("norm.weight").count(),
                                         .eps = o.final_eps > 0 ? o.final_eps : o.eps,
                                         .bias = state.contains("norm.bias")});
  }
  return encoder;
}

models::Encoder load_encoder(const Options& o) {
  nn::StateDict state;
  for (auto& [name, tensor] : load_safetensors(o.weights).tensors) {
    if (!name.starts_with(o.prefix)) continue;
    if (is_floating(tensor.dtype()) && !all(isfinite(tensor)).item<bool>()) {
      fail_file(o.weights, "tensor ", escaped(name), ": weights must be finite");
    }
    state.emplace(name.substr(o.prefix.size()), tensor);
  }
  models::Encoder encoder = encoder_for(state, o);
  try {
    nn::load_state_dict(encoder, state);
  } catch (const std::invalid_argument& error) {
    fail_file(o.weights, error.what());
  }
  nn::eval(encoder);
  return encoder;
}

Tensor load_input(const Options& o, index_t width) {
  const Tensor x = load_npy(o.input);
  if (!is_floating(x.dtype())) {
    fail_file(o.input, "dtype must be floating, got ", npy_dtype(o.input));
  }
  if (x.rank() != 3 || x.size(2) != width) {
    fail_file(o.input, "shape must be (B, T, ", width, "), got ", x.shape());
  }
  return x;
}

/// A mask of one of two shapes, bool, or floating in the dtype of the scores.
Tensor load_mask(const std::string& file, DType dtype, const Shape& shape, const Shape& other) {
  const Tensor mask = load_npy(file);
  if (mask.dtype() != kBool && !is_floating(mask.dtype())) {
    fail_file(file, "dtype must be bool (True = ignore) or floating (added), got ",
              npy_dtype(file));
  }
  if (!(mask.shape() == shape || mask.shape() == other)) {
    fail_file(file, "shape must be ", shape, shape == other ? "" : str_cat(" or ", other), ", got ",
              mask.shape());
  }
  return mask.dtype() == kBool ? mask : mask.to(dtype);
}

/// The masks of the options for sequences `begin` to before `end` of x (B, T, D).
std::function<AttentionMask(index_t begin, index_t end)> load_masks(const Options& o,
                                                                    const Tensor& x) {
  const index_t batch = x.size(0), tokens = x.size(1);
  Tensor padding, scores;
  if (!o.key_padding_mask.empty()) {
    padding = load_mask(o.key_padding_mask, x.dtype(), {batch, tokens}, {batch, tokens});
  }
  if (!o.attn_mask.empty()) {
    scores = load_mask(o.attn_mask, x.dtype(), {tokens, tokens}, {batch * o.heads, tokens, tokens});
    if (scores.rank() == 3) scores = scores.unflatten(0, {batch, o.heads});
  }
  return [=, causal = o.causal](index_t begin, index_t end) {
    AttentionMask mask = causal ? causal_mask() : AttentionMask();
    if (padding.defined()) {
      const Tensor keys = padding.slice(0, begin, end);
      mask = mask & (keys.dtype() == kBool ? ignore_keys_mask(keys)
                                           : additive_mask(keys.unsqueeze(1).unsqueeze(1)));
    }
    if (scores.defined()) {
      const Tensor part = scores.rank() == 4 ? scores.slice(0, begin, end) : scores;
      mask = mask & (part.dtype() == kBool ? ignore_mask(part) : additive_mask(part));
    }
    return mask;
  };
}

void run_encoder(const Options& o) {
  constexpr index_t kSequencesAtOnce = 16;  // the bits of a sequence do not depend on the others
  models::Encoder encoder = load_encoder(o);
  const Tensor x = load_input(o, encoder.layers.front().self_attn->out_proj.weight.size(0));
  nn::convert(encoder, x.dtype());
  const auto masks = load_masks(o, x);
  const index_t batch = x.size(0), tokens = x.size(1), layers = std::ssize(encoder.layers);
  Tensor output = Tensor::empty(x.shape(), x.dtype()), weights;
  if (!o.attention_output.empty()) {
    weights = Tensor::empty({layers, batch, o.heads, tokens, tokens}, x.dtype());
  }
  for (index_t begin = 0; begin < batch; begin += kSequencesAtOnce) {
    const index_t end = std::min(begin + kSequencesAtOnce, batch);
    const models::EncoderInputs inputs = {x.slice(0, begin, end), masks(begin, end)};
    const auto result = weights.defined() ? encoder.with_attentions(inputs)
                                          : models::EncoderResult{encoder(inputs), {}};
    output.slice(0, begin, end).copy_from(result.output);
    if (weights.defined()) weights.slice(1, begin, end).copy_from(stack(result.attentions));
  }
  save_npy(o.output, output);
  std::cout << o.output << ": " << output.shape() << '\n';
  if (!weights.defined()) return;
  save_npy(o.attention_output, weights);
  std::cout << o.attention_output << ": " << weights.shape() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command("run_encoder",
                            "Runs the weights of a PyTorch nn.TransformerEncoder on an array "
                            "(B, T, D).");
  Options o;
  command.add_input("--weights", o.weights, "state dict, .safetensors", examples::kRequired);
  command.add("--heads", o.heads, "attention heads", {1, examples::kMany}, examples::kRequired);
  command.add_input("--input", o.input, "input x, .npy", examples::kRequired);
  command.add_output("--output", o.output, "output file, .npy", examples::kRequired);
  command.add("--prefix", o.prefix, "prefix of the tensors' names, such as 'encoder.'");
  command.add("--activation", o.activation, "activation of the feed-forward networks",
              {"relu", "gelu", "gelu_tanh"});
  command.add("--norm-first", o.norm_first, "norms before attention and feed-forward networks");
  command.add("--eps", o.eps, "eps of the norms", {1e-30, 1});
  command.add("--final-eps", o.final_eps, "eps of the final norm; --eps if absent", {1e-30, 1});
  command.add_input("--key-padding-mask", o.key_padding_mask,
                    "mask (B, T), .npy: True = padding; floats are added");
  command.add_input("--attn-mask", o.attn_mask,
                    "mask (T, T) or (B H, T, T), .npy: True = ignore; floats are added");
  command.add("--causal", o.causal, "causal mask");
  command.add_output("--attention-output", o.attention_output,
                     "output file for the attention weights (L, B, H, T, T), .npy");
  return command.run(argc, argv, [&] { run_encoder(o); });
}
