// Everything in kernels/ for AVX-512 (F, DQ, VL, BW), except float64: see dispatch.cpp.
#define TESSERA_ISA avx512
#include "tensor/kernels/isa/table.inc"
