// The memory that a model will need, from its options, before it is made.
#pragma once

#include <string>
#include <vector>

#include "examples/programs/program.h"
#include "models/token_encoder.h"

namespace tessera::examples {

/// The larger parameters of an encoder with the program's options, and those that add() adds.
class Plan {
 public:
  /// `vocabulary` is the option on which the size of the vocabulary depends, "--min-count 1"; empty if
  /// that is fixed. `program` must live as long as this.
  Plan(const Program& program, index_t vocabulary_size, const std::string& vocabulary = {});

  /// A parameter by its name in the model; `options` say how large it is: "--width 64".
  void add(std::string name, Shape shape, std::vector<std::string> options) {
    parameters_.push_back({std::move(name), shape, std::move(options)});
  }

  /// Refuses what cannot be made or loaded, before memory is taken for it. A model that
  /// `is_trained` also needs gradients and moments.
  /// **Errors**: a run is resumed, and its checkpoint has other tensors than planned: a small file
  /// must not ask for much memory; a model that this machine has no memory for.
  void check(bool is_trained = true) const;

 private:
  struct Parameter {
    std::string name;  // without the layer, if it is in one
    Shape shape;
    std::vector<std::string> options;
    bool in_layers = false;
  };

  void check_tensors(const Parameter& parameter, index_t copies) const;

  const Program& program_;
  std::vector<Parameter> parameters_;
};

/// Refuses a table of positions that dwarfs the model. `flag` sets max_tokens.
void check_positions(const Program& program, const char* flag, index_t max_tokens);

}  // namespace tessera::examples
