#include "examples/programs/plan.h"

#include "tensor/error.h"
#include "tensor/storage.h"

namespace tessera::examples {

namespace {

double count_of(const Shape& shape) {
  double count = 1;
  for (index_t size : shape) count *= static_cast<double>(size);
  return count;
}

/// The number of parameters of a model for one of its plan.
index_t copies_of(const Program& program, const PlannedParameter& parameter) {
  return parameter.layer_prefix.empty() ? 1 : program.options.layers;
}

/// What all planned parameters take.
double bytes_of(const Program& program, const Plan& plan) {
  double count = 0;
  for (const PlannedParameter& parameter : plan) {
    count += count_of(parameter.shape) * static_cast<double>(copies_of(program, parameter));
  }
  return sizeof(float) * count;
}

/// "--width 8 and --layers 2".
std::string listed(const std::vector<std::string>& options) {
  std::string list;
  for (std::size_t i = 0; i < options.size(); ++i) {
    list += (i == 0 ? "" : i + 1 < options.size() ? ", " : " and ") + options[i];
  }
  return list;
}

std::string gigabytes(double bytes) {
  return str_cat(static_cast<std::int64_t>(bytes / 1e9) + 1, " GB");
}

void check_tensor(const nn::Checkpoint& checkpoint, const std::string& name,
                  const PlannedParameter& parameter) {
  const auto found = checkpoint.tensors.find(name);
  if (found == checkpoint.tensors.end()) {
    fail_file(checkpoint.file, "tensor ", name, ": not found, but the options require it");
  }
  if (!(found->second.shape() == parameter.shape)) {
    fail_file(checkpoint.file, "tensor ", name, ": shape must be ", parameter.shape, " by ",
              listed(parameter.options), ", got ", found->second.shape());
  }
}

}  // namespace

Plan plan_of(const Program& program, index_t vocabulary_size, const std::string& vocabulary) {
  constexpr const char* kLayers = "encoder.layers.";
  const TrainingOptions& o = program.options;
  const std::string width = str_cat("--width ", o.width);
  const std::string layers = str_cat("--layers ", o.layers);
  const std::vector<std::string> outer = {width, layers};
  const std::vector<std::string> inner = {str_cat("--feed-forward ", o.feed_forward), width,
                                          layers};
  std::vector<std::string> words = {width};
  if (!vocabulary.empty()) words.push_back(vocabulary);
  return {
      {"embeddings.word_embeddings.weight", {vocabulary_size, o.width}, words},
      {".self_attn.in_proj_weight", {3 * o.width, o.width}, outer, kLayers},
      {".self_attn.out_proj.weight", {o.width, o.width}, outer, kLayers},
      {".linear1.weight", {o.feed_forward, o.width}, inner, kLayers},
      {".linear2.weight", {o.width, o.feed_forward}, inner, kLayers},
  };
}

void check_plan(const Program& program, const Plan& plan, bool is_trained) {
  const PlannedParameter* largest = nullptr;
  double most = 0;
  for (const PlannedParameter& parameter : plan) {
    const index_t copies = copies_of(program, parameter);
    for (index_t i = 0; program.resumed && i < copies; ++i) {
      const std::string layer =
          parameter.layer_prefix.empty() ? std::string() : str_cat(parameter.layer_prefix, i);
      check_tensor(*program.resumed, str_cat("model.", layer, parameter.name), parameter);
    }
    const double count = count_of(parameter.shape) * static_cast<double>(copies);
    if (count <= most) continue;
    most = count;
    largest = &parameter;
  }
  constexpr double kCopies = 4;  // the weights, their gradients and AdamW's two moments
  const double bytes = bytes_of(program, plan) * (is_trained ? kCopies : 1);
  const auto there = static_cast<double>(machine_memory());
  if (largest == nullptr || bytes <= there) return;
  const bool is_layers = !largest->layer_prefix.empty();
  fail(program.name().c_str(), "the model must fit into ", gigabytes(there),
       " of memory and swap, got ", gigabytes(bytes), " of ",
       is_trained ? "weights, gradients and moments" : "weights", "; the largest tensor, ",
       is_layers ? largest->name.substr(1) : largest->name, " of shape ", largest->shape,
       is_layers ? str_cat(" (", program.options.layers, " times)") : "", ", is set by ",
       listed(largest->options), ": choose a smaller model");
}

void check_positions(const Program& program, const char* flag, index_t max_tokens) {
  constexpr index_t kMost = index_t{1} << 26;  // 512 MiB in float64
  const index_t width = program.options.width;
  if (max_tokens <= kMost / width) return;
  const std::string error =
      str_cat(flag, " times --width must be at most ", kMost, ", got ", max_tokens, " x ", width);
  if (program.resumed) fail_file(program.resumed->file, error);
  fail(program.name().c_str(), error);
}

}  // namespace tessera::examples
