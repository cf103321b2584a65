// All models.
#pragma once

#include "models/classifier.h"
#include "models/encoder.h"
#include "models/encoder_layer.h"
#include "models/masked_lm.h"
#include "models/token_encoder.h"
