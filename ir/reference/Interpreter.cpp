#include "ir/reference/Interpreter.h"
#include "ir/Actions.h"
#include "ir/Microbatches.h"
#include "ir/reference/Distribution.h"
#include "ir/reference/Exchange.h"

#include <deque>
#include <memory>

using namespace mlir;

namespace tandem {
namespace {

constexpr StringLiteral kEntry = "tandem.entry";
constexpr StringLiteral kPp = "tandem.pp";

/// An operation that runs, for a microbatch where it is of the body.
struct Turn {
  Operation *op = nullptr;
  int64_t microbatch = -1; ///< -1: once a step.
};

/// What one rank knows: values of a step, and those of each microbatch.
struct RankValues {
  DenseMap<Value, Tensor> ofStep;
  std::vector<DenseMap<Value, Tensor>> ofMicrobatch;

  const Tensor &get(Value value, int64_t microbatch) const {
    if (microbatch >= 0) {
      const DenseMap<Value, Tensor> &own =
          ofMicrobatch[static_cast<size_t>(microbatch)];
      if (auto it = own.find(value); it != own.end())
        return it->second;
    }
    return ofStep.find(value)->second;
  }

  /// A sum over microbatches grows, any other value is new.
  void set(Value value, int64_t microbatch, Tensor tensor) {
    if (value.getDefiningOp<AccumulateOp>()) {
      auto [it, first] = ofStep.try_emplace(value, tensor);
      if (!first)
        for (size_t i = 0; i < tensor.data().size(); ++i)
          it->second.data()[i] += tensor.data()[i];
      return;
    }
    DenseMap<Value, Tensor> &own =
        microbatch < 0 ? ofStep : ofMicrobatch[static_cast<size_t>(microbatch)];
    own[value] = std::move(tensor);
  }
};

/// One function and the ranks that run it, all at the same operation.
struct Program {
  func::FuncOp function;
  std::vector<int64_t> ranks;
  std::vector<Turn> turns;
  size_t next = 0;
  std::vector<RankValues> values; ///< One for each of `ranks`.

  bool isDone() const { return next == turns.size(); }
  Operation *op() const { return turns[next].op; }
  const Tensor &get(size_t rank, Value value) const {
    return values[rank].get(value, turns[next].microbatch);
  }
  void set(size_t rank, Value value, Tensor tensor) {
    values[rank].set(value, turns[next].microbatch, std::move(tensor));
  }
};

/// In the order of the schedule.
std::vector<Turn> turnsOf(func::FuncOp function, const Actions &actions) {
  std::vector<std::vector<Operation *>> ops(actions.size());
  for (Operation &op : function.getBody().front().without_terminator())
    ops[Actions::of(&op)].push_back(&op);
  std::vector<Turn> turns;
  for (const ScheduleItem &item : actions.schedule())
    for (Operation *op : ops[item.action])
      turns.push_back({op, actions.isBody(item.action) ? item.microbatch : -1});
  return turns;
}

/// Prologue, the body for each microbatch, epilogue.
std::vector<Turn> turnsOf(func::FuncOp function, const StepParts &parts) {
  std::vector<Turn> turns;
  auto add = [&](StepPart part, int64_t microbatch) {
    for (Operation &op : function.getBody().front().without_terminator())
      if (parts.of(&op) == part)
        turns.push_back({&op, microbatch});
  };
  add(StepPart::Prologue, -1);
  for (int64_t i = 0; i < parts.microbatches(); ++i)
    add(StepPart::Body, i);
  add(StepPart::Epilogue, -1);
  return turns;
}

/// A tensor under way between two ranks.
struct Message {
  SendOp send;
  Tensor tensor;
};

enum class Outcome { Advanced, Waits, Failed };

/// Runs programs to their ends.
class Machine {
public:
  Machine(const Mesh &mesh, std::vector<Program> programs)
      : mesh(mesh), programs(std::move(programs)) {}

  LogicalResult run() {
    while (true) {
      bool advanced = false, done = true;
      for (Program &program : programs) {
        if (failed(advance(program, advanced)))
          return failure();
        done = done && program.isDone();
      }
      if (done)
        return expectAllReceived();
      if (!advanced && failed(meetAcrossStages()))
        return failure();
    }
  }

  std::vector<Program> &finished() { return programs; }

private:
  LogicalResult advance(Program &program, bool &advanced) {
    while (!program.isDone()) {
      Outcome outcome = step(program, program.op());
      if (outcome == Outcome::Failed)
        return failure();
      if (outcome == Outcome::Waits)
        break;
      ++program.next;
      advanced = true;
    }
    return success();
  }

