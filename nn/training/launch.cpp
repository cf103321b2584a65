#include "nn/training/launch.h"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "tensor/detail/parse_number.h"

namespace tessera::nn {

namespace {

std::optional<std::int64_t> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  std::int64_t value = 0;
  return parse_number(digits, value) ? value : -1;
}

/// Whether this is a task of a step that srun has started. Steps of Slurm's own have ids from
/// 0xfffffff0 on: a batch script, an interactive shell.
bool is_step_of_srun() {
  constexpr std::int64_t kFirstOfSlurm = 0xfffffff0;
  const std::optional<std::int64_t> step = number_in("SLURM_STEP_ID");
  return step && *step >= 0 && *step < kFirstOfSlurm && number_in("SLURM_PROCID").value_or(-1) >= 0;
}

}  // namespace

index_t launched_processes() {
  // mpirun may have been started by srun, never the other way round.
  std::optional<std::int64_t> count = number_in("OMPI_COMM_WORLD_SIZE");
  if (!count) count = number_in("PMI_SIZE");
  if (!count && is_step_of_srun()) count = number_in("SLURM_STEP_NUM_TASKS");
  constexpr std::int64_t kMost = 1 << 24;
  return count && *count >= 1 && *count <= kMost ? static_cast<index_t>(*count) : 1;
}

}  // namespace tessera::nn
