// All of nn: modules, losses, optimisers, schedules.
#pragma once

#include "nn/activation.h"
#include "nn/attention.h"
#include "nn/clip_grad.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/init.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/loss.h"
#include "nn/lr_scheduler.h"
#include "nn/module.h"
#include "nn/optim.h"
#include "nn/parameters.h"
#include "nn/positional_encoding.h"
#include "nn/saved_state.h"
