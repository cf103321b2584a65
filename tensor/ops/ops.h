// Every op; nn/nn.h and models/models.h bring them too.
#pragma once

#include "tensor/ops/arithmetic.h"
#include "tensor/ops/attention.h"
#include "tensor/ops/attention_mask.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/einsum.h"
#include "tensor/ops/indexing.h"
#include "tensor/ops/join.h"
#include "tensor/ops/layer_norm.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/packed_weight.h"
#include "tensor/ops/positions.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/scalar.h"
#include "tensor/ops/similarity.h"
#include "tensor/ops/softmax.h"
#include "tensor/ops/unary.h"
