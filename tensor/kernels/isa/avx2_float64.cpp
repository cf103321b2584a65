// The kernels in float64 for AVX2 and FMA.
#define TESSERA_ISA avx2_float64
#define TESSERA_FLOAT64
#include "tessera/tensor/kernels/isa/table.inc"
