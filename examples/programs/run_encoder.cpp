// Runs the weights of a PyTorch nn.TransformerEncoder on an array.
//
//   run_encoder --weights encoder.safetensors --heads 8 --input x.npy --output y.npy
//
// The file is written by safetensors.torch.save_file(encoder.state_dict(), ...); it determines the
// number of layers, their widths and biases. Heads, activation, order of norms and eps, which a
// state dict lacks, are options with PyTorch's defaults. Masks have the same meaning as in PyTorch.
#include <algorithm>
#include <charconv>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/programs/attention_file.h"
#include "examples/programs/command.h"
#include "examples/programs/progress.h"
#include "examples/programs/trace.h"
#include "models/encoder.h"
#include "nn/hook.h"
#include "nn/module.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/io/npy.h"
#include "tensor/io/safetensors.h"
#include "tensor/ops/compare.h"

namespace {

using namespace tessera;

constexpr index_t kSequencesAtOnce = 16;

struct Options {
  std::string weights, input, output;
  std::string prefix;
  index_t heads = 0;
  std::string activation = "relu";
  bool norm_first = false;
  double eps = 1e-5;
  double final_eps = 0;  // 0: as eps
  std::string key_padding_mask, attn_mask;
  bool causal = false;
  std::string attention_output;
  std::string trace;
  examples::AttentionFileOptions attention;
};

/// The shapes of one layer's parameters, by the names after "layers.N.".
using LayerShapes = std::map<std::string, Shape>;

/// The tensors after the prefix. **Errors**: no layer, with a prefix that has one; NaN, infinity.
nn::StateDict read_state(const Options& o) {
  constexpr std::string_view kFirst = "layers.0.self_attn.in_proj_weight";
  nn::StateDict state;
  std::optional<std::string> elsewhere;
  for (auto& [name, tensor] : load_safetensors(o.weights).tensors) {
    if (name.ends_with(kFirst)) elsewhere = name.substr(0, name.size() - kFirst.size());
    if (!name.starts_with(o.prefix)) continue;
    if (is_floating(tensor.dtype()) && !all(isfinite(tensor)).item<bool>()) {
      fail_file(o.weights, "tensor ", escaped(name), ": weights must be finite");
    }
    state.emplace(name.substr(o.prefix.size()), tensor);
  }
  if (state.contains(std::string(kFirst))) return state;
  const std::string wanted = escaped(o.prefix) + std::string(kFirst);
  if (elsewhere) {
    fail_file(o.weights, "tensor ", wanted, ": not found; give ",
              elsewhere->empty() ? "no --prefix" : "--prefix " + printable(*elsewhere));
  }
  fail_file(o.weights, "tensor ", wanted, ": not found; the file must have the weights of an ",
            "nn.TransformerEncoder");
}

/// The layers of the state. **Errors**: a missing number; layers that differ. So a small file
/// cannot request large layers.
std::map<index_t, LayerShapes> layers_of(const nn::StateDict& state, const std::string& file) {
  constexpr std::string_view kLayers = "layers.";
  std::map<index_t, LayerShapes> layers;
  for (const auto& [name, tensor] : state) {
    if (!name.starts_with(kLayers)) continue;
    index_t number = -1;
    const char* const begin = name.data() + kLayers.size();
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(begin, end, number);
    if (error != std::errc() || number < 0 || rest == end || *rest != '.') {
      fail_file(file, "tensor ", escaped(name), ": must have a layer's number");
    }
    layers[number].emplace(std::string(rest + 1, end), tensor.shape());
  }
  const LayerShapes& first = layers.at(0);
  index_t wanted = 0;
  for (const auto& [number, shapes] : layers) {
    if (number != wanted++) fail_file(file, "layers.", wanted - 1, ": not found");
    for (const auto& [name, shape] : first) {
      const auto found = shapes.find(name);
      if (found == shapes.end()) {
        fail_file(file, "tensor layers.", number, '.', escaped(name),
                  ": not found, but layer 0 has it");
      }
      if (!(found->second == shape)) {
        fail_file(file, "tensor layers.", number, '.', escaped(name),
                  ": shape must be that of layer 0, ", shape, ", got ", found->second);
      }
    }
  }
  return layers;
}

nn::Activation activation_of(const std::string& name) {
  return name == "gelu"        ? nn::Activation::kGelu
         : name == "gelu_tanh" ? nn::Activation::kGeluTanh
                               : nn::Activation::kRelu;
}

/// The sizes of layer 0. **Errors**: tensors that are missing or whose shapes do not match.
models::EncoderLayerOptions layer_of(const LayerShapes& shapes, const Options& o) {
  const auto matrix = [&](const char* name) {
    const auto found = shapes.find(name);
    if (found == shapes.end()) fail_file(o.weights, "tensor layers.0.", name, ": not found");
    if (found->second.size() != 2) {
      fail_file(o.weights, "tensor layers.0.", name, ": must have 2 dimensions, got shape ",
                found->second);
    }
    return found->second;
  };
  const Shape in_proj = matrix("self_attn.in_proj_weight");
  const Shape linear1 = matrix("linear1.weight");
  const index_t width = in_proj[1];
  if (width < 1 || in_proj[0] != 3 * width) {
    fail_file(o.weights, "tensor layers.0.self_attn.in_proj_weight: shape must be (3 D, D), got ",
              in_proj);
  }
  if (linear1[0] < 1 || linear1[1] != width) {
    fail_file(o.weights, "tensor layers.0.linear1.weight: shape must be (F, ", width, "), got ",
              linear1);
  }
  require(width % o.heads == 0, "--heads", "must divide the width ", width, " of ", o.weights,
          ", got ", o.heads);
  return {.d_model = width,
          .nhead = o.heads,
          .dim_feedforward = linear1[0],
          .dropout = 0,
          .activation = activation_of(o.activation),
          .layer_norm_eps = o.eps,
          .norm_first = o.norm_first,
          .bias = shapes.contains("linear1.bias")};
}

models::Encoder load_encoder(const Options& o) {
  const nn::StateDict state = read_state(o);
  const auto layers = layers_of(state, o.weights);
  const models::EncoderLayerOptions layer = layer_of(layers.at(0), o);
  models::Encoder encoder({.layers = models::repeat_layer(layer, std::ssize(layers))});
  if (state.contains("norm.weight")) {
    encoder.norm.emplace(nn::NormOptions{.width = layer.d_model,
                                         .eps = o.final_eps > 0 ? o.final_eps : o.eps,
                                         .bias = state.contains("norm.bias")});
  }
  try {
    nn::load_state_dict(encoder, state);
  } catch (const std::invalid_argument& error) {
    fail_file(o.weights, error.what());
  }
  nn::eval(encoder);
  return encoder;
}

/// Both masks, for all sequences; undefined if absent.
struct Masks {
  Tensor key_padding;  // (B, T)
  Tensor attention;    // (T, T) or (B, H, T, T)
  bool causal = false;