  Outcome step(Program &program, Operation *op) {
    if (auto recv = dyn_cast<RecvOp>(op))
      return receive(program, recv);
    if (auto send = dyn_cast<SendOp>(op))
      return post(program, send);
    if (std::optional<Collective> collective = collectiveOf(op, mesh)) {
      if (crossesStages(*collective))
        return Outcome::Waits;
      return outcome(runCollective({&program}));
    }
    return outcome(compute(program, op));
  }

  static Outcome outcome(LogicalResult result) {
    return succeeded(result) ? Outcome::Advanced : Outcome::Failed;
  }

  bool crossesStages(const Collective &collective) const {
    return programs.size() > 1 &&
           llvm::any_of(collective.axes,
                        [](const AxisRef &axis) { return axis.name == "pp"; });
  }

  LogicalResult compute(Program &program, Operation *op) {
    auto reference = dyn_cast<ReferenceOpInterface>(op);
    if (!reference)
      return op->emitOpError("has no meaning for the reference evaluator");
    for (size_t r = 0; r < program.ranks.size(); ++r) {
      SmallVector<const Tensor *> operands;
      for (Value operand : op->getOperands())
        operands.push_back(&program.get(r, operand));
      std::vector<Tensor> results;
      for (Type type : op->getResultTypes())
        results.emplace_back(dimsOf(type, mesh, program.ranks[r]));
      if (auto slice = dyn_cast<MicrobatchOp>(op))
        slice.evaluateAt(program.turns[program.next].microbatch, *operands[0],
                         results[0]);
      else if (failed(reference.evaluate(operands, results)))
        return failure();
      for (auto [value, tensor] : llvm::zip(op->getResults(), results))
        program.set(r, value, std::move(tensor));
    }
    return success();
  }

