// All headers of tessera::runs.
#pragma once

#include "models/runs/run.h"
#include "models/runs/text_examples.h"
#include "models/runs/token_examples.h"
