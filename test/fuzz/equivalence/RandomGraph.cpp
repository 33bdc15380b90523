#include "test/fuzz/equivalence/RandomGraph.h"

#include "test/fuzz/equivalence/RandomOps.h"
#include "test/fuzz/equivalence/RandomShardings.h"

#include <algorithm>

namespace tandem::test {
namespace {

bool contains(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string joined(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    if (!part.empty())
      text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string typesOf(const std::vector<Drawn> &values) {
  std::vector<std::string> types;
  for (const Drawn &value : values)
    types.push_back(value.type());
  return joined(types);
}

} // namespace

int64_t Drawn::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string Drawn::type() const {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

std::string namesOf(const std::vector<Drawn> &values) {
  std::vector<std::string> names;
  for (const Drawn &value : values)
    names.push_back(value.name);
  return joined(names);
}

std::string listOf(const std::vector<int64_t> &numbers) {
  std::vector<std::string> parts;
  for (int64_t number : numbers)
    parts.push_back(std::to_string(number));
  return "[" + joined(parts) + "]";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<Drawn> RandomGraph::find(const Filter &filter) {
  std::vector<Drawn> fitting;
  for (const Drawn &value : pool)
    if (filter(value))
      fitting.push_back(value);
  if (fitting.empty())
    return std::nullopt;
  // Young values more often, so that chains become long.
  size_t last = fitting.size() - 1;
  return fitting[random.chance(40) ? last : random.below(last + 1)];
}

Drawn RandomGraph::any(const std::string &element, size_t least, size_t most,
                       const Filter &filter) {
  auto fits = [&](const Drawn &value) {
    return value.element == element && value.rank() >= least &&
           value.rank() <= most && (!filter || filter(value));
  };
  if (random.chance(85))
    if (std::optional<Drawn> found = find(fits))
      return *found;
  return argument(element, randomShape(least, most));
}

Drawn RandomGraph::number(size_t least, size_t most, bool exact) {
  return any("f64", least, most,
             [=](const Drawn &value) { return value.exact || !exact; });
}

Drawn RandomGraph::shaped(const std::string &element, const Shape &shape,
                          bool exact) {
  auto fits = [&](const Drawn &value) {
    return value.element == element && value.shape == shape &&
           (value.exact || !exact);
  };
  if (random.chance(80))
    if (std::optional<Drawn> found = find(fits))
      return *found;
  return argument(element, shape);
}

Drawn RandomGraph::like(const Drawn &value) {
  return shaped(value.element, value.shape, value.exact);
}

Drawn RandomGraph::hiddenArgument(const std::string &element,
                                  const Shape &shape) {
  Drawn value{"%a" + std::to_string(arguments.size()), shape, element};
  arguments.push_back({value});
  return value;
}

Drawn RandomGraph::argument(const std::string &element, const Shape &shape) {
  pool.push_back(hiddenArgument(element, shape));
  return pool.back();
}

Drawn RandomGraph::stateArgument(const std::string &element,
                                 const Shape &shape) {
  Drawn value = hiddenArgument(element, shape);
  value.bound = 0;
  return value;
}

Drawn RandomGraph::constant(const std::string &element, const Shape &shape,
                            const std::string &value) {
  Drawn result{fresh(), shape, element};
  ops.push_back({result.name, "tandem.constant dense<" + value + ">", "",
                 result.type(), /*hasLayer=*/false});
  return result;
}

void RandomGraph::keep(Drawn value, double bound) {
  value.bound = bound;
  pool.push_back(value);
}

Drawn RandomGraph::tame(const Drawn &value, double bound) {
  if (value.bound <= bound)
    return value;
  return emitShort("unary", "tanh, " + value.name,
                   {value.shape, "f64", false, 1});
}

Shape RandomGraph::randomShape(size_t least, size_t most) {
  const std::vector<int64_t> sizes = {1, 2, 2, 3, 3, 4, 4, 5, 6, 6, 7, 8, 10};
  Shape shape(random.between(least, most));
  int64_t left = kMaxElements;
  for (int64_t &size : shape) {
    size = std::min(random.pick(sizes), left);
    left /= size;
  }
  random.shuffle(shape);
  return shape;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void RandomGraph::add(Operation op, const std::vector<Drawn> &operands) {
  ops.push_back(std::move(op));
  for (const Drawn &operand : operands)
    used.push_back(operand.name);
}

std::vector<Drawn> RandomGraph::emit(const std::string &operation,
                                     const std::string &body,
                                     const std::vector<Drawn> &operands,
                                     const std::vector<Made> &results,
                                     const std::string &attributes) {
  std::vector<Drawn> values;
  for (const Made &made : results)
    values.push_back(
        {fresh(), made.shape, made.element, made.exact, made.bound});
  std::string to = typesOf(values);
  add({namesOf(values), "tandem." + operation + " " + body, attributes,
       "(" + typesOf(operands) + ") -> " +
           (values.size() == 1 ? to : "(" + to + ")")},
      operands);
  // What may wrap as an i32 means another thing in float64.
  for (const Drawn &value : values)
    if (value.isFloat() || value.bound < 1e8)
      pool.push_back(value);
  return values;
}

Drawn RandomGraph::emitShort(const std::string &operation,
                             const std::string &body, const Made &result,
                             const std::string &attributes) {
  Drawn value = emit(operation, body, {}, {result}, attributes).front();
  ops.back().types = value.type();
  // Operands are the names in the body.
  for (const Drawn &other : pool)
    if ((body + ",").find(other.name + ",") != std::string::npos)
      used.push_back(other.name);
  return value;
}

void RandomGraph::hide(size_t count) { pool.resize(pool.size() - count); }

void RandomGraph::tieState(const Drawn &state, const Drawn &value) {
  for (Argument &argument : arguments)
    if (argument.value.name == state.name)
      argument.aliases = static_cast<int64_t>(states.size());
  states.push_back(value);
}

bool RandomGraph::isUsed(const Drawn &value) const {
  return contains(used, value.name);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string RandomGraph::shardingText(const Sharding &sharding) const {
  return "sharding = #tandem.sharding<@mesh, " + toString(sharding, mesh) + ">";
}

/// The states' new values, what nothing uses, and some that others use too.
std::vector<Drawn> RandomGraph::chooseResults() {
  std::vector<Drawn> results = states;
  for (const Drawn &value : pool)
    if (!isUsed(value) && value.name[1] != 'a')
      results.push_back(value);
  if (results.empty() || random.chance(40))
    results.push_back(random.pick(pool));
  return results;
}

std::string RandomGraph::argumentText(size_t index) {
  const Argument &argument = arguments[index];
  bool isState = argument.aliases >= 0;
  std::string name = "\"a" + std::to_string(index) + "\"", sharding;
  std::string port = "tandem.input = " + name;
  if (hasParameters && argument.value.element[0] == 'f' && random.chance(50))
    port = "tandem.parameter = #tandem.view<" + name + ">";
  if (isState)
    port = "tandem.state = " + name +
           ", tandem.aliases = " + std::to_string(argument.aliases) + " : i64";
  bool unreduced = mayBeUnreduced && !isState && argument.value.isFloat();
  if (random.chance(50))
    sharding = "tandem." + shardingText(randomSharding(
                               argument.value.rank(), unreduced, mesh, random));
  return argument.value.name + ": " + argument.value.type() + " {" +
         joined({port, sharding}) + "}";
}

std::string RandomGraph::signature(const std::vector<Drawn> &results) {
  std::vector<std::string> from, to;
  for (size_t i = 0; i < arguments.size(); ++i)
    from.push_back(argumentText(i));
  for (size_t i = 0; i < results.size(); ++i) {
    std::string output = "tandem.output = \"y" + std::to_string(i) + "\"";
    bool isState = i < states.size();
    std::string sharding;
    if (!isState && random.chance(30))
      sharding = "tandem." + shardingText(randomSharding(results[i].rank(),
                                                         false, mesh, random));
    to.push_back(results[i].type() + " {" +
                 joined({isState ? "" : output, sharding}) + "}");
  }
  return "func.func @f(" + joined(from) + ") -> (" + joined(to) + ")";
}

/// Layers as equal runs of operations, none of them in some modules.
std::string RandomGraph::body() {
  int64_t stages = mesh.sizeOf("pp"), count = 0, at = 0;
  for (const Operation &op : ops)
    count += op.hasLayer;
  int64_t layers = stages > 1 ? count : random.below(4);
  std::string text;
  for (const Operation &op : ops) {
    std::string layer;
    if (op.hasLayer && layers > 0)
      layer =
          "tandem.layer = " + std::to_string(at++ * layers / count) + " : i64";
    std::string attributes = joined({op.attributes, layer});
    text += "  " + op.results + " = " + op.call;
    if (!attributes.empty())
      text += " {" + attributes + "}";
    text += " : " + op.types + "\n";
  }
  return text;
}

std::string RandomGraph::text() {
  std::vector<Drawn> results = chooseResults();
  std::string axes;
  for (const Axis &axis : mesh.axes())
    axes += (axes.empty() ? "\"" : ", \"") + axis.name +
            "\"=" + std::to_string(axis.size);
  return "tandem.mesh @mesh = <[" + axes + "]>\n" + signature(results) +
         " {\n" + body() + "  return " + namesOf(results) + " : " +
         typesOf(results) + "\n}\n";
}

std::string randomCase(uint64_t seed) {
  Random random(seed);
  Mesh mesh = randomMesh(random);
  // Terms of an input have no one who could sum them in a plan: such cases
  // are evaluated on ranks in lockstep only.
  RandomGraph graph(mesh, /*mayBeUnreduced=*/random.chance(15), random);
  size_t wanted = random.between(2, random.chance(20) ? 24 : 10);
  while (graph.operations() < wanted)
    makeRandomOperation(graph);
  std::string device = random.chance(20) ? "// device: chaos\n" : "";
  return "// seed: " + std::to_string(seed) + "\n" + device + graph.text();
}

} // namespace tandem::test
