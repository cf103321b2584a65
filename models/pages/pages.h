// All of tessera::pages in one header.
#pragma once

#include "models/pages/page.h"
