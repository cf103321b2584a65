// One map of attention, as a picture and as text for a terminal.
#pragma once

#include <span>
#include <string>

#include "tensor/tensor.h"

namespace tessera::pages {

/// A map as a standalone SVG picture: one square per weight, darker for more, the tokens next to
/// it, and the weight itself where the pointer rests. A square's shade is the root of its weight,
/// so that small weights are seen too. Screen readers get the title and, as description, where each
/// token looks most.
///
/// **Shapes**: weights (T, T), row i what token i looks at; T tokens.
/// **Errors**: other shapes; not floating.
std::string attention_svg(const Tensor& weights, std::span<const std::string> tokens,
                          const std::string& title);

/// A map for a terminal: one row per token, in percent, with a shade next to each number. Long
/// tokens are cut. **Shapes, Errors**: as attention_svg().
std::string attention_text(const Tensor& weights, std::span<const std::string> tokens);

}  // namespace tessera::pages
