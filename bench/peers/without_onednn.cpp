#include <stdexcept>

#include "bench/peers/peers.h"

namespace tessera::bench {

void register_onednn() {
  throw std::runtime_error("--onednn needs oneDNN 2, which was not found when this was configured");
}

}  // namespace tessera::bench
