// All headers of tessera::runs.
#pragma once

#include "tessera/models/runs/run.h"
#include "tessera/models/runs/text_examples.h"
#include "tessera/models/runs/token_examples.h"
