// The machine on which a program ran, for its reports.
#pragma once

#include "models/pages/training_page.h"

namespace tessera::examples {

/// Processor, cores, threads, instruction set, compiler and the time of the call.
pages::Facts machine_facts();

}  // namespace tessera::examples