  LogicalResult runCollective(ArrayRef<Program *> meeting) {
    std::map<int64_t, Participant> participants;
    for (Program *program : meeting)
      for (size_t r = 0; r < program->ranks.size(); ++r) {
        Operation *op = program->op();
        participants[program->ranks[r]] = {op,
                                           &program->get(r, op->getOperand(0))};
      }
    auto results = communicate(participants, mesh);
    if (failed(results))
      return failure();
    for (Program *program : meeting)
      for (size_t r = 0; r < program->ranks.size(); ++r)
        program->set(r, program->op()->getResult(0),
                     std::move(results->find(program->ranks[r])->second));
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Between stages
  //===--------------------------------------------------------------------===//

  int64_t rankAt(int64_t rank, int64_t stage) const {
    return mesh.withCoordinate(rank, {mesh.whole("pp")}, stage);
  }

  LogicalResult expectPeer(Operation *op, int64_t peer) {
    int64_t stages = mesh.sizeOf("pp");
    if (mesh.has("pp") && peer >= 0 && peer < stages)
      return success();
    return op->emitOpError()
           << "peer is " << peer << ", expected 0 to " << stages - 1;
  }

  Outcome post(Program &program, SendOp send) {
    if (failed(expectPeer(send, send.getPeer())))
      return Outcome::Failed;
    for (size_t r = 0; r < program.ranks.size(); ++r) {
      int64_t to = rankAt(program.ranks[r], send.getPeer());
      messages[{program.ranks[r], to, send.getLane()}].push_back(
          {send, program.get(r, send.getInput())});
    }
    return Outcome::Advanced;
  }

  Outcome receive(Program &program, RecvOp recv) {
    if (failed(expectPeer(recv, recv.getPeer())))
      return Outcome::Failed;
    for (int64_t rank : program.ranks)
      if (messages[{rankAt(rank, recv.getPeer()), rank, recv.getLane()}]
              .empty())
        return Outcome::Waits;
    for (size_t r = 0; r < program.ranks.size(); ++r) {
      int64_t rank = program.ranks[r];
      auto &queue =
          messages[{rankAt(rank, recv.getPeer()), rank, recv.getLane()}];
      Message message = std::move(queue.front());
      queue.pop_front();
      if (message.send.getInput().getType() != recv.getResult().getType())
        return outcome(mismatch(recv, message.send));
      program.set(r, recv.getResult(), std::move(message.tensor));
    }
    return Outcome::Advanced;
  }

  static LogicalResult mismatch(RecvOp recv, SendOp send) {
    InFlightDiagnostic error = recv.emitOpError()
                               << "receives " << send.getInput().getType();
    error.attachNote(send.getLoc()) << "from here";
    return error;
  }

  /// Every program waits: either all for one collective, or for each other.
  LogicalResult meetAcrossStages() {
    std::vector<Program *> meeting;
    for (Program &program : programs)
      if (!program.isDone()) {
        if (!collectiveOf(program.op(), mesh))
          return deadlock();
        meeting.push_back(&program);
      }
    for (Program *program : meeting)
      if (program->op()->getName() != meeting[0]->op()->getName())
        return deadlock();
    if (failed(runCollective(meeting)))
      return failure();
    for (Program *program : meeting)
      ++program->next;
    return success();
  }

  LogicalResult deadlock() {
    std::optional<InFlightDiagnostic> error;
    for (Program &program : programs) {
      if (program.isDone())
        continue;
      Operation *op = program.op();
      if (!error)
        error.emplace(op->emitOpError("waits forever: stages wait for each "
                                      "other"));
      else
        error->attachNote(op->getLoc())
            << program.function.getName() << " waits at '" << op->getName()
            << "'";
    }
    return *error;
  }

  LogicalResult expectAllReceived() {
    for (auto &[way, queue] : messages)
      if (!queue.empty())
        return queue.front().send.emitOpError()
               << "of rank " << std::get<0>(way) << " to rank "
               << std::get<1>(way) << " is never received";
    return success();
  }

  const Mesh &mesh;
  std::vector<Program> programs;
  /// By sender, receiver and lane.
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<Message>> messages;
};

//===----------------------------------------------------------------------===//
// Around a run
//===----------------------------------------------------------------------===//

bool isDistributed(func::FuncOp function) {
  auto isLocal = [](Type type) { return bool(localOf(type)); };
  if (function->hasAttr(kPp) ||
      llvm::any_of(function.getArgumentTypes(), isLocal) ||
      llvm::any_of(function.getResultTypes(), isLocal))
    return true;
  return function
      .walk([&](Operation *op) {
        return WalkResult(failure(llvm::any_of(op->getResultTypes(), isLocal)));
      })
      .wasInterrupted();
}

/// The ranks that run `function`: all, or those of its `pp` coordinate.
std::vector<int64_t> ranksOf(func::FuncOp function, const Mesh &mesh) {
  auto stage = function->getAttrOfType<IntegerAttr>(kPp);
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    if (!stage || !mesh.has("pp") ||
        mesh.coordinate(rank, mesh.whole("pp")) == stage.getInt())
      ranks.push_back(rank);
  return ranks;
}

size_t countOf(const Tensor &tensor) { return tensor.data().size(); }

LogicalResult expectInput(func::FuncOp function, unsigned index,
                          const Tensor *input) {
  std::string name = argumentName(function, index);
  if (!input)
    return function.emitOpError() << "has no value for its argument " << name;
  int64_t count = 1;
  for (int64_t size : globalShape(function.getArgumentTypes()[index]))
    count *= size;
  if (static_cast<int64_t>(countOf(*input)) == count)
    return success();
  return function.emitOpError()
         << "got " << countOf(*input) << " elements for its argument " << name
         << ", expected " << count;
}

using InputOf = function_ref<const Tensor *(func::FuncOp, unsigned)>;

FailureOr<Program> prepare(func::FuncOp function, const Mesh &mesh,
                           InputOf inputOf) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitOpError("has no body of one block");
  Program program;
  program.function = function;
  program.ranks = ranksOf(function, mesh);
  StepParts parts(function);
  if (failed(parts.verify()) || failed(Actions::verify(function)))
    return failure();
  Actions actions(function);
  program.turns =
      actions.empty() ? turnsOf(function, parts) : turnsOf(function, actions);
  int64_t microbatches =
      actions.empty() ? parts.microbatches() : actions.microbatches();
  program.values.resize(program.ranks.size());
  for (RankValues &values : program.values)
    values.ofMicrobatch.resize(static_cast<size_t>(microbatches));
  for (BlockArgument argument : function.getArguments()) {
    const Tensor *input = inputOf(function, argument.getArgNumber());
    if (failed(expectInput(function, argument.getArgNumber(), input)))
      return failure();
    for (size_t r = 0; r < program.ranks.size(); ++r)
      program.values[r].ofStep.insert(
          {argument, cut(*input, argument.getType(), mesh, program.ranks[r])});
  }
  return program;
}

/// The results of all programs, put together by name.
FailureOr<NamedTensors> collect(ArrayRef<Program> programs, const Mesh &mesh) {
  std::map<std::string, std::unique_ptr<Joiner>> joiners;
  auto bad = [](Program &program, const Status &status) {
    return program.function.emitOpError(status.message());
  };
  Program last = programs.back();
  for (Program program : programs) {
    Operation *end = program.function.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands())) {
      std::string name = resultName(program.function, i);
      auto &joiner = joiners[name];
      if (!joiner)
        joiner = std::make_unique<Joiner>(name, value.getType(), mesh);
      for (size_t r = 0; r < program.ranks.size(); ++r) {
        Status status =
            joiner->add(program.values[r].get(value, -1), program.ranks[r]);
        if (!status.ok())
          return bad(program, status);
      }
    }
  }
  NamedTensors results;
  for (auto &[name, joiner] : joiners) {
    Result<Tensor> tensor = joiner->join();
    if (!tensor.ok())
      return bad(last, tensor.status());
    results.emplace(name, std::move(*tensor));
  }
  return results;
}

