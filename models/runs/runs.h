// All headers of tessera::runs.
#pragma once

#include "models/runs/interrupts.h"
#include "models/runs/run.h"
#include "models/runs/sweep.h"
#include "models/runs/sweep_plan.h"
#include "models/runs/sweep_table.h"
#include "models/runs/text_examples.h"
