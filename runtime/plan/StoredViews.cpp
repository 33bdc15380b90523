#include "runtime/plan/StoredViews.h"

#include <algorithm>
#include <map>

namespace tandem {
namespace {

Status bad(const fb::Parameter &parameter, const std::string &why) {
  return Status::refused("parameter '" + parameter.name()->str() + "' " + why +
                         " stored tensor '" + parameter.key()->str() + "'");
}

/// Adds `step` times 0 to `count` - 1 to every coordinate.
void spread(std::vector<int64_t> &coordinates, int64_t step, int64_t count) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t coordinate : coordinates)
      result.push_back(coordinate + i * step);
  coordinates = std::move(result);
}

class PartReader {
public:
  PartReader(const Plan &plan, const fb::Parameter &parameter)
      : parameter(parameter), shape(plan.type(parameter.type()).shape),
        stored(parameter.stored_shape()->begin(),
               parameter.stored_shape()->end()),
        rowStride(stored.size(), 1), part(stored.size()) {
    for (size_t k = stored.size(); k-- > 1;)
      rowStride[k - 1] = rowStride[k] * stored[k];
  }

  Result<ViewPart> run() {
    auto rest = static_cast<int64_t>(parameter.view_offset());
    for (size_t k = 0; k < stored.size(); ++k) {
      part[k] = {rest / rowStride[k]};
      rest %= rowStride[k];
    }
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] > 1)
        TANDEM_TRY(add(
            shape[d], parameter.view_strides()->Get(static_cast<uint32_t>(d))));
    for (size_t k = 0; k < stored.size(); ++k) {
      std::sort(part[k].begin(), part[k].end());
      if (part[k].front() < 0 || part[k].back() >= stored[k])
        return bad(parameter, "is a view that runs from row to row of");
    }
    return std::move(part);
  }

private:
  /// Takes up a dimension of the view that steps by `stride`.
  Status add(int64_t size, int64_t stride) {
    int64_t distance = stride < 0 ? -stride : stride;
    size_t k = 0;
    while (k < stored.size() && (stored[k] == 1 || rowStride[k] > distance))
      ++k;
    if (k == stored.size() || distance % rowStride[k] != 0)
      return bad(parameter, "is a view that steps across rows of");
    // A dimension that goes through whole ones, as after a reshape.
    while (stride == rowStride[k] && size > stored[k] && k > 0 &&
           size % stored[k] == 0) {
      spread(part[k], 1, stored[k]);
      size /= stored[k];
      stride *= stored[k];
      --k;
    }
    if (size > stored[k])
      return bad(parameter, "is a view that runs from row to row of");
    spread(part[k], stride / rowStride[k], size);
    return Status();
  }

  const fb::Parameter &parameter;
  const std::vector<int64_t> &shape;
  std::vector<int64_t> stored, rowStride;
  ViewPart part;
};

/// Whether some element is in both.
bool meet(const ViewPart &a, const ViewPart &b) {
  for (size_t k = 0; k < a.size(); ++k) {
    auto left = a[k].begin(), right = b[k].begin();
    while (left != a[k].end() && right != b[k].end() && *left != *right)
      ++(*left < *right ? left : right);
    if (left == a[k].end() || right == b[k].end())
      return false;
  }
  return true;
}

} // namespace

Result<ViewPart> partOf(const Plan &plan, const fb::Parameter &parameter) {
  return PartReader(plan, parameter).run();
}

Status checkParts(const Plan &plan) {
  std::map<std::string, std::vector<const fb::Parameter *>> views;
  for (const fb::Parameter *parameter : *plan.table().parameters())
    views[parameter->key()->str()].push_back(parameter);
  for (const auto &[key, parameters] : views) {
    std::vector<ViewPart> parts;
    for (size_t i = 0; parameters.size() > 1 && i < parameters.size(); ++i) {
      TANDEM_ASSIGN(ViewPart part, partOf(plan, *parameters[i]));
      for (size_t j = 0; j < i; ++j)
        if (part != parts[j] && meet(part, parts[j]))
          return bad(*parameters[i], "and parameter '" +
                                         parameters[j]->name()->str() +
                                         "' are views that overlap in");
      parts.push_back(std::move(part));
    }
  }
  return Status();
}

} // namespace tandem
