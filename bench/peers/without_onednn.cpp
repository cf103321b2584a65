#include <stdexcept>

#include "bench/peers/peers.h"

namespace tessera::bench {

void register_onednn() {
  throw std::runtime_error("--onednn: oneDNN 2 was not found when this was configured");
}

}  // namespace tessera::bench
