#include "runtime/exec/Lifetimes.h"

#include <algorithm>

namespace tandem {
namespace {

struct Access {
  uint32_t instruction;
  bool reads;
};

/// All that a program does with one value.
struct Uses {
  std::vector<Access> accesses; ///< In program order.
  uint16_t stream = 0;
  bool oneStream = true;
  bool kept = false;
};

void touch(Uses &uses, uint32_t instruction, uint16_t stream, bool reads) {
  if (!uses.accesses.empty() && uses.stream != stream)
    uses.oneStream = false;
  uses.stream = stream;
  uses.accesses.push_back({instruction, reads});
}

std::vector<Uses> collectUses(const fb::Program &program,
                              const std::vector<uint32_t> &kept) {
  std::vector<Uses> uses(program.values()->size());
  for (uint32_t i = 0; i < program.instructions()->size(); ++i) {
    const fb::Instruction &it = *program.instructions()->Get(i);
    uint32_t count = uint32_t(it.inputs()) + it.outputs() + it.workspaces();
    for (uint32_t a = 0; a < count; ++a)
      touch(uses[program.args()->Get(it.first_arg() + a)], i, it.stream(),
            a < it.inputs());
  }
  for (uint32_t value : kept)
    uses[value].kept = true;
  return uses;
}

/// Whether what the value holds after `instruction` is still wanted.
bool wantedAfter(const Uses &uses, uint32_t instruction) {
  for (const Access &access : uses.accesses)
    if (access.instruction > instruction)
      return access.reads || uses.kept;
  return uses.kept;
}

/// Whether another stream may be reading the value while `own` is in use.
bool elsewhereMeanwhile(const Uses &uses, const Uses &own) {
  if (!uses.oneStream)
    return true;
  if (uses.stream == own.stream)
    return false;
  const Access &first = own.accesses.front(), &last = own.accesses.back();
  for (const Access &access : uses.accesses)
    if ((first.reads || access.instruction >= first.instruction) &&
        access.instruction <= last.instruction)
      return true;
  return false;
}

/// The arena's values in order of offset, to find those that share bytes.
class ArenaMap {
public:
  explicit ArenaMap(const fb::Program &program) : values(*program.values()) {
    for (uint32_t v = 0; v < values.size(); ++v) {
      if (at(v).region() != fb::Region::Arena || at(v).bytes() == 0)
        continue;
      order.push_back(v);
      widest = std::max(widest, at(v).bytes());
    }
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::make_pair(at(a).offset(), a) <
             std::make_pair(at(b).offset(), b);
    });
  }

  const std::vector<uint32_t> &inOrder() const { return order; }
  const fb::Value &at(uint32_t v) const { return *values.Get(v); }

  /// Whether `test` holds for some other value that shares bytes with `v`.
  template <typename Test> bool anySharing(uint32_t v, const Test &test) const {
    uint64_t begin = at(v).offset(), end = begin + at(v).bytes();
    uint64_t reach = begin > widest ? begin - widest : 0;
    auto it = std::lower_bound(
        order.begin(), order.end(), reach,
        [&](uint32_t a, uint64_t offset) { return at(a).offset() < offset; });
    for (; it != order.end() && at(*it).offset() < end; ++it)
      if (*it != v && at(*it).offset() + at(*it).bytes() > begin && test(*it))
        return true;
    return false;
  }

private:
  const flatbuffers::Vector<const fb::Value *> &values;
  std::vector<uint32_t> order;
  uint64_t widest = 0;
};

} // namespace

std::vector<std::vector<ByteRange>>
deadAfter(const fb::Program &program, const std::vector<uint32_t> &kept) {
  std::vector<Uses> uses = collectUses(program, kept);
  std::vector<std::vector<ByteRange>> dead(program.instructions()->size());
  ArenaMap arena(program);
  for (uint32_t v : arena.inOrder()) {
    const Uses &own = uses[v];
    if (own.accesses.empty() || !own.oneStream || own.kept)
      continue;
    uint32_t last = own.accesses.back().instruction;
    bool wanted = arena.anySharing(v, [&](uint32_t other) {
      return wantedAfter(uses[other], last) ||
             elsewhereMeanwhile(uses[other], own);
    });
    if (!wanted)
      dead[last].push_back({arena.at(v).offset(), arena.at(v).bytes()});
  }
  return dead;
}

} // namespace tandem
