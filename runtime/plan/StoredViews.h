//===- StoredViews.h - Parts of one stored tensor ---------------*- C++ -*-===//
//
// Several parameters may be views of one stored tensor: query, key and value
// of a fused projection, a tied head. Their parts are apart or equal; parts
// that merely overlap come from a shifted view.
//
//   c_attn [d, 3d]:  query  columns [0, d)     key [d, 2d)     value [2d, 3d)
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_STOREDVIEWS_H
#define TANDEM_RUNTIME_PLAN_STOREDVIEWS_H

#include "runtime/plan/Plan.h"

namespace tandem {

/// The coordinates that a view reads along each dimension of the stored
/// tensor, ascending; the view is their product.
using ViewPart = std::vector<std::vector<int64_t>>;

/// The part that `parameter`, a view that stays in its stored tensor, reads.
/// Refuses one that runs from row to row, which only whole dimensions may.
Result<ViewPart> partOf(const Plan &plan, const fb::Parameter &parameter);

/// Checks all stored tensors that more than one parameter views.
Status checkParts(const Plan &plan);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_STOREDVIEWS_H