  /// The masks of sequences `begin` to before `end`.
  AttentionMask part(index_t begin, index_t end) const {
    AttentionMask mask = causal ? causal_mask() : AttentionMask();
    if (key_padding.defined()) {
      const Tensor keys = key_padding.slice(0, begin, end);
      mask = mask & (keys.dtype() == kBool ? ignore_keys_mask(keys)
                                           : additive_mask(keys.unsqueeze(1).unsqueeze(1)));
    }
    if (attention.defined()) {
      const Tensor scores = attention.rank() == 4 ? attention.slice(0, begin, end) : attention;
      mask = mask & (scores.dtype() == kBool ? ignore_mask(scores) : additive_mask(scores));
    }
    return mask;
  }
};

/// A mask from a file: bool, or floating in the dtype of the scores.
Tensor read_mask(const std::string& file, DType dtype) {
  const Tensor mask = load_npy(file);
  if (mask.dtype() == kBool) return mask;
  if (!is_floating(mask.dtype())) {
    fail_file(file, "dtype must be bool (True = ignore) or floating (added), got ",
              npy_dtype(file));
  }
  return mask.to(dtype);
}

Masks read_masks(const Options& o, const Tensor& x, bool is_batch) {
  const index_t batch = x.size(0);
  const index_t tokens = x.size(1);
  Masks masks;
  masks.causal = o.causal;
  if (!o.key_padding_mask.empty()) {
    const Tensor mask = read_mask(o.key_padding_mask, x.dtype());
    const Shape wanted = is_batch ? Shape{batch, tokens} : Shape{tokens};
    if (!(mask.shape() == wanted)) {
      fail_file(o.key_padding_mask, "shape must be ", wanted, ", got ", mask.shape());
    }
    masks.key_padding = is_batch ? mask : mask.unsqueeze(0);
  }
  if (!o.attn_mask.empty()) {
    const Tensor mask = read_mask(o.attn_mask, x.dtype());
    const Shape of_all = {tokens, tokens};
    const Shape of_each = {batch * o.heads, tokens, tokens};
    if (!(mask.shape() == of_all) && !(mask.shape() == of_each)) {
      fail_file(o.attn_mask, "shape must be ", of_all, " or ", of_each, ", got ", mask.shape());
    }
    masks.attention = mask.rank() == 2 ? mask : mask.unflatten(0, {batch, o.heads});
  }
  return masks;
}

Tensor read_input(const std::string& file, index_t width) {
  const Tensor x = load_npy(file);
  if (!is_floating(x.dtype())) fail_file(file, "dtype must be floating, got ", npy_dtype(file));
  if (x.rank() < 2 || x.rank() > 3 || x.size(-1) != width) {
    fail_file(file, "shape must be (B, T, ", width, ") or (T, ", width, "), got ", x.shape());
  }
  return x;
}

struct Result {
  Tensor output;     // (B, T, D)
  Tensor attention;  // (L, B, H, T, T), or undefined
};

/// Computes some sequences at a time: the bits of a sequence do not depend on the others. A trace
/// includes all sequences, so they are then computed together.
Result run(const models::Encoder& encoder, const Tensor& x, const Masks& masks, const Options& o) {
  const index_t batch = x.size(0);
  const index_t tokens = x.size(1);
  Result result{Tensor::empty(x.shape(), x.dtype()), {}};
  if (!o.attention_output.empty()) {
    result.attention =
        Tensor::empty({std::ssize(encoder.layers), batch, o.heads, tokens, tokens}, x.dtype());
  }
  examples::CommandProgress progress("sequences");
  const index_t at_once = o.trace.empty() ? kSequencesAtOnce : std::max<index_t>(batch, 1);
  for (index_t begin = 0; begin < batch; begin += at_once) {
    const index_t end = std::min(begin + at_once, batch);
    const AttentionMask mask = masks.part(begin, end);
    const models::EncoderInputs inputs = {x.slice(0, begin, end), mask};
    if (result.attention.defined()) {
      const models::EncoderResult trace = encoder.with_weights(inputs);
      result.output.slice(0, begin, end).copy_from(trace.output);
      for (index_t i = 0; i < std::ssize(trace.weights); ++i) {
        result.attention.select(0, i)
            .slice(0, begin, end)
            .copy_from(trace.weights[static_cast<std::size_t>(i)]);
      }
    } else {
      result.output.slice(0, begin, end).copy_from(encoder(inputs));
    }
    progress.show(end, batch);
  }
  return result;
}

/// The same, with a line per step in the file of --trace.
Result run_traced(const models::Encoder& encoder, const Tensor& x, const Masks& masks,
                  const Options& o) {
  examples::Trace trace;
  const nn::Hook hook("**", [&](const nn::Step& step) {
    trace.push_back(examples::trace_step(std::string(step.name), step.value));
  });
  Result result = run(encoder, x, masks, o);
  examples::write_trace(o.trace, trace);
  std::cout << o.trace << ": " << trace.size() << " steps\n";
  return result;
}

/// The page or picture of --attention, for the first sequences. Tokens are named by their
/// positions.
void write_attention(const examples::AttentionFile& file, const models::Encoder& encoder,
                     const Tensor& x, const Masks& masks) {
  examples::AttentionTexts texts = {
      .count = x.size(0), .tokens = {}, .attention = {}, .result = {}};
  texts.tokens = [&](index_t) {
    std::vector<std::string> names;
    for (index_t t = 0; t < x.size(1); ++t) names.push_back(std::to_string(t));
    return names;
  };
  const auto inputs = [&](index_t i) {
    return models::EncoderInputs{x.slice(0, i, i + 1), masks.part(i, i + 1)};
  };
  texts.attention = [&](index_t i, const AttentionRequest& request) {
    return examples::attention_of(encoder, request,
                                  [&] { return encoder.with_weights(inputs(i), request); });
  };
  texts.result.of = [&](index_t i) { return encoder(inputs(i)); };
  file.write(texts);
}

void run_encoder(const Options& o) {
  models::Encoder encoder = load_encoder(o);
  const Tensor given =
      read_input(o.input, encoder.layers.front().self_attn.out_proj.weight.size(0));
  const bool is_batch = given.rank() == 3;
  const Tensor x = is_batch ? given : given.unsqueeze(0);
  nn::convert(encoder, x.dtype());
  const examples::AttentionFile attention(o.attention, encoder, o.weights);
  const Masks masks = read_masks(o, x, is_batch);
  const auto run_it = o.trace.empty() ? run : run_traced;
  const Result result = run_it(encoder, x, masks, o);
  save_npy(o.output, is_batch ? result.output : result.output.squeeze(0));
  std::cout << o.output << ": " << given.shape() << '\n';
  write_attention(attention, encoder, x, masks);
  if (!result.attention.defined()) return;
  const Tensor weights = is_batch ? result.attention : result.attention.squeeze(1);
  save_npy(o.attention_output, weights);
  std::cout << o.attention_output << ": " << weights.shape() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command("run_encoder",
                            "Runs the weights of a PyTorch nn.TransformerEncoder on an array. x is "
                            "(B, T, D), or (T, D).");
  Options o;
  command.add_input("--weights", o.weights, "state dict, .safetensors").required();
  command.add("--heads", o.heads, "attention heads", {1, examples::kMany}).required();
  command.add_input("--input", o.input, "input x, .npy").required();
  command.add_output("--output", o.output, "output file, .npy").required();
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
  command.add_output("--trace", o.trace, "output file for mean, deviation and values of each step");
  examples::add_attention_options(command, o.attention);
  return command.run(argc, argv, [&] { run_encoder(o); });
}
