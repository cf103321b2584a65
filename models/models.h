// All of Tessera: models and their data, and with them all of nn and tensor.
#pragma once

#include "models/batches.h"
#include "models/classifier.h"
#include "models/encoder.h"
#include "models/encoder_layer.h"
#include "models/masked_lm.h"
#include "models/masked_tokens.h"
#include "models/pair_classifier.h"
#include "models/text_file.h"
#include "models/token_encoder.h"
#include "models/utf8.h"
#include "models/vocabulary.h"
#include "nn/nn.h"
