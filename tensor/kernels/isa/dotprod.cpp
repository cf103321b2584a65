// The kernels in float32 and int8 for 64-bit Arm with dot products of bytes.
#define TESSERA_ISA dotprod
#include "tessera/tensor/kernels/isa/table.inc"
