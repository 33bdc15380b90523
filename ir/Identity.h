//===- Identity.h - The rule of what leaves a tensor as it is ---*- C++ -*-===//

#ifndef TANDEM_IR_IDENTITY_H
#define TANDEM_IR_IDENTITY_H

#include "ir/Dialect.h"

namespace tandem {

/// Each dimension, those of size 1 too, is a factor that passes through.
inline ShardingRule identityRule(const std::vector<int64_t> &shape) {
  ShardingRule rule;
  FactorMapping mapping;
  for (int64_t size : shape) {
    mapping.dims.push_back({static_cast<int32_t>(rule.factors.size())});
    rule.factors.push_back({size, FactorKind::PassThrough, ReductionKind::Sum});
  }
  rule.results.push_back(mapping);
  mapping.linear = true;
  rule.operands.push_back(mapping);
  return rule;
}

} // namespace tandem

#endif // TANDEM_IR_IDENTITY_H