FailureOr<NamedTensors> runAll(ArrayRef<func::FuncOp> functions,
                               InputOf inputOf) {
  Mesh mesh;
  if (llvm::any_of(functions, isDistributed))
    mesh = meshOf(functions.front());
  std::vector<Program> programs;
  for (func::FuncOp function : functions) {
    FailureOr<Program> program = prepare(function, mesh, inputOf);
    if (failed(program))
      return failure();
    programs.push_back(std::move(*program));
  }
  Machine machine(mesh, std::move(programs));
  if (failed(machine.run()))
    return failure();
  return collect(machine.finished(), mesh);
}

std::string attributeText(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.str();
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

struct NameSource {
  StringRef attribute;
  const char *prefix;
};

/// The first of `choices` that `get` finds, with its prefix.
template <typename Get>
std::string firstName(ArrayRef<NameSource> choices, Get get,
                      const std::string &otherwise) {
  for (const NameSource &choice : choices)
    if (Attribute attribute = get(choice.attribute))
      return choice.prefix + attributeText(attribute);
  return otherwise;
}

} // namespace

std::string argumentName(func::FuncOp function, unsigned index) {
  auto get = [&](StringRef name) { return function.getArgAttr(index, name); };
  return firstName({{TandemDialect::kParameter, "parameter:"},
                    {TandemDialect::kInput, "input:"},
                    {TandemDialect::kState, "state:"}},
                   get, "argument:" + std::to_string(index));
}

std::string resultName(func::FuncOp function, unsigned index) {
  auto get = [&](StringRef name) {
    return function.getResultAttr(index, name);
  };
  std::string numbered = "result:" + std::to_string(index);
  std::string name = firstName(
      {{TandemDialect::kOutput, "output:"}, {TandemDialect::kState, "state:"}},
      get, numbered);
  if (name != numbered)
    return name;
  // A state's new value may be known by what it replaces only.
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto aliases =
        function.getArgAttrOfType<IntegerAttr>(i, TandemDialect::kAliases);
    if (aliases && aliases.getInt() == index)
      return argumentName(function, i);
  }
  return name;
}

std::vector<func::FuncOp> functionsOf(ModuleOp module, StringRef entry) {
  std::vector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto name = function->getAttrOfType<StringAttr>(kEntry);
    if (name ? name.getValue() == entry : function.getName() == entry)
      functions.push_back(function);
  }
  return functions;
}

std::vector<std::string> entriesOf(ModuleOp module) {
  std::vector<std::string> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto attr = function->getAttrOfType<StringAttr>(kEntry);
    std::string name = attr ? attr.str() : function.getName().str();
    if (!function.isExternal() && !llvm::is_contained(entries, name))
      entries.push_back(name);
  }
  return entries;
}

FailureOr<NamedTensors> evaluateEntry(ModuleOp module, StringRef entry,
                                      const NamedTensors &inputs) {
  std::vector<func::FuncOp> functions = functionsOf(module, entry);
  if (functions.empty())
    return module.emitError() << "has no entry '" << entry << "'";
  return runAll(functions, [&](func::FuncOp function, unsigned index) {
    auto found = inputs.find(argumentName(function, index));
    return found == inputs.end() ? nullptr : &found->second;
  });
}

FailureOr<std::vector<Tensor>> evaluate(func::FuncOp function,
                                        ArrayRef<Tensor> inputs) {
  auto named = runAll(function, [&](func::FuncOp, unsigned index) {
    return index < inputs.size() ? &inputs[index] : nullptr;
  });
  if (failed(named))
    return failure();
  std::vector<Tensor> results;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    results.push_back(named->find(resultName(function, i))->second);
  return results;
}

} // namespace tandem
