// Other libraries on the same work, under the same names, timed and checked as ours are: kinds of
// registry.h with another `by`.
#pragma once

#include <string>

namespace tessera::bench {

/// Products by any library with the C interface to BLAS. It is called as its file is,
/// "openblas" for /usr/lib/libopenblas.so.0, and runs on as many threads as ours.
/// **Errors**: std::runtime_error, the file is no such library, or one with sizes of
/// 64 bits.
void register_cblas(const std::string& file);

/// matmul, linear, softmax and layer_norm by oneDNN.
/// **Errors**: std::runtime_error, it was not found at configuration.
void register_onednn();

}  // namespace tessera::bench
