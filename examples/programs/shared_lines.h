// Lines that the processes of a program share: each processes a part of them, and rank 0 prints the
// results of all, like a single process.
//
//   const std::vector<std::string> lines = examples::input_lines(file);      // in each process
//   examples::print_share([&](std::ostream& out) {
//     for (const std::string& line : examples::own_share(lines).items) out << answer(line) << '\n';
//   });
#pragma once

#include <iostream>
#include <span>
#include <sstream>
#include <vector>

#include "examples/programs/processes.h"
#include "nn/training/communicator.h"
#include "tensor/tensor.h"

namespace tessera::examples {

/// A range of items.
template <class T>
struct OwnShare {
  std::span<const T> items;
  index_t begin = 0;  // the number of the first
};

/// The range of this process: everything for a single process.
template <class T>
OwnShare<T> own_share(std::span<const T> all) {
  const nn::Share share = nn::share_of(std::ssize(all), processes());
  return {all.subspan(static_cast<std::size_t>(share.begin),
                      static_cast<std::size_t>(share.end - share.begin)),
          share.begin};
}
template <class T>
OwnShare<T> own_share(const std::vector<T>& all) {
  return own_share(std::span(all));
}

/// Prints the output of `print(out)` for this process's share. A single process prints at once; if
/// there are several, rank 0 prints the shares of all in their order. All processes must call it,
/// at the end.
template <class Print>
void print_share(const Print& print) {
  if (processes().size() == 1) return print(std::cout);
  std::ostringstream mine;
  print(mine);
  std::cout << gather_in_order(std::move(mine).str());
}

/// The rows of all processes, by rank, at rank 0, which needs memory for all; undefined in the
/// others. All processes must call it. **Shapes**: at each process (rows, ...) -> (rows of all,
/// ...), float32.
Tensor gathered_rows(const Tensor& mine);

}  // namespace tessera::examples
