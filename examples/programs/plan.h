// The memory that a model needs, computed from its options before it is made.
#pragma once

#include <string>
#include <vector>

#include "examples/programs/program.h"
#include "models/token_encoder.h"

namespace tessera::examples {

/// The larger parameters of an encoder with the program's options, and those added by add().
class Plan {
 public:
  /// `vocabulary` is the option on which the size of the vocabulary depends, "--min-count 1"; empty
  /// if the size is fixed. `program` must outlive this object.
  Plan(const Program& program, index_t vocabulary_size, const std::string& vocabulary = {});

  /// Adds a parameter by its name in the model; its size depends on `options`: "--width 64".
  void add(std::string name, Shape shape, std::vector<std::string> options) {
    parameters_.push_back({std::move(name), shape, std::move(options)});
  }

  /// Throws if the model cannot be made or loaded, before memory is allocated for it. A model that
  /// `is_trained` also needs gradients and moments.
  /// **Errors**: a run is resumed, and its checkpoint has different tensors (a small file must not
  /// cause a large allocation); a model that is too large for this machine.
  void check(bool is_trained = true) const;

 private:
  struct Parameter {
    std::string name;  // without the layer's number, if it has one
    Shape shape;
    std::vector<std::string> options;
    bool in_layers = false;
  };

  void check_tensors(const Parameter& parameter, index_t copies) const;

  const Program& program_;
  std::vector<Parameter> parameters_;
};

/// Throws if a table of positions is much larger than the model. `flag` sets max_tokens.
void check_positions(const Program& program, const char* flag, index_t max_tokens);

}  // namespace tessera::examples
