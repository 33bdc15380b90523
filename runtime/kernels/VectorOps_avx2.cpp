#define TANDEM_VECTOR_LANES 8
#define TANDEM_VECTOR_NAME "avx2"
#define TANDEM_VECTOR_TABLE avx2VectorOps
#include "runtime/kernels/VectorOps.inc"
