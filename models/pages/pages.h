// All of tessera::pages in one header.
#pragma once

#include "models/pages/attention_page.h"
#include "models/pages/chart.h"
#include "models/pages/comparison_page.h"
#include "models/pages/explanation_page.h"
#include "models/pages/page.h"
#include "models/pages/ranks.h"
#include "models/pages/run_log.h"
#include "models/pages/training_page.h"
