#include <stdexcept>

#include "bench/peers/peers.h"

namespace tessera::bench {

void register_onednn() {
  throw std::runtime_error(
      "--onednn: oneDNN 2 must be found by CMake, got a build without it; install libdnnl-dev and "
      "configure again");
}

}  // namespace tessera::bench
