// The memory that a model will need, from its options, before it is made.
#pragma once

#include <string>
#include <vector>

#include "examples/programs/program.h"
#include "models/token_encoder.h"

namespace tessera::examples {

/// The larger parameters of a model, and the options that say how large each is.
struct PlannedParameter {
  std::string name;  // in the model; of a layer's, what follows the layer's number
  Shape shape;
  std::vector<std::string> options;  // "--width 64"
  std::string layer_prefix = {};     // of a layer's, what its full name has in front of that number
};

using Plan = std::vector<PlannedParameter>;

/// The plan of an encoder of `vocabulary_size` words. `vocabulary` is the option on which the size of the
/// vocabulary depends, "--min-count 1"; empty if that is fixed.
Plan plan_of(const Program& program, index_t vocabulary_size, const std::string& vocabulary = {});

/// Refuses what cannot be made or loaded, before memory is taken for it. What `is_trained` needs
/// gradients and moments too.
/// **Errors**: a run is resumed, and its checkpoint has other tensors than planned: a small file
/// must not ask for much memory; a model that this machine has no memory for.
void check_plan(const Program& program, const Plan& plan, bool is_trained = true);

/// Refuses a table of positions that dwarfs the model. `flag` sets max_tokens.
void check_positions(const Program& program, const char* flag, index_t max_tokens);

}  // namespace tessera::examples
