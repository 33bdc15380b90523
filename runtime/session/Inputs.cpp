#include "runtime/session/Inputs.h"

#include "runtime/base/Suggest.h"
#include "runtime/files/TensorStore.h"

#include <algorithm>

namespace tandem {
namespace {

bool isTokenInput(const std::string &name) {
  return name == "input_ids" || name == "labels" || name == "attention_mask" ||
         name == "token_type_ids";
}

/// Of a padded token input: -100 is the ignored label.
int64_t paddingOf(const std::string &name) {
  return name == "labels" ? -100 : 0;
}

/// Of rows that are missing: tokens that all see something.
int64_t rowFillOf(const std::string &name) {
  return name == "attention_mask" ? 1 : paddingOf(name);
}

/// A token input's shape with microbatches as rows; nothing for other shapes.
std::optional<std::vector<int64_t>>
rowShape(const std::vector<int64_t> &shape) {
  if (shape.size() == 2)
    return shape;
  if (shape.size() == 3)
    return std::vector<int64_t>{shape[0] * shape[1], shape[2]};
  return std::nullopt;
}

std::vector<std::string> namesOf(const fb::Entry &entry) {
  std::vector<std::string> names;
  for (const fb::Port *port : *entry.inputs())
    names.push_back(port->name()->str());
  return names;
}

std::string listOf(const fb::Entry &entry) {
  std::string list;
  for (const std::string &name : namesOf(entry))
    list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "none" : list;
}

/// Binds the inputs of one call.
class Binder {
public:
  Binder(const Plan &plan, const fb::Entry &entry, const HostTensors &given)
      : plan(plan), entry(entry), given(given) {}

  Result<BoundInputs> bind() {
    TANDEM_TRY(refuseUnknown());
    TANDEM_TRY(measureTokens());
    for (const fb::Port *port : *entry.inputs()) {
      auto found = given.find(port->name()->str());
      Result<HostTensor> tensor = found == given.end()
                                      ? makeDefault(*port)
                                      : accept(*port, found->second);
      if (!tensor.ok())
        return tensor.status().withContext("input '" + port->name()->str() +
                                           "'");
      bound.tensors.push_back(std::move(*tensor));
    }
    return std::move(bound);
  }

private:
  const TensorType &typeOf(const fb::Port &port) const {
    return plan.type(port.type());
  }

  Status refuseUnknown() const {
    for (const auto &[name, tensor] : given) {
      bool known = name == "labels";
      for (const fb::Port *port : *entry.inputs())
        known |= port->name()->str() == name;
      if (!known)
        return Status::refused(
            "entry '" + entry.name()->str() + "' has no input '" + name +
            "'; its inputs are " + listOf(entry) +
            (name == "attention_mask" ? "; compile with --attention-mask"
                                      : didYouMean(name, namesOf(entry))));
      if (tensor.data.size() !=
          static_cast<size_t>(storageBytes(tensor.dtype, tensor.elements())))
        return Status::refused(
            "input '" + name + "' has " + std::to_string(tensor.data.size()) +
            " bytes, its shape needs " +
            std::to_string(storageBytes(tensor.dtype, tensor.elements())));
    }
    return Status();
  }

  /// Finds the rows and sequence that the token inputs agree on. Labels come
  /// last: they may have a column more than ids.
  Status measureTokens() {
    TokenShape &tokens = bound.tokens;
    for (bool labels : {false, true})
      for (const fb::Port *port : *entry.inputs()) {
        std::string name = port->name()->str();
        if (isTokenInput(name) && (name == "labels") == labels)
          TANDEM_TRY(measure(*port, name));
      }
    if (tokens.rows == 0 || tokens.sequence == 0) {
      tokens.rows = tokens.fullRows;
      tokens.sequence = tokens.fullSequence;
    }
    return Status();
  }

  Status measure(const fb::Port &port, const std::string &name) {
    TokenShape &tokens = bound.tokens;
    std::optional<std::vector<int64_t>> full = rowShape(typeOf(port).shape);
    if (!full)
      return Status();
    tokens.microbatches = typeOf(port).shape.size() == 3;
    bool behind = name == "labels" && (*full)[1] == tokens.fullSequence + 1;
    if (!behind) {
      tokens.fullRows = (*full)[0];
      tokens.fullSequence = (*full)[1];
    }
    auto found = given.find(name);
    if (found == given.end() || found->second.shape.size() != 2)
      return Status();
    const std::vector<int64_t> &shape = found->second.shape;
    if (tokens.rows == 0 && tokens.sequence == 0) {
      tokens.rows = shape[0];
      tokens.sequence = shape[1];
    }
    int64_t extra = behind && shape[1] == tokens.sequence + 1;
    if (shape[0] == tokens.rows && shape[1] == tokens.sequence + extra)
      return Status();
    return Status::refused("input '" + name + "' has the shape " +
                           shapeToString(shape) + ", other token inputs have " +
                           shapeToString({tokens.rows, tokens.sequence}));
  }

