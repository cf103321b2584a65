#include "tessera/nn/training/communicator.h"

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/detail/parse_number.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"

namespace tessera::nn {

std::vector<std::string> Communicator::all_gather(std::string_view mine) {
  return all_to_all(std::vector<std::string_view>(static_cast<std::size_t>(size()), mine));
}

std::vector<std::string> OneProcess::all_to_all(std::span<const std::string_view> parts) {
  require(parts.size() == 1, "all_to_all", "parts must be 1, got ", parts.size());
  return {std::string(parts.front())};
}

void require_same(Communicator& communicator, const char* op, std::string_view what,
                  std::string_view text) {
  const std::vector<std::string> all = communicator.all_gather(text);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    require(all[rank] == all.front(), op, what, " must be the same on all ranks, got ",
            printable(all.front()), " on rank 0 and ", printable(all[rank]), " on rank ", rank);
  }
}

Share share_of(index_t count, index_t rank, index_t size) {
  require(size >= 1 && rank >= 0 && rank < size, "share_of", "rank must be in [0, ", size,
          "), got ", rank);
  detail::require_count("share_of", "count", count);
  // Equal to count * rank / size, which could overflow.
  const index_t whole = count / size, rest = count % size;
  const auto before = [&](index_t r) { return whole * r + rest * r / size; };
  return {before(rank), before(rank + 1)};
}

Share share_of(index_t count, const Communicator& communicator) {
  return share_of(count, communicator.rank(), communicator.size());
}

namespace {

std::optional<std::int64_t> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  std::int64_t value = 0;
  return parse_number(digits, value) ? value : -1;
}

/// Whether this is a task of a step that srun has started. Slurm's own steps (a batch script, an
/// interactive shell) have ids from 0xfffffff0 on.
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
