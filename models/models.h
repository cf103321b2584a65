// All of models, nn and tensor. The folders text, hugging_face, inspect, pages and
// runs have their own headers.
#pragma once

#include "models/classifier.h"
#include "models/encoder.h"
#include "models/encoder_layer.h"
#include "models/masked_lm.h"
#include "models/pooling.h"
#include "models/token_encoder.h"
#include "models/tokens.h"
#include "nn/nn.h"
