// What a step of data-parallel training moves, counted exactly: elements, messages and additions of
// the process that has the most of each.
//
// The exchange is that of nn/training: each process adds the gradients of its shards to complete
// subtrees of the shards' tree, and sends each chunk of each subtree to the process that owns the
// chunk; owners send new weights to all.
#pragma once

#include <span>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::bench {

/// Of P processes that compute S shards, for N parameters cut into C chunks. Process p computes k_p
/// shards, which make n_p complete subtrees, and owns N_p elements in C_p chunks. Each figure is the
/// largest of any process.
struct Traffic {
  index_t processes = 0, shards = 0;
  index_t parameters = 0;   // N
  index_t most_shards = 0;  // k_p
  index_t most_owned = 0;   // N_p

  index_t gradients_out = 0;  // n_p (N - N_p), elements
  index_t gradients_in = 0;   // N_p (n - n_p), n being the subtrees of all processes together
  index_t weights_out = 0;    // (P - 1) N_p
  index_t weights_in = 0;     // N - N_p

  index_t gradient_messages = 0;  // n_p (C - C_p) sent and C_p (n - n_p) received
  index_t weight_messages = 0;    // (P - 1) C_p sent and C - C_p received
  index_t most_sent = 0;          // n_p (N - N_p) + (P - 1) N_p, elements of gradients and weights
  index_t gathered = 0;           // bytes of the step's all_gathers, of all processes together

  /// Elements added: (k_p - n_p) N for the own subtrees, (n - 1) N_p to finish the trees of the own
  /// chunks. All processes together add (S - 1) N.
  index_t additions = 0;
};

/// The traffic of a step over parameters of so many elements each.
/// **Errors**: no parameters; fewer shards than processes, or no process.
Traffic traffic_of(std::span<const index_t> counts, index_t shards, index_t processes);

/// Parameters of so many elements, cut into pieces of at most `chunk` each: as parameters of their own
/// they show what smaller chunks would change.
std::vector<index_t> cut(std::span<const index_t> counts, index_t chunk);

}  // namespace tessera::bench
