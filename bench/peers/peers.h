// Other libraries on the same work, under the same names, timed and checked like ours: kinds of
// registry.h with a different `by`.
#pragma once

#include <string>

namespace tessera::bench {

/// Products by any library with the C interface to BLAS. Its name is that of its file, "openblas"
/// for /usr/lib/libopenblas.so.0, and it uses as many threads as ours.
/// **Errors**: std::runtime_error, the file is not such a library, or is one with 64-bit sizes.
void register_cblas(const std::string& file);

/// matmul, linear, softmax and layer_norm by oneDNN.
/// **Errors**: std::runtime_error, oneDNN was not found at configuration.
void register_onednn();

}  // namespace tessera::bench
