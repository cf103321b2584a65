// The kernels in float32 and int8 for 64-bit Arm with dot products of bytes.
#define TESSERA_ISA dotprod
#include "tensor/kernels/isa/table.inc"
