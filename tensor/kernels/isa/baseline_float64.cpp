// The kernels in float64 for the processor's baseline.
#define TESSERA_ISA baseline_float64
#define TESSERA_FLOAT64
#include "tessera/tensor/kernels/isa/table.inc"
