#include "examples/shared_lines.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace tessera::examples {

void SharedOutput::print() {
  if (processes().size() > 1) std::cout << gather_in_order(std::move(kept_).str());
}

namespace {

/// A message of an MPI has at most 2 GiB.
constexpr std::size_t kPiece = std::size_t{1} << 28;
constexpr index_t kTag = 0;

template <class Byte, class Move>
void in_pieces(std::span<Byte> bytes, const Move& move) {
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    move(bytes.subspan(at, std::min(kPiece, bytes.size() - at)));
  }
}

std::span<std::byte> bytes_of(Tensor& rows) {
  return std::as_writable_bytes(
      std::span(rows.mutable_data<float>(), static_cast<std::size_t>(rows.count())));
}

}  // namespace

Tensor gathered_rows(const Tensor& mine) {
  nn::Communicator& group = processes();
  if (group.size() == 1) return mine;
  Tensor own = mine.contiguous();
  const std::vector<std::string> counts = group.all_gather(std::to_string(own.size(0)));
  if (group.rank() > 0) {
    in_pieces(std::span<const std::byte>(bytes_of(own)),
              [&](auto piece) { group.send(0, kTag, piece); });
    group.wait();
    return own.slice(0, 0, 0);
  }
  index_t count = 0;
  for (const std::string& rows : counts) count += std::stoll(rows);
  Shape shape = own.shape();
  shape[0] = count;
  Tensor all = Tensor::empty(shape, own.dtype());
  index_t begin = own.size(0);
  all.slice(0, 0, begin).copy_from(own);
  for (index_t rank = 1; rank < group.size(); ++rank) {
    const index_t end = begin + std::stoll(counts[static_cast<std::size_t>(rank)]);
    Tensor rows = all.slice(0, begin, end);
    in_pieces(bytes_of(rows), [&](auto piece) { group.receive(rank, kTag, piece); });
    begin = end;
  }
  group.wait();
  return all;
}

}  // namespace tessera::examples
