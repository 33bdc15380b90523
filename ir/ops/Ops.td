//===- Ops.td - All operations of the dialect --------------*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_OPS_TD
#define TANDEM_IR_OPS_OPS_TD

include "ir/ops/Activation.td"
include "ir/ops/Attention.td"
include "ir/ops/Contraction.td"
include "ir/ops/Elementwise.td"
include "ir/ops/Indexing.td"
include "ir/ops/Loss.td"
include "ir/ops/Norms.td"
include "ir/ops/Optimizer.td"
include "ir/ops/Shape.td"
include "ir/ops/Structure.td"
include "ir/ops/Training.td"

#endif // TANDEM_IR_OPS_OPS_TD
