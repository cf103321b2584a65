// The speed of this machine, to compare programs with.
#pragma once

namespace tessera {

/// The work of one thread per second, while thread_count() threads (kernels/parallel.h) work.
struct MachineSpeed {
  double flops = 0;  // floating-point operations
  double bytes = 0;  // read from and written to memory
};

/// Measures the fastest of several products of 1024 x 1024 float32 matrices, with packed weights,
/// and the fastest of several copies of 64 MiB from memory to memory. The measurement takes 0.1 s
/// with AVX2 or AVX-512, 1 s with the baseline kernels, and 140 MiB of memory.
/// **Errors**: std::bad_alloc; a TESSERA_ISA that is not available (kernels/dispatch.h).
/// **Source**: McCalpin's STREAM, whose copy gives the bytes.
MachineSpeed measure_machine();

}  // namespace tessera
