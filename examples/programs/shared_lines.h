// Lines that the processes of a program share: each works on a part of them, and rank 0 prints the
// results of all, as one process would.
//
//   const std::vector<std::string> lines = examples::input_lines(file);      // all have all
//   const auto own = examples::own_share(lines);
//   examples::SharedOutput out;
//   for (const std::string& line : own.items) out.stream() << answer(line) << '\n';
//   out.print();
#pragma once

#include <iostream>
#include <span>
#include <sstream>
#include <vector>

#include "examples/programs/processes.h"
#include "nn/training/communicator.h"
#include "tensor/tensor.h"

namespace tessera::examples {

/// A stretch of things in a row.
template <class T>
struct OwnShare {
  std::span<const T> items;
  index_t begin = 0;  // the number of the first
};

/// The stretch that this process works on: all of them for a single process.
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

/// The output of a share: printed at once by a single process, otherwise by rank 0 when all are done.
class SharedOutput {
 public:
  SharedOutput()
      : stream_(processes().size() > 1 ? &kept_ : static_cast<std::ostream*>(&std::cout)) {}
  SharedOutput(const SharedOutput&) = delete;
  SharedOutput& operator=(const SharedOutput&) = delete;

  std::ostream& stream() { return *stream_; }
  /// Prints the shares of all processes in their order. All call it, at the end.
  void print();

 private:
  std::ostringstream kept_;
  std::ostream* stream_;
};

/// The rows of all processes, by rank, at rank 0, which needs memory for all; elsewhere
/// none. All call it. **Shapes**: at each process (rows, ...) -> (rows of all, ...), float32.
Tensor gathered_rows(const Tensor& mine);

}  // namespace tessera::examples
