// The kernels in float32 and int8 for the processor's baseline: SSE2 on x86-64, NEON on aarch64.
#define TESSERA_ISA baseline
#include "tessera/tensor/kernels/isa/table.inc"
