// Long, since one list: a maker for each operation, of a few lines each, and
// the table that a test holds to the dialect's operations.

#include "test/fuzz/equivalence/RandomOps.h"

#include "test/fuzz/equivalence/RandomShardings.h"

#include <algorithm>
#include <cmath>

namespace tandem::test {
namespace {

/// Above this a value is tamed before it grows further.
constexpr double kLarge = 20;
constexpr double kHuge = 1e6;

bool fits(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count <= RandomGraph::kMaxElements;
}

std::string integerAttr(const std::string &name, int64_t value) {
  return name + " = " + std::to_string(value) + " : i64";
}

/// A value of any kind, for what only moves elements.
Drawn anything(RandomGraph &g, size_t least, size_t most) {
  std::string element = "f64";
  if (g.random.chance(25))
    element = g.random.pick<std::string>({"i32", "i64", "i1", "f32"});
  return g.any(element, least, most);
}

/// What a value becomes when its elements only move.
Made moved(const Drawn &value, const Shape &shape) {
  return {shape, value.element, value.exact, value.bound};
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// |x| + 1: what may be divided by.
Drawn atLeastOne(RandomGraph &g, const Drawn &x) {
  Drawn size = g.emitShort("unary", "abs, " + x.name, moved(x, x.shape));
  Drawn one = g.constant(x.element, x.shape, x.isFloat() ? "1.0" : "1");
  return g.emitShort("sum", size.name + ", " + one.name,
                     {x.shape, x.element, x.exact, x.bound + 1});
}

void makeSign(RandomGraph &g) {
  Drawn x = g.random.chance(70) ? g.number() : g.any("i32", 0, 3);
  g.emitShort("unary", g.random.pick<std::string>({"neg, ", "abs, "}) + x.name,
              moved(x, x.shape));
}

void makeSmooth(RandomGraph &g) {
  struct Function {
    const char *name;
    double domain, bound;
  };
  const std::vector<Function> functions = {
      {"exp", 2, 8},  {"tanh", kHuge, 1}, {"erf", kHuge, 1}, {"sigmoid", 20, 1},
      {"sin", 20, 1}, {"cos", 20, 1},     {"relu", kHuge, 0}};
  Function function = g.random.pick(functions);
  Drawn x = g.tame(g.number(), function.domain);
  g.emitShort(
      "unary", std::string(function.name) + ", " + x.name,
      {x.shape, "f64", false, function.bound == 0 ? x.bound : function.bound});
}

void makeGuarded(RandomGraph &g) {
  Drawn x = atLeastOne(g, g.tame(g.number(), kLarge));
  std::string function =
      g.random.pick<std::string>({"log", "sqrt", "rsqrt", "reciprocal"});
  g.emitShort("unary", function + ", " + x.name, {x.shape, "f64", false, 5});
}

void makeFloor(RandomGraph &g) {
  Drawn x = g.number(0, 4, /*exact=*/true);
  g.emitShort("unary", "floor, " + x.name, {x.shape, "f64", true, x.bound + 1});
}

void makeActivation(RandomGraph &g) {
  Drawn x = g.tame(g.number(), kLarge);
  Made made{x.shape, "f64", false, x.bound};
  std::string name = "silu", attributes;
  if (g.random.chance(60)) {
    name = "gelu";
    attributes = "approximate = #tandem.gelu<" +
                 g.random.pick<std::string>({"none", "tanh", "quick"}) + ">";
  }
  if (g.random.chance(60)) {
    g.emitShort(name, x.name, made, attributes);
    return;
  }
  Drawn dy = g.tame(g.like(x), kLarge);
  made.bound = 1.2 * dy.bound;
  g.emit(name + "_grad", x.name + ", " + dy.name, {x, dy}, {made}, attributes);
}

/// Products, differences, larger and smaller ones.
void makeArithmetic(RandomGraph &g) {
  Drawn x =
      g.random.chance(75)
          ? g.tame(g.number(), kLarge)
          : g.any("i32", 0, 3, [](const Drawn &v) { return v.bound < 100; });
  Drawn y = g.like(x);
  if (y.isFloat())
    y = g.tame(y, kLarge);
  else if (y.bound >= 100)
    y = x;
  std::string kind =
      g.random.pick<std::string>({"mul", "mul", "sub", "max", "min"});
  double bound = kind == "mul"   ? x.bound * y.bound
                 : kind == "sub" ? x.bound + y.bound
                                 : std::max(x.bound, y.bound);
  g.emitShort("binary", kind + ", " + x.name + ", " + y.name,
              {x.shape, x.element, x.exact && y.exact, bound});
}

void makeQuotient(RandomGraph &g) {
  bool floats = g.random.chance(75);
  auto small = [](const Drawn &value) { return value.bound < 1000; };
  Drawn x = floats ? g.number() : g.any("i32", 0, 3, small);
  Drawn y = g.like(x);
  if (floats && y.bound > kLarge)
    y = g.tame(y, kLarge);
  y = atLeastOne(g, y);
  bool exact = x.exact && y.exact;
  std::string kind = exact && g.random.chance(40) ? "rem, " : "div, ";
  g.emitShort("binary", kind + x.name + ", " + y.name,
              {x.shape, x.element, exact, x.bound});
}

void makePower(RandomGraph &g) {
  Drawn x = g.tame(g.number(), 2);
  Drawn base = atLeastOne(g, x);
  Drawn exponent = g.tame(g.shaped("f64", x.shape), 2);
  g.emitShort("binary", "pow, " + base.name + ", " + exponent.name,
              {x.shape, "f64", false, 16});
}

Drawn truth(RandomGraph &g, const Shape &shape) {
  auto fits = [&](const Drawn &value) {
    return value.element == "i1" && value.shape == shape;
  };
  if (g.random.chance(60))
    if (std::optional<Drawn> found = g.find(fits))
      return *found;
  std::string element = g.random.chance(70) ? "f64" : "i32";
  Drawn x = g.shaped(element, shape, /*exact=*/true);
  Drawn y = g.shaped(element, shape, /*exact=*/true);
  std::string kind =
      g.random.pick<std::string>({"eq", "ne", "lt", "le", "gt", "ge"});
  return g
      .emit("compare", kind + ", " + x.name + ", " + y.name, {x, y},
            {{shape, "i1"}})
      .front();
}

void makeTruth(RandomGraph &g) {
  Drawn a = truth(g, g.number().shape);
  if (g.random.chance(40)) {
    g.emitShort("unary", "not, " + a.name, moved(a, a.shape));
    return;
  }
  Drawn b = truth(g, a.shape);
  g.emitShort("binary",
              g.random.pick<std::string>({"and, ", "or, "}) + a.name + ", " +
                  b.name,
              moved(a, a.shape));
}

void makeSelect(RandomGraph &g) {
  Drawn x = anything(g, 0, 4), y = g.like(x), mask = truth(g, x.shape);
  g.emit(
      "select", mask.name + ", " + x.name + ", " + y.name, {mask, x, y},
      {{x.shape, x.element, x.exact && y.exact, std::max(x.bound, y.bound)}});
}

void makeCast(RandomGraph &g) {
  std::string from =
      g.random.pick<std::string>({"f64", "i32", "i64", "i1", "f32"});
  Drawn x = g.any(from, 0, 4,
                  [](const Drawn &v) { return v.exact && v.bound < kHuge; });
  std::string to = g.random.pick<std::string>({"f64", "i32", "i64", "i1"});
  if (to != from)
    g.emit("cast", x.name, {x}, {{x.shape, to, true, x.bound}});
}

void makeSum(RandomGraph &g) {
  std::vector<Drawn> terms = {
      g.random.chance(80) ? g.number() : g.any("i32", 0, 3, [](const Drawn &v) {
        return v.bound < kHuge;
      })};
  int64_t count = g.random.between(1, 4);
  while (static_cast<int64_t>(terms.size()) < count)
    terms.push_back(g.like(terms.front()));
  Made made{terms[0].shape, terms[0].element, terms.size() < 3, 0};
  for (Drawn &term : terms) {
    if (term.isFloat())
      term = g.tame(term, kLarge);
    else if (term.bound >= kHuge)
      term = terms[0];
    made.exact = made.exact && term.exact;
    made.bound += term.bound;
  }
  made.exact = made.exact || made.element != "f64";
  g.emitShort("sum", namesOf(terms), made);
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// Letters of a product of `a` and `b`: some dimensions of `b` are `a`'s.
std::string lettersLike(RandomGraph &g, const Drawn &a, const Drawn &b) {
  std::string letters;
  char next = static_cast<char>('a' + a.rank());
  for (int64_t size : b.shape) {
    char letter = 0;
    for (size_t d = 0; d < a.rank(); ++d) {
      char own = static_cast<char>('a' + d);
      if (a.shape[d] == size && letters.find(own) == std::string::npos &&
          g.random.chance(75))
        letter = own;
    }
    letters += letter ? letter : next++;
  }
  return letters;
}

/// A tensor that shares dimensions with `a`: of the pool, or an argument.
Drawn factorFor(RandomGraph &g, const Drawn &a) {
  if (g.random.chance(50))
    return g.any(a.element, 1, 4, [&](const Drawn &value) {
      return value.isFloat() || value.bound < 100;
    });
  Shape shape;
  for (int64_t size : a.shape)
    if (g.random.chance(60))
      shape.push_back(size);
  if (shape.empty() || g.random.chance(50))
    shape.push_back(g.random.between(1, 7));
  g.random.shuffle(shape);
  return fits(shape) ? g.argument(a.element, shape) : a;
}

void makeEinsum(RandomGraph &g) {
  bool floats = g.random.chance(90);
  Drawn a =
      floats ? g.tame(g.number(1, 4), 4)
             : g.any("i32", 1, 3, [](const Drawn &v) { return v.bound < 100; });
  bool single = g.random.chance(10);
  Drawn b = factorFor(g, a);
  if (floats)
    b = g.tame(b, 4);
  std::string first = std::string("abcdefgh").substr(0, a.rank());
  std::string second = single ? "" : lettersLike(g, a, b), out;
  std::string all = first;
  for (char letter : second)
    if (all.find(letter) == std::string::npos)
      all += letter;
  Made made{{}, a.element, !floats, a.bound * (single ? 1 : b.bound)};
  std::vector<size_t> order;
  for (size_t i = 0; i < all.size(); ++i)
    order.push_back(i);
  g.random.shuffle(order);
  for (size_t i : order) {
    int64_t size = i < a.rank() ? a.shape[i] : b.shape[second.find(all[i])];
    bool both = i < a.rank() && second.find(all[i]) != std::string::npos;
    if (g.random.chance(both ? 40 : 92)) {
      out += all[i];
      made.shape.push_back(size);
    } else {
      made.bound *= static_cast<double>(size);
    }
  }
  if (!fits(made.shape) || made.shape.size() > 6)
    return;
  std::vector<Drawn> operands = {a};
  if (!single)
    operands.push_back(b);
  std::string equation = first + (single ? "" : "," + second) + "->" + out;
  g.emit("einsum", "\"" + equation + "\" " + namesOf(operands), operands,
         {made});
}

void makeReduce(RandomGraph &g) {
  std::string kind = g.random.pick<std::string>({"sum", "sum", "max", "min"});
  Drawn x = g.random.chance(75)   ? g.tame(g.number(1, 5), kLarge)
            : kind == "sum"       ? g.any("i32", 1, 3)
            : g.random.chance(50) ? g.any("i1", 1, 3)
                                  : g.any("i64", 1, 3);
  Made made{{}, x.element, x.exact, x.bound};
  std::vector<int64_t> dims;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (g.random.chance(50)) {
      dims.push_back(static_cast<int64_t>(d));
      made.bound *= kind == "sum" ? static_cast<double>(x.shape[d]) : 1;
    } else {
      made.shape.push_back(x.shape[d]);
    }
  }
  if (kind == "sum" && x.isFloat())
    made.exact = false;
  g.emit("reduce", kind + ", " + x.name + " " + listOf(dims), {x}, {made});
}

void makeCumulativeSum(RandomGraph &g) {
  bool floats = g.random.chance(80);
  Drawn x = floats ? g.tame(g.number(1, 4), kLarge) : g.any("i32", 1, 3);
  int64_t dim = g.random.below(static_cast<int64_t>(x.rank()));
  std::string attributes = integerAttr("dim", dim);
  if (g.random.chance(30))
    attributes += ", exclusive";
  if (g.random.chance(30))
    attributes += ", reverse";
  g.emitShort("cumulative_sum", x.name,
              {x.shape, x.element, !floats,
               x.bound * static_cast<double>(x.shape[dim])},
              attributes);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// One dimension split in two, or two merged, or a 1 put in or taken out.
void editShape(RandomGraph &g, Shape &shape) {
  int64_t count = static_cast<int64_t>(shape.size());
  switch (g.random.below(4)) {
  case 0:
    shape.insert(shape.begin() + g.random.between(0, count), 1);
    return;
  case 1:
    for (int64_t d = 0; d < count; ++d)
      if (shape[d] == 1) {
        shape.erase(shape.begin() + d);
        return;
      }
    return;
  case 2: {
    if (count < 2)
      return;
    int64_t d = g.random.below(count - 1);
    shape[d] *= shape[d + 1];
    shape.erase(shape.begin() + d + 1);
    return;
  }
  default: {
    if (count == 0)
      return;
    int64_t d = g.random.below(count);
    for (int64_t divisor : {2, 3, 5, 4})
      if (shape[d] % divisor == 0 && g.random.chance(60)) {
        bool minor = g.random.chance(50);
        int64_t other = shape[d] / divisor;
        shape[d] = minor ? other : divisor;
        shape.insert(shape.begin() + d + 1, minor ? divisor : other);
        return;
      }
  }
  }
}

void makeReshape(RandomGraph &g) {
  Drawn x = anything(g, 0, 5);
  Shape shape = x.shape;
  for (int64_t edits = g.random.between(1, 5); edits > 0; --edits)
    editShape(g, shape);
  if (shape.size() <= 6)
    g.emit("reshape", x.name, {x}, {moved(x, shape)});
}

void makeTranspose(RandomGraph &g) {
  Drawn x = anything(g, 1, 5);
  std::vector<int64_t> permutation;
  for (size_t d = 0; d < x.rank(); ++d)
    permutation.push_back(static_cast<int64_t>(d));
  g.random.shuffle(permutation);
  Shape shape;
  for (int64_t dim : permutation)
    shape.push_back(x.shape[dim]);
  g.emit("transpose", x.name + " " + listOf(permutation), {x},
         {moved(x, shape)});
}

void makeBroadcast(RandomGraph &g) {
  Drawn x = anything(g, 0, 3);
  Shape shape;
  std::vector<int64_t> dims;
  size_t next = 0;
  while (next < x.rank() || g.random.chance(50)) {
    if (next < x.rank() && g.random.chance(60)) {
      dims.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(x.shape[next++]);
    } else {
      shape.push_back(g.random.between(1, 5));
    }
  }
  if (fits(shape) && shape.size() <= 6)
    g.emit("broadcast_in_dim", x.name + " " + listOf(dims), {x},
           {moved(x, shape)});
}

void makeSlice(RandomGraph &g) {
  Drawn x = anything(g, 1, 4);
  std::vector<int64_t> starts, steps;
  Shape shape;
  for (int64_t size : x.shape) {
    bool whole = g.random.chance(50);
    int64_t start = whole ? 0 : g.random.below(size);
    int64_t step = whole || g.random.chance(60) ? 1 : g.random.between(1, 3);
    int64_t most = (size - start + step - 1) / step;
    starts.push_back(start);
    steps.push_back(step);
    shape.push_back(whole ? size : g.random.between(1, most));
  }
  g.emit("slice", x.name + " " + listOf(starts) + " step " + listOf(steps), {x},
         {moved(x, shape)});
}

void makeConcat(RandomGraph &g) {
  Drawn x = anything(g, 1, 4);
  int64_t dim = g.random.below(static_cast<int64_t>(x.rank()));
  std::vector<Drawn> parts = {x};
  Made made = moved(x, x.shape);
  for (int64_t more = g.random.below(3); more > 0; --more) {
    Shape shape = x.shape;
    shape[dim] = g.random.chance(50) ? shape[dim] : g.random.between(1, 4);
    parts.push_back(g.shaped(x.element, shape));
    made.shape[dim] += shape[dim];
    made.exact = made.exact && parts.back().exact;
    made.bound = std::max(made.bound, parts.back().bound);
  }
  if (fits(made.shape))
    g.emit("concat", namesOf(parts), parts, {made}, integerAttr("dim", dim));
}

void makePad(RandomGraph &g) {
  Drawn x = g.random.chance(80) ? g.number(1, 4) : g.any("i32", 1, 3);
  std::vector<int64_t> low, high;
  Made made = moved(x, x.shape);
  for (int64_t &size : made.shape) {
    low.push_back(g.random.chance(50) ? 0 : g.random.between(0, 2));
    high.push_back(g.random.chance(50) ? 0 : g.random.between(0, 2));
    size += low.back() + high.back();
  }
  made.bound = std::max(made.bound, 2.0);
  std::string value = g.random.pick<std::string>({"0.0", "1.0", "-2.0"});
  if (fits(made.shape))
    g.emit("pad",
           x.name + " low " + listOf(low) + " high " + listOf(high) +
               " value " + value,
           {x}, {made});
}

void makeIota(RandomGraph &g) {
  std::string element = g.random.pick<std::string>({"f64", "i32", "i64"});
  Shape shape =
      g.random.chance(50) ? g.number(1, 4).shape : g.randomShape(1, 3);
  int64_t dim = g.random.below(static_cast<int64_t>(shape.size()));
  std::string attributes = integerAttr("dim", dim);
  if (g.random.chance(50))
    attributes +=
        ", start = " + g.random.pick<std::string>({"-2.0", "1.0", "3.0"}) +
        " : f64, step = " + g.random.pick<std::string>({"-1.0", "0.5", "2.0"}) +
        " : f64";
  g.emitShort("iota", "", {shape, element, true, 25}, attributes);
}

/// `[[1.0, -0.5], [0.25, 2.0]]`
std::string denseText(RandomGraph &g, const Shape &shape, size_t dim,
                      const std::vector<std::string> &numbers) {
  if (dim == shape.size())
    return g.random.pick(numbers);
  std::string text;
  for (int64_t i = 0; i < shape[dim]; ++i)
    text += (i ? ", " : "[") + denseText(g, shape, dim + 1, numbers);
  return text + "]";
}

void makeConstant(RandomGraph &g) {
  bool floats = g.random.chance(75);
  std::vector<std::string> numbers = {"0", "1", "-3", "5"};
  if (floats)
    numbers = {"0.0", "1.0", "-0.5", "0.25", "2.0", "-3.0"};
  Shape shape =
      g.random.chance(60) ? g.number(0, 4).shape : g.randomShape(0, 3);
  bool splat = shape.empty() || g.random.chance(40);
  std::string text =
      splat ? g.random.pick(numbers) : denseText(g, shape, 0, numbers);
  std::string element = floats ? "f64" : "i32";
  g.keep(g.constant(element, shape, text), 5);
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// Indices below `limit`: an argument of their own, or computed.
Drawn indices(RandomGraph &g, const Shape &shape, int64_t limit) {
  if (g.random.chance(70))
    return g.hiddenArgument("i32", shape);
  Drawn x = g.shaped("i32", shape);
  Drawn size = g.emitShort("unary", "abs, " + x.name, moved(x, x.shape));
  Drawn most = g.constant("i32", shape, std::to_string(limit));
  return g.emitShort("binary", "rem, " + size.name + ", " + most.name,
                     {shape, "i32", true, static_cast<double>(limit)});
}

/// [batch, own, rest] as gather makes it.
Shape gatheredShape(const Shape &input, const Shape &index, size_t batch) {
  Shape shape = index;
  shape.insert(shape.end(), input.begin() + batch + 1, input.end());
  return shape;
}

struct Lookup {
  Shape index;
  size_t batch;
  std::string attributes;
};

Lookup drawLookup(RandomGraph &g, const Drawn &x) {
  Lookup lookup;
  lookup.batch =
      g.random.chance(50) ? 0 : g.random.below(static_cast<int64_t>(x.rank()));
  lookup.index.assign(x.shape.begin(), x.shape.begin() + lookup.batch);
  for (int64_t own = g.random.below(3); own > 0; --own)
    lookup.index.push_back(g.random.between(1, 5));
  int64_t batch = static_cast<int64_t>(lookup.batch);
  lookup.attributes =
      integerAttr("dim", batch) + ", " + integerAttr("batch_dims", batch);
  return lookup;
}

void makeGather(RandomGraph &g) {
  Drawn x = anything(g, 1, 4);
  Lookup lookup = drawLookup(g, x);
  Shape shape = gatheredShape(x.shape, lookup.index, lookup.batch);
  if (!fits(shape))
    return;
  Drawn at = indices(g, lookup.index, x.shape[lookup.batch]);
  g.emit("gather", x.name + ", " + at.name, {x, at}, {moved(x, shape)},
         lookup.attributes);
}

void makeScatterAdd(RandomGraph &g) {
  bool floats = g.random.chance(85);
  Drawn base = floats ? g.tame(g.number(1, 4), kLarge) : g.any("i32", 1, 3);
  Lookup lookup = drawLookup(g, base);
  Shape shape = gatheredShape(base.shape, lookup.index, lookup.batch);
  if (!fits(shape))
    return;
  Drawn at = indices(g, lookup.index, base.shape[lookup.batch]);
  Drawn rows = g.shaped(base.element, shape);
  if (floats)
    rows = g.tame(rows, 1);
  int64_t most = 1;
  for (int64_t size : lookup.index)
    most *= size;
  double bound = base.bound + rows.bound * static_cast<double>(most);
  g.emit("scatter_add", base.name + ", " + at.name + ", " + rows.name,
         {base, at, rows}, {{base.shape, base.element, !floats, bound}},
         lookup.attributes);
}

void makeEmbedding(RandomGraph &g) {
  Drawn table = g.number(2, 2);
  Shape index = g.randomShape(0, 2);
  Shape shape = gatheredShape(table.shape, index, 0);
  if (!fits(shape))
    return;
  Drawn at = indices(g, index, table.shape[0]);
  g.emit("embedding", table.name + ", " + at.name, {table, at},
         {moved(table, shape)});
}

void makeEmbeddingGrad(RandomGraph &g) {
  Drawn dy = g.tame(g.number(1, 3), kLarge);
  Shape index(dy.shape.begin(), dy.shape.end() - 1);
  Shape shape = {g.random.between(1, 8), dy.shape.back()};
  if (!fits(shape))
    return;
  Drawn at = indices(g, index, shape[0]);
  double most = static_cast<double>(dy.elements() / dy.shape.back());
  g.emit("embedding_grad", at.name + ", " + dy.name, {at, dy},
         {{shape, "f64", false, dy.bound * most}});
}

Drawn perRow(RandomGraph &g, int64_t rows) {
  return g.hiddenArgument("i32", {rows});
}

void makeUpdateSlice(RandomGraph &g) {
  bool isState = g.random.chance(30);
  Drawn base = anything(g, 2, 4);
  if (isState)
    base = g.stateArgument(base.element, base.shape);
  Shape shape = base.shape;
  shape[1] = g.random.between(1, 4);
  if (!fits(shape))
    return;
  Drawn rows = g.shaped(base.element, shape);
  Drawn positions = perRow(g, shape[0]), lengths = perRow(g, shape[0]);
  Drawn result =
      g.emit("update_slice", namesOf({base, rows, positions, lengths}),
             {base, rows, positions, lengths},
             {{base.shape, base.element, base.exact && rows.exact,
               std::max(base.bound, rows.bound)}})
          .front();
  if (isState)
    g.tieState(base, result);
}

void makeTopK(RandomGraph &g) {
  Drawn x = g.number(1, 3, /*exact=*/true);
  Shape shape = x.shape;
  shape.back() = g.random.between(1, shape.back());
  std::string element = g.random.chance(80) ? "i32" : "i64";
  std::vector<Drawn> operands = {x};
  std::string body = x.name;
  if (g.random.chance(20)) {
    Drawn payload = g.shaped("i32", x.shape);
    operands.push_back(payload);
    body += " payload " + payload.name;
  }
  double most = operands.size() > 1 ? operands[1].bound : 200;
  g.emit("top_k", body, operands,
         {{shape, "f64", true, x.bound}, {shape, element, true, most}});
}

void makeSample(RandomGraph &g) {
  Drawn logits = g.any("f32", 2, 2);
  Shape rows = {logits.shape[0]};
  Drawn temperature = g.constant(
      "f32", rows, g.random.pick<std::string>({"0.0", "0.7", "1.5"}));
  Drawn topK = g.constant("i32", rows, std::to_string(g.random.below(4)));
  Drawn topP =
      g.constant("f32", rows, g.random.pick<std::string>({"1.0", "0.8"}));
  Drawn seed = g.hiddenArgument("i64", rows);
  Drawn positions = g.hiddenArgument("i32", rows);
  std::vector<Drawn> operands = {logits, temperature, topK,
                                 topP,   seed,        positions};
  g.emit("sample", namesOf(operands), operands,
         {{rows, "i32", true, static_cast<double>(logits.shape[1])}});
}

//===----------------------------------------------------------------------===//
// Transformer operations
//===----------------------------------------------------------------------===//

/// The weight's gradient, and the bias's, of so many rows.
Made sumOfRows(const Drawn &x, const Drawn &dy) {
  double rows = static_cast<double>(x.elements() / x.shape.back());
  return {{x.shape.back()}, "f64", false, rows * dy.bound * 14};
}

void makeNorm(RandomGraph &g) {
  Drawn x = g.tame(g.number(1, 4), kLarge);
  Drawn weight = g.tame(g.shaped("f64", {x.shape.back()}), 4);
  std::vector<Drawn> operands = {x, weight};
  bool centred = g.random.chance(50), hasBias = centred && g.random.chance(60);
  std::string name = centred ? "layer_norm" : "rms_norm";
  std::string attributes = "epsilon = 0.1 : f64";
  if (!centred && g.random.chance(30))
    attributes += ", weight_offset = 1.0 : f64";
  if (g.random.chance(60)) {
    if (hasBias)
      operands.push_back(g.tame(g.shaped("f64", {x.shape.back()}), 4));
    g.emit(name, namesOf(operands), operands, {{x.shape, "f64", false, 70}},
           attributes);
    return;
  }
  Drawn dy = g.tame(g.like(x), 4);
  operands.push_back(dy);
  std::vector<Made> made = {{x.shape, "f64", false, 1000}, sumOfRows(x, dy)};
  if (hasBias)
    made.push_back(sumOfRows(x, dy));
  g.emit(name + "_grad", namesOf(operands), operands, made, attributes);
}

void makeSoftmax(RandomGraph &g) {
  Drawn x = g.tame(g.number(1, 4), 10);
  g.emitShort("softmax", x.name, {x.shape, "f64", false, 1});
}

void makeRope(RandomGraph &g) {
  Drawn x = g.tame(g.number(3, 5), kLarge);
  int64_t pairs = g.random.between(0, x.shape.back() / 2);
  std::string frequencies, scale;
  for (int64_t i = 0; i < pairs; ++i)
    frequencies +=
        (i ? ", " : ": ") + g.random.pick<std::string>({"1.0", "0.5", "0.01"});
  if (g.random.chance(30))
    scale = ", scale = 1.5 : f64";
  Drawn positions = perRow(g, x.shape[0]);
  g.emit("rope", x.name + ", " + positions.name, {x, positions},
         {{x.shape, "f64", false, 3 * x.bound}},
         "style = #tandem.rope<" +
             g.random.pick<std::string>({"half_split", "interleaved"}) +
             ">, frequencies = array<f64" + frequencies + ">" + scale);
}

/// Slopes are numbers that do not depend on a parameter.
Drawn slopesOf(RandomGraph &g, const Shape &heads) {
  Drawn whole = g.hiddenArgument("i32", heads);
  Drawn slopes = g.emit("cast", whole.name, {whole}, {{heads}}).front();
  Drawn part = g.constant("f64", heads, "0.75");
  return g.emitShort("binary", "mul, " + slopes.name + ", " + part.name,
                     {heads});
}

struct AttentionCall {
  std::vector<Drawn> operands;
  std::string body, attributes;
  bool seesAll = true; ///< Whether every query sees a key.
};

void addAttentionOptions(RandomGraph &g, AttentionCall &call,
                         const Shape &query, int64_t keys) {
  auto add = [&](const char *keyword, const Drawn &operand) {
    call.operands.push_back(operand);
    call.body += std::string(" ") + keyword + " " + operand.name;
  };
  if (g.random.chance(25)) {
    add("mask", g.hiddenArgument("i32", {query[0], keys}));
    call.seesAll = false;
  }
  if (g.random.chance(25))
    add("slopes", slopesOf(g, {query[2], query[3]}));
  call.attributes = "scale = 0.5 : f64";
  if (g.random.chance(50))
    call.attributes += ", causal";
  if (g.random.chance(25)) {
    call.attributes += ", " + integerAttr("window", g.random.between(1, 3));
    call.seesAll = false;
  }
  if (g.random.chance(25))
    call.attributes += ", softcap = 3.0 : f64";
}

/// The gradients of what `call` gave.
void addAttentionGradient(RandomGraph &g, const AttentionCall &call,
                          const std::vector<Drawn> &results) {
  std::vector<Drawn> operands(call.operands.begin(), call.operands.begin() + 4);
  Drawn dy = g.tame(g.like(results[0]), 4);
  operands.insert(operands.end(), {results[0], results[1], dy});
  std::string body = namesOf(operands);
  body += call.body.substr(
      namesOf({operands.begin(), operands.begin() + 4}).size());
  operands.insert(operands.end(), call.operands.begin() + 4,
                  call.operands.end());
  std::vector<Made> made;
  for (size_t i = 0; i < 3; ++i)
    made.push_back({call.operands[i].shape, "f64", false, 5000});
  g.emit("attention_grad", body, operands, made, call.attributes);
}

void makeAttention(RandomGraph &g) {
  Drawn query = g.tame(g.number(5, 5), 4);
  const Shape &q = query.shape;
  int64_t keys = g.random.between(1, 5), width = g.random.between(1, 4);
  Shape keyShape = {q[0], keys, q[2], q[4]};
  Shape valueShape = {q[0], keys, q[2], width};
  Shape outShape = {q[0], q[1], q[2], q[3], width};
  if (!fits(keyShape) || !fits(valueShape) || !fits(outShape))
    return;
  Drawn key = g.tame(g.shaped("f64", keyShape), 4);
  Drawn value = g.tame(g.shaped("f64", valueShape), 4);
  Drawn positions = perRow(g, q[0]);
  AttentionCall call;
  call.operands = {query, key, value, positions};
  call.body = namesOf(call.operands);
  addAttentionOptions(g, call, q, keys);
  Shape lse(q.begin(), q.begin() + 4);
  std::vector<Drawn> results =
      g.emit("attention", call.body, call.operands,
             {{outShape, "f64", false, value.bound}, {lse, "f64", false, 40}},
             call.attributes);
  // The logarithm of nothing is -inf, which no chain survives.
  if (!call.seesAll)
    g.hide(1);
  if (g.random.chance(40))
    addAttentionGradient(g, call, results);
}

//===----------------------------------------------------------------------===//
// Losses and optimizers
//===----------------------------------------------------------------------===//

void makeCrossEntropy(RandomGraph &g) {
  Drawn logits = g.tame(g.number(1, 4), 10);
  Shape rows(logits.shape.begin(), logits.shape.end() - 1);
  int64_t classes = logits.shape.back();
  Drawn labels = indices(g, rows, classes);
  std::string attributes;
  if (g.random.chance(50))
    attributes = integerAttr("ignored", g.random.below(classes));
  std::vector<Drawn> results = g.emit(
      "cross_entropy", logits.name + ", " + labels.name, {logits, labels},
      {{rows, "f64", false, 30}, {rows, "f64", false, 20}}, attributes);
  if (g.random.chance(50))
    return;
  Drawn gradient = g.tame(g.like(results[0]), 4);
  std::vector<Drawn> operands = {logits, labels, results[1], gradient};
  g.emit("cross_entropy_grad", namesOf(operands), operands,
         {{logits.shape, "f64", false, 8}}, attributes);
}

/// A number of a step: computed, an argument, or known.
Drawn scalar(RandomGraph &g) { return g.tame(g.shaped("f64", {}), 1); }

void makeAdamW(RandomGraph &g) {
  Drawn p = g.tame(g.number(), kLarge), m = g.tame(g.like(p), kLarge);
  Drawn v = atLeastOne(g, g.tame(g.like(p), kLarge));
  Drawn gradient = g.tame(g.like(p), kLarge);
  Drawn beta1 = g.constant("f64", {}, "0.75");
  Drawn beta2 = g.constant("f64", {}, "0.5");
  Drawn epsilon = g.constant("f64", {}, "0.125");
  std::vector<Drawn> operands = {p,
                                 m,
                                 v,
                                 gradient,
                                 scalar(g),
                                 scalar(g),
                                 beta1,
                                 beta2,
                                 epsilon,
                                 scalar(g),
                                 g.hiddenArgument("i32", {})};
  g.emit("adamw", namesOf(operands), operands,
         {{p.shape, "f64", false, 200},
          {p.shape, "f64", false, 20},
          {p.shape, "f64", false, 600}},
         g.random.chance(50) ? "decay" : "");
}

void makeSgd(RandomGraph &g) {
  Drawn p = g.tame(g.number(), kLarge), m = g.tame(g.like(p), kLarge);
  Drawn gradient = g.tame(g.like(p), kLarge);
  std::vector<Drawn> operands = {p,         m,         gradient, scalar(g),
                                 scalar(g), scalar(g), scalar(g)};
  g.emit("sgd", namesOf(operands), operands,
         {{p.shape, "f64", false, 80}, {p.shape, "f64", false, 60}},
         g.random.chance(50) ? "decay" : "");
}

void makeConstraint(RandomGraph &g) {
  Drawn x = anything(g, 0, 4);
  std::string sharding;
  if (g.random.chance(85))
    sharding =
        g.shardingText(randomSharding(x.rank(), false, g.mesh, g.random));
  g.emitShort("sharding_constraint", x.name, moved(x, x.shape), sharding);
}

/// A product over a split dimension whose terms are asked for as they are.
void makeTerms(RandomGraph &g) {
  AxisList parts = randomParts(g.mesh, g.random);
  if (parts.empty())
    return;
  Drawn x = g.tame(g.number(1, 4), 4), y = g.tame(g.like(x), 4);
  size_t dim = g.random.below(static_cast<int64_t>(x.rank()));
  Sharding split = Sharding::replicatedOver(x.rank());
  split.dims[dim].axes = {parts[0]};
  auto constrain = [&](const Drawn &value, const Sharding &sharding) {
    return g.emitShort("sharding_constraint", value.name,
                       {value.shape, "f64", value.exact, value.bound},
                       g.shardingText(sharding));
  };
  x = constrain(x, split);
  y = constrain(y, split);
  std::string letters = std::string("abcdefgh").substr(0, x.rank());
  std::string kept = letters;
  Made made{x.shape, "f64", false,
            x.bound * y.bound * static_cast<double>(x.shape[dim])};
  kept.erase(dim, 1);
  made.shape.erase(made.shape.begin() + static_cast<int64_t>(dim));
  Drawn product = g.emit("einsum",
                         "\"" + letters + "," + letters + "->" + kept + "\" " +
                             x.name + ", " + y.name,
                         {x, y}, {made})
                      .front();
  // Other uses could claim the axis for something else.
  g.hide(1);
  Sharding terms = Sharding::replicatedOver(made.shape.size());
  terms.unreduced = {parts[0]};
  constrain(product, terms);
}

struct Maker {
  void (*make)(RandomGraph &);
  int weight;
};

const Maker makers[] = {
    {makeSign, 3},          {makeSmooth, 5},       {makeGuarded, 3},
    {makeFloor, 1},         {makeActivation, 5},   {makeArithmetic, 8},
    {makeQuotient, 2},      {makePower, 1},        {makeTruth, 2},
    {makeSelect, 3},        {makeCast, 4},         {makeSum, 8},
    {makeEinsum, 22},       {makeReduce, 7},       {makeCumulativeSum, 3},
    {makeReshape, 10},      {makeTranspose, 6},    {makeBroadcast, 5},
    {makeSlice, 5},         {makeConcat, 4},       {makePad, 3},
    {makeIota, 2},          {makeConstant, 3},     {makeGather, 5},
    {makeScatterAdd, 4},    {makeEmbedding, 4},    {makeUpdateSlice, 3},
    {makeEmbeddingGrad, 3}, {makeCrossEntropy, 5}, {makeAdamW, 2},
    {makeSgd, 1},           {makeTopK, 4},         {makeSample, 1},
    {makeNorm, 8},          {makeSoftmax, 3},      {makeRope, 4},
    {makeAttention, 6},     {makeConstraint, 9},   {makeTerms, 3},
};

} // namespace

void makeRandomOperation(RandomGraph &graph) {
  int64_t total = 0;
  for (const Maker &maker : makers)
    total += maker.weight;
  int64_t drawn = graph.random.below(total);
  for (const Maker &maker : makers)
    if ((drawn -= maker.weight) < 0)
      return maker.make(graph);
}

} // namespace tandem::test
