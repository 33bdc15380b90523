#define TANDEM_VECTOR_LANES 4
#define TANDEM_VECTOR_NAME "baseline"
#define TANDEM_VECTOR_TABLE baselineVectorOps
#include "runtime/kernels/VectorOps.inc"
