//===- Places.h - Where a value's bytes are while a step runs ---*- C++ -*-===//
//
// A value of the arena lies at one place; one of a slot at a place for each
// slot, one of a microbatch at one for each microbatch. Both are in the
// arena's scratch part like all others:
//
//   pool 0: base 256, slots of 64 bytes     value in it at offset 8
//     a step that has slot 0                bytes 264 ...
//     a step that has slot 2                bytes 392 ...
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_PLACES_H
#define TANDEM_RUNTIME_PLAN_PLACES_H

#include "runtime/plan/Plan.h"

namespace tandem {

/// Bytes of the scratch part, or of the one parameter or state `index`.
struct Place {
  fb::Region region = fb::Region::Arena;
  uint32_t index = 0; ///< 0 in the arena.
  uint64_t begin = 0;
  uint64_t bytes = 0;

  uint64_t end() const { return begin + bytes; }
  bool operator==(const Place &other) const {
    return region == other.region && index == other.index &&
           begin == other.begin && bytes == other.bytes;
  }
  bool overlaps(const Place &other) const {
    return region == other.region && index == other.index &&
           begin < other.end() && other.begin < end() && bytes > 0 &&
           other.bytes > 0;
  }
};

inline Place placeOf(const fb::Program &program, const fb::Value &value,
                     uint32_t microbatch, uint32_t slot) {
  switch (value.region()) {
  case fb::Region::Slot: {
    const fb::SlotPool &pool = *program.pools()->Get(value.index());
    return {fb::Region::Arena, 0,
            pool.base() + slot * pool.bytes() + value.offset(), value.bytes()};
  }
  case fb::Region::Microbatch: {
    const fb::Value &whole = *program.values()->Get(value.index());
    return {fb::Region::Arena, 0, whole.offset() + microbatch * value.bytes(),
            value.bytes()};
  }
  case fb::Region::Arena:
    return {fb::Region::Arena, 0, value.offset(), value.bytes()};
  default:
    return {value.region(), value.index(), 0, value.bytes()};
  }
}

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_PLACES_H
