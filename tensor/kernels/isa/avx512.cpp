// Everything in kernels/ for AVX-512 (F, DQ, VL, BW).
#define TESSERA_ISA avx512
#define TESSERA_FLOAT64_OF_AVX2
#include "tensor/kernels/isa/table.inc"
