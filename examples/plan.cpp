#include "examples/plan.h"

#include <sys/sysinfo.h>

#include <array>

#include "tensor/error.h"

namespace tessera::examples {

namespace {

double count_of(const Shape& shape) {
  double count = 1;
  for (index_t size : shape) count *= static_cast<double>(size);
  return count;
}

/// How many parameters stand behind one of a plan.
index_t copies_of(const Program& program, const PlannedParameter& parameter) {
  return parameter.layers.empty() ? 1 : program.options.layers;
}

/// What the training of all planned parameters takes: weights, gradients and two moments of each.
double bytes_of(const Program& program, const Plan& plan) {
  double count = 0;
  for (const PlannedParameter& parameter : plan) {
    count += count_of(parameter.shape) * static_cast<double>(copies_of(program, parameter));
  }
  return 4 * sizeof(float) * count;
}

/// The machine's memory, on disk too; 0 where that cannot be known.
double machine_bytes() {
  struct sysinfo info = {};
  if (sysinfo(&info) != 0) return 0;
  return (static_cast<double>(info.totalram) + static_cast<double>(info.totalswap)) *
         static_cast<double>(info.mem_unit);
}

std::string gigabytes(double bytes) {
  return format(static_cast<std::int64_t>(bytes / 1e9) + 1, " GB");
}

void check_tensor(const nn::Checkpoint& checkpoint, const std::string& name, const Shape& shape) {
  const auto found = checkpoint.tensors.find(name);
  if (found == checkpoint.tensors.end()) {
    fail_file(checkpoint.file, "it has no tensor ", name, ", which its options ask for");
  }
  if (!(found->second.shape() == shape)) {
    fail_file(checkpoint.file, name, " has shape ", found->second.shape(),
              ", but by its options it should have ", shape);
  }
}

}  // namespace

Plan plan_of(const Program& program, const models::TokenEncoderOptions& options) {
  constexpr const char* kLayers = "encoder.layers.";
  const TrainingOptions& o = program.options;
  const std::string width = format("--width ", o.width);
  const std::string layers = format(" and --layers ", o.layers);
  const std::string inner = format("--feed-forward ", o.feed_forward, ", ", width, layers);
  return {
      {"embeddings.word_embeddings.weight", {options.vocabulary_size, o.width}, width},
      {".self_attn.in_proj_weight", {3 * o.width, o.width}, width + layers, kLayers},
      {".self_attn.out_proj.weight", {o.width, o.width}, width + layers, kLayers},
      {".linear1.weight", {o.feed_forward, o.width}, inner, kLayers},
      {".linear2.weight", {o.width, o.feed_forward}, inner, kLayers},
  };
}

void check_plan(const Program& program, const Plan& plan) {
  const PlannedParameter* largest = nullptr;
  double most = 0;
  for (const PlannedParameter& parameter : plan) {
    const index_t copies = copies_of(program, parameter);
    for (index_t i = 0; program.resumed && i < copies; ++i) {
      const std::string layer =
          parameter.layers.empty() ? std::string() : format(parameter.layers, i);
      check_tensor(*program.resumed, format("model.", layer, parameter.name), parameter.shape);
    }
    const double count = count_of(parameter.shape) * static_cast<double>(copies);
    if (count <= most) continue;
    most = count;
    largest = &parameter;
  }
  const double bytes = bytes_of(program, plan);
  const double there = machine_bytes();
  if (largest == nullptr || there == 0 || bytes <= there) return;
  fail("out of memory", "by ", largest->options, " each ",
       largest->layers.empty() ? largest->name : largest->name.substr(1), " has shape ",
       largest->shape, ", and to train the model takes ", gigabytes(bytes), "; this machine has ",
       gigabytes(there));
}

void check_positions(const Program& program, const char* flag,
                     const models::TokenEncoderOptions& options) {
  constexpr index_t kMost = index_t{1} << 26;  // 512 MiB in float64
  const index_t width = program.options.width;
  const std::string file = program.resumed ? program.resumed->file : std::string("out of memory");
  if (options.max_tokens <= kMost / width) return;
  fail_file(file, flag, " and --width make a table of ", options.max_tokens, " positions of ",
            width, " numbers; more than ", kMost, " numbers are too many");
}

}  // namespace tessera::examples
