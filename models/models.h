// All of models, nn and tensor. The folders text, hugging_face, inspect, pages and
// runs have their own headers.
#pragma once

#include "tessera/models/classifier.h"
#include "tessera/models/encoder.h"
#include "tessera/models/encoder_layer.h"
#include "tessera/models/masked_lm.h"
#include "tessera/models/pooling.h"
#include "tessera/models/token_convolution.h"
#include "tessera/models/token_encoder.h"
#include "tessera/models/tokens.h"
#include "tessera/nn/nn.h"
