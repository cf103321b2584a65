#include "examples/programs/plan.h"

#include "tensor/error.h"
#include "tensor/storage.h"

namespace tessera::examples {

namespace {

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

}  // namespace

Plan::Plan(const Program& program, index_t vocabulary_size, const std::string& vocabulary)
    : program_(program) {
  const TrainingOptions& o = program.options;
  const std::string width = str_cat("--width ", o.width), layers = str_cat("--layers ", o.layers);
  const std::vector<std::string> outer = {width, layers};
  const std::vector<std::string> inner = {str_cat("--feed-forward ", o.feed_forward), width,
                                          layers};
  add("embeddings.word_embeddings.weight", {vocabulary_size, o.width}, {width});
  if (!vocabulary.empty()) parameters_.back().options.push_back(vocabulary);
  parameters_.insert(parameters_.end(),
                     {{"self_attn.in_proj_weight", {3 * o.width, o.width}, outer, true},
                      {"self_attn.out_proj.weight", {o.width, o.width}, outer, true},
                      {"linear1.weight", {o.feed_forward, o.width}, inner, true},
                      {"linear2.weight", {o.width, o.feed_forward}, inner, true}});
}

void Plan::check_tensors(const Parameter& parameter, index_t copies) const {
  const nn::Checkpoint& checkpoint = *program_.resumed;
  for (index_t i = 0; i < copies; ++i) {
    const std::string layer = parameter.in_layers ? str_cat("encoder.layers.", i, '.') : "";
    const std::string name = "model." + layer + parameter.name;
    const auto found = checkpoint.tensors.find(name);
    if (found == checkpoint.tensors.end()) {
      fail_file(checkpoint.file, "tensor ", name, ": not found, but the options require it");
    }
    if (!(found->second.shape() == parameter.shape)) {
      fail_file(checkpoint.file, "tensor ", name, ": shape must be ", parameter.shape, " by ",
                listed(parameter.options), ", got ", found->second.shape());
    }
  }
}

void Plan::check(bool is_trained) const {
  const Parameter* largest = nullptr;
  double most = 0, all = 0;
  for (const Parameter& parameter : parameters_) {
    const index_t copies = parameter.in_layers ? program_.options.layers : 1;
    if (program_.resumed) check_tensors(parameter, copies);
    auto count = static_cast<double>(copies);
    for (const index_t size : parameter.shape) count *= static_cast<double>(size);
    all += count;
    if (count <= most) continue;
    most = count;
    largest = &parameter;
  }
  constexpr double kCopies = 4;  // the weights, their gradients and AdamW's two moments
  const double bytes = sizeof(float) * all * (is_trained ? kCopies : 1);
  const auto there = static_cast<double>(machine_memory());
  if (largest == nullptr || bytes <= there) return;
  fail(program_.name().c_str(), "the model must fit into ", gigabytes(there),
       " of memory and swap, got ", gigabytes(bytes), " of ",
       is_trained ? "weights, gradients and moments" : "weights", "; the largest tensor, ",
       largest->name, " of shape ", largest->shape,
       largest->in_layers ? str_cat(" (", program_.options.layers, " times)") : "", ", is set by ",
       listed(largest->options), "; choose a smaller model");
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
