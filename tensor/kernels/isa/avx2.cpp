// The kernels in float32 and int8 for AVX2 and FMA.
#define TESSERA_ISA avx2
#include "tessera/tensor/kernels/isa/table.inc"
