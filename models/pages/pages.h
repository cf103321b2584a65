// All of tessera::pages in one header.
#pragma once

#include "tessera/models/pages/attention_page.h"
#include "tessera/models/pages/chart.h"
#include "tessera/models/pages/comparison_page.h"
#include "tessera/models/pages/explanation_page.h"
#include "tessera/models/pages/page.h"
#include "tessera/models/pages/ranks.h"
#include "tessera/models/pages/run_log.h"
#include "tessera/models/pages/training_page.h"
