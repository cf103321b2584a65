#include "nn/training/communicator.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "tensor/detail/parse_number.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::nn {

void OneProcess::send(index_t to, index_t, std::span<const std::byte>) {
  fail("OneProcess", "rank must be that of a different process, got ", to,
       "; this run has only one");
}

void OneProcess::receive(index_t from, index_t, std::span<std::byte>) {
  fail("OneProcess", "rank must be that of a different process, got ", from,
       "; this run has only one");
}

Share share_of(index_t count, index_t rank, index_t size) {
  require(size >= 1 && rank >= 0 && rank < size, "share_of", "rank must be in [0, ", size,
          "), got ", rank);
  // Equal to count * rank / size, which could overflow.
  const index_t whole = count / size, rest = count % size;
  const auto before = [&](index_t r) { return whole * r + rest * r / size; };
  return {before(rank), before(rank + 1)};
}

Share share_of(index_t count, const Communicator& communicator) {
  return share_of(count, communicator.rank(), communicator.size());
}

std::vector<std::string> all_gather_results(Communicator& communicator,
                                            const std::function<std::string()>& make) {
  if (communicator.size() == 1) return {make()};
  std::string mine;
  try {
    mine = ' ' + make();
  } catch (const ProcessLost&) {
    throw;
  } catch (const std::exception& error) {
    mine = str_cat('!', error.what());
  } catch (...) {
    mine = "!an exception was thrown that is not a std::exception";
  }
  std::vector<std::string> all = communicator.all_gather(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].front() == '!') {
      throw std::runtime_error(str_cat("rank ", rank, ": ", all[rank].substr(1)));
    }
  }
  for (std::string& text : all) text.erase(0, 1);
  return all;
}

namespace {

/// Joins texts, each after its length.
std::string packed(const NamedTexts& facts) {
  std::string result;
  const auto add = [&](const std::string& text) {
    result += std::to_string(text.size()) + ':' + text;
  };
  for (const auto& [name, text] : facts) {
    add(name);
    add(text);
  }
  return result;
}

NamedTexts unpacked(std::string_view bytes) {
  const auto next = [&] {
    std::size_t size = 0;
    const char* const end = std::from_chars(bytes.data(), bytes.data() + bytes.size(), size).ptr;
    const std::string_view text =
        bytes.substr(static_cast<std::size_t>(end - bytes.data()) + 1, size);
    bytes = bytes.substr(static_cast<std::size_t>(text.data() + text.size() - bytes.data()));
    return std::string(text);
  };
  NamedTexts facts;
  while (!bytes.empty()) {
    std::string name = next();
    facts.emplace_back(std::move(name), next());
  }
  return facts;
}

/// The text for an error; long texts are lists that are not shown in full.
std::string shown(const std::string& text) {
  constexpr std::size_t kMost = 80;
  const std::string start = text.substr(0, kMost) + (text.size() > kMost ? "..." : "");
  return text.empty() ? "nothing" : printable(start);
}

}  // namespace

void require_agreement(Communicator& communicator, const char* op, const NamedTexts& facts) {
  const std::vector<std::string> all = communicator.all_gather(packed(facts));
  const NamedTexts first = unpacked(all.front());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all.front()) continue;
    const NamedTexts other = unpacked(all[rank]);
    for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      const auto [name, text] = i < first.size() ? first[i] : std::pair<std::string, std::string>();
      const auto [its_name, its] =
          i < other.size() ? other[i] : std::pair<std::string, std::string>();
      require(name == its_name, op, "all ranks must run the same program, got ", shown(name),
              " on rank 0 and ", shown(its_name), " on rank ", rank);
      require(text == its, op, name, " must be the same on all ranks, got ", shown(text),
              " on rank 0 and ", shown(its), " on rank ", rank);
    }
  }
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
