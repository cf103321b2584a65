// All of models/inspect.
#pragma once

#include "models/inspect/attention_flow.h"
#include "models/inspect/attribution.h"
#include "models/inspect/heads.h"
#include "models/inspect/probe.h"
#include "models/inspect/record.h"
