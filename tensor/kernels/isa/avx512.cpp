// The kernels in float32 and int8 for AVX-512 (F, DQ, VL, BW).
#define TESSERA_ISA avx512
#include "tessera/tensor/kernels/isa/table.inc"
