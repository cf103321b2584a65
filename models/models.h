// All models.
#pragma once

#include "models/encoder.h"
#include "models/encoder_layer.h"
