// The exercise of examples/course/012_a_model_learns.md. Write it in 012_a_model_learns.cpp.
#pragma once

#include <vector>

#include "examples/course/matrix.h"

namespace tessera::exercises {

using examples::Matrix;

/// 012.1. The mean loss of a model that gives each class its share p_c of the answers: the sum over
/// classes of -p_c log p_c, with the natural logarithm. A class without answers adds 0.
///
/// `counts` has the number of answers of each class.
double base_rate(const std::vector<index_t>& counts);

}  // namespace tessera::exercises
