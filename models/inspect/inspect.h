// All of models/inspect.
#pragma once

#include "tessera/models/inspect/attention_flow.h"
#include "tessera/models/inspect/attribution.h"
#include "tessera/models/inspect/heads.h"
#include "tessera/models/inspect/probe.h"
#include "tessera/models/inspect/record.h"
