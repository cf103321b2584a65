// Everything in kernels/ for AVX-512 (F, DQ, VL, BW), except float64: see dispatch.cpp.
#define TESSERA_ISA avx512
#define TESSERA_NO_FLOAT64
#include "tensor/kernels/isa/table.inc"
