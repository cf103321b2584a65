// All modules.
#pragma once

#include "nn/activation.h"
#include "nn/attention.h"
#include "nn/checkpoint.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/init.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/module.h"
#include "nn/positional_encoding.h"