  Result<HostTensor> makeDefault(const fb::Port &port) const {
    std::string name = port.name()->str();
    const TensorType &type = typeOf(port);
    HostTensor tensor(type.dtype, type.shape);
    if (name == "attention_mask") {
      HostTensor ones(type.dtype, {bound.tokens.rows, bound.tokens.sequence});
      ones.fill(1);
      return padded(port, ones);
    }
    if (name == "lengths")
      tensor.fill(bound.tokens.sequence);
    else if (name == "labels" && !givesLoss())
      tensor.fill(-100);
    else if (name != "token_type_ids" && name != "positions")
      return Status::refused("missing; entry '" + entry.name()->str() +
                             "' needs " + listOf(entry));
    return tensor;
  }

  Result<HostTensor> accept(const fb::Port &port,
                            const HostTensor &tensor) const {
    const TensorType &type = typeOf(port);
    std::string name = port.name()->str();
    std::optional<std::vector<int64_t>> full = rowShape(type.shape);
    bool pads = isTokenInput(name) && full && tensor.shape.size() == 2 &&
                tensor.shape[0] <= (*full)[0] &&
                tensor.shape[1] <= (*full)[1] && tensor.shape[0] > 0 &&
                tensor.shape[1] > 0;
    if (tensor.shape != type.shape && !pads)
      return Status::refused(
          "the shape is " + shapeToString(tensor.shape) + ", expected " +
          (isTokenInput(name) ? "at most " : "") +
          shapeToString(isTokenInput(name) && full ? *full : type.shape) +
          (isTokenInput(name) ? "; compile with a larger --batch or --max-seq"
                              : ""));
    TANDEM_ASSIGN(HostTensor converted, convertExactly(tensor, type.dtype));
    if (name == "input_ids")
      TANDEM_TRY(checkRange(converted, "vocab_size", "the vocabulary of "));
    if (name == "token_type_ids")
      TANDEM_TRY(checkRange(converted, "token_types", "the token types of "));
    if (tensor.shape == type.shape)
      return converted;
    return padded(port, converted);
  }

  bool givesLoss() const {
    for (const fb::Port *port : *entry.outputs())
      if (port->name()->string_view() == "loss")
        return true;
    return false;
  }

  /// Found here it is a refusal; found by a kernel it ends the session.
  Status checkRange(const HostTensor &ids, const char *fact,
                    const char *what) const {
    std::optional<int64_t> size = plan.numberFact(fact);
    if (!size)
      return Status();
    TANDEM_ASSIGN(HostTensor wide, convertExactly(ids, DType::I64));
    for (int64_t i = 0; i < wide.elements(); ++i)
      if (int64_t id = wide.as<int64_t>()[i]; id < 0 || id >= *size)
        return Status::refused("element " + std::to_string(i) + " is " +
                               std::to_string(id) + ", outside " + what +
                               std::to_string(*size));
    return Status();
  }

  /// `tensor`, [rows, columns], in the place of the port's first ones.
  HostTensor padded(const fb::Port &port, const HostTensor &tensor) const {
    std::string name = port.name()->str();
    std::vector<int64_t> full = *rowShape(typeOf(port).shape);
    HostTensor result(tensor.dtype, typeOf(port).shape);
    result.fill(rowFillOf(name));
    std::vector<int64_t> given = {tensor.shape[0], full[1]};
    HostTensor rows(tensor.dtype, given);
    rows.fill(paddingOf(name));
    copyBox(tensor.data.data(), {tensor.shape, {0, 0}}, rows.data.data(),
            {given, {0, 0}}, tensor.shape, blockBytes(tensor.dtype));
    std::copy(rows.data.begin(), rows.data.end(), result.data.begin());
    return result;
  }

