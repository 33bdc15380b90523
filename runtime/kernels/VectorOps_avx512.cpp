#define TANDEM_VECTOR_LANES 16
#define TANDEM_VECTOR_NAME "avx512"
#define TANDEM_VECTOR_TABLE avx512VectorOps
#include "runtime/kernels/VectorOps.inc"
