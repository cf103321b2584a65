// All models.
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
#include "models/vocabulary.h"