  const Plan &plan;
  const fb::Entry &entry;
  const HostTensors &given;
  BoundInputs bound;
};

/// `grad.w#2` is a further view of what `grad.w` is one of.
std::string storedName(const std::string &port) {
  size_t mark = port.rfind('#');
  bool numbered =
      mark != std::string::npos && mark + 1 < port.size() &&
      port.find_first_not_of("0123456789", mark + 1) == std::string::npos;
  return numbered ? port.substr(0, mark) : port;
}

template <typename T>
void addView(const fb::Parameter &parameter, const HostTensor &part,
             HostTensor &whole) {
  std::vector<int64_t> index(part.shape.size(), 0);
  auto at = static_cast<int64_t>(parameter.view_offset());
  for (int64_t i = 0, count = part.elements(); i < count; ++i) {
    whole.as<T>()[at] += part.as<T>()[i];
    for (size_t dim = index.size(); dim-- > 0;) {
      int64_t stride =
          parameter.view_strides()->Get(static_cast<uint32_t>(dim));
      at += stride;
      if (++index[dim] < part.shape[dim])
        break;
      at -= stride * part.shape[dim];
      index[dim] = 0;
    }
  }
}

/// Adds what a port says of a parameter's elements to the stored tensor.
void addGradient(const Plan &plan, const fb::Port &port,
                 const HostTensor &output, HostTensors &named) {
  const fb::Parameter &parameter =
      *plan.table().parameters()->Get(port.parameter());
  DType dtype = output.dtype == DType::F64 ? DType::F64 : DType::F32;
  HostTensor part = output;
  if (output.dtype != dtype)
    part = *convertExactly(output, dtype); // A narrower float.
  auto [found, added] = named.try_emplace(storedName(port.name()->str()));
  if (added)
    found->second = HostTensor(dtype, {parameter.stored_shape()->begin(),
                                       parameter.stored_shape()->end()});
  if (dtype == DType::F64)
    addView<double>(parameter, part, found->second);
  else
    addView<float>(parameter, part, found->second);
}

HostTensor cut(const HostTensor &tensor, const std::vector<int64_t> &shape) {
  HostTensor result(tensor.dtype, shape);
  std::vector<int64_t> origin(shape.size(), 0);
  copyBox(tensor.data.data(), {tensor.shape, origin}, result.data.data(),
          {shape, origin}, shape, blockBytes(tensor.dtype));
  return result;
}

} // namespace

Result<uint32_t> findEntry(const Plan &plan, const std::string &name) {
  std::string list;
  std::vector<std::string> names;
  for (uint32_t e = 0; e < plan.table().entries()->size(); ++e) {
    const fb::Entry *entry = plan.table().entries()->Get(e);
    if (entry->name()->str() == name)
      return e;
    names.push_back(entry->name()->str());
    list += (e ? ", " : "") + names.back();
  }
  return Status::refused("the plan has no entry '" + name +
                         "'; its entries are " + list +
                         didYouMean(name, names));
}

Result<BoundInputs> bindInputs(const Plan &plan, uint32_t entry,
                               const HostTensors &inputs) {
  return Binder(plan, *plan.table().entries()->Get(entry), inputs).bind();
}

HostTensors nameOutputs(const Plan &plan, uint32_t entry,
                        const TokenShape &tokens, PortTensors outputs) {
  HostTensors named;
  const auto &ports = *plan.table().entries()->Get(entry)->outputs();
  for (uint32_t i = 0; i < ports.size(); ++i) {
    HostTensor &output = outputs[i];
    std::vector<int64_t> shape = output.shape;
    if (ports.Get(i)->parameter() != kNone) {
      addGradient(plan, *ports.Get(i), output, named);
      continue;
    }
    if (tokens.microbatches) {
      named[ports.Get(i)->name()->str()] = std::move(output);
      continue;
    }
    if (shape.size() >= 1 && shape[0] == tokens.fullRows)
      shape[0] = tokens.rows;
    // [batch, vocabulary] may look like [batch, sequence].
    bool vocabulary = shape.size() == 2 && isFloat(output.dtype) &&
                      plan.numberFact("vocab_size") == shape[1];
    if (shape.size() >= 2 && shape[0] == tokens.rows && !vocabulary &&
        shape[1] == tokens.fullSequence)
      shape[1] = tokens.sequence;
    named[ports.Get(i)->name()->str()] =
        shape == output.shape ? std::move(output) : cut(output, shape);
  }
  return named;
}

} // namespace tandem
