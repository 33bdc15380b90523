#include "passes/emit/EmitPlan.h"

#include "ir/Actions.h"
#include "ir/Buffers.h"
#include "runtime/mesh/Collectives.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <limits>
#include <map>

using namespace mlir;

namespace tandem {
namespace {

constexpr int64_t kAlignment = 64;

RankedTensorType tensorOf(Value buffer) {
  return cast<BufferType>(buffer.getType()).getTensor();
}

uint64_t aligned(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// A fact's value as text: numbers, words, comma-separated lists.
std::string factText(Attribute attr) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto word = dyn_cast<StringAttr>(attr)) {
    stream << word.getValue();
  } else if (auto flag = dyn_cast<BoolAttr>(attr)) {
    stream << (flag.getValue() ? 1 : 0);
  } else if (auto number = dyn_cast<IntegerAttr>(attr)) {
    stream << number.getValue();
  } else if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attr)) {
    llvm::interleave(numbers.asArrayRef(), stream, ",");
  } else if (auto list = dyn_cast<ArrayAttr>(attr)) {
    llvm::interleave(
        list, stream, [&](Attribute item) { stream << factText(item); }, ",");
  } else {
    stream << attr;
  }
  return text;
}

class Emitter {
public:
  Emitter(ModuleOp module, const std::string &model)
      : module(module), mesh(meshOf(module)), builder(mesh) {
    builder.plan.model = model;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        functions.push_back(function);
  }

  Result<fb::PlanT> run() {
    for (func::FuncOp function : functions) {
      TANDEM_TRY(checkPlaced(function));
      TANDEM_TRY(checkFits(function));
      declare(function);
    }
    place();
    for (func::FuncOp function : functions)
      emit(function);
    TANDEM_TRY(addFacts());
    return std::move(builder.plan);
  }

private:
  size_t stages() const { return builder.plan.memory.size(); }

  static Status checkPlaced(func::FuncOp function) {
    if (!function->hasAttr("tandem.arena_peak") ||
        !function->hasAttr("tandem.entry") || !function->hasAttr("tandem.pp"))
      return Status::refused("function '" + function.getName().str() +
                             "' is not placed; run tandem-place-buffers first");
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (!function.getArgAttr(i, TandemDialect::kParameter) &&
          !function.getArgAttr(i, TandemDialect::kState) &&
          !function.getArgAttr(i, "tandem.offset"))
        return Status::refused(
            "argument " + std::to_string(i) + " of function '" +
            function.getName().str() +
            "' is nothing that a plan holds; expected tandem.input, "
            "tandem.parameter or tandem.state on it");
    return Status();
  }

  /// Instructions are structs whose counts have few bits.
  static Status checkFits(func::FuncOp function) {
    for (Operation &op : function.getBody().front()) {
      std::optional<int64_t> layer = layerOf(&op);
      if (layer && isa<LaunchOp, CommunicateOp>(op))
        TANDEM_TRY(fits<int16_t>(op, "the layer", *layer));
      if (auto launch = dyn_cast<LaunchOp>(op)) {
        TANDEM_TRY(fits<uint16_t>(op, "inputs", launch.getInputs().size()));
        TANDEM_TRY(fits<uint16_t>(op, "outputs", launch.getOutputs().size()));
        TANDEM_TRY(fits<uint16_t>(op, "numbers", launch.getNumbers().size()));
      }
      if (auto communicate = dyn_cast<CommunicateOp>(op)) {
        TANDEM_TRY(fits<uint8_t>(op, "the dimension", communicate.getDim()));
        TANDEM_TRY(
            fits<uint8_t>(op, "the dimension", communicate.getFromDim()));
      }
    }
    return Status();
  }

  template <typename Field>
  static Status fits(Operation &op, const char *what, int64_t number) {
    constexpr int64_t most = std::numeric_limits<Field>::max();
    if (number >= std::numeric_limits<Field>::min() && number <= most)
      return Status();
    return Status::refused(
        locationText(op.getLoc()) + ": " + what + " of '" +
        op.getName().getStringRef().str() + "': got " + std::to_string(number) +
        ", a plan's instruction holds at most " + std::to_string(most));
  }

  static uint32_t stageOf(func::FuncOp function) {
    return static_cast<uint32_t>(
        function->getAttrOfType<IntegerAttr>("tandem.pp").getInt());
  }

  uint32_t typeOf(Value buffer) {
    return builder.type(tensorTypeOf(tensorOf(buffer), mesh));
  }

  //===--------------------------------------------------------------------===//
  // Parameters and states
  //===--------------------------------------------------------------------===//

  /// Takes note of the parameters and states of one function.
  void declare(func::FuncOp function) {
    uint32_t stage = stageOf(function);
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (auto view = function.getArgAttrOfType<ViewAttr>(
              i, TandemDialect::kParameter)) {
        uint32_t index = parameterOf(view, argument);
        hold(builder.plan.parameters, index, stage);
        if (function.getArgAttr(i, TandemDialect::kAliases))
          builder.plan.parameters[index]->trained = true;
      }
      if (auto state =
              function.getArgAttrOfType<StringAttr>(i, TandemDialect::kState))
        hold(builder.plan.states, stateOf(state, argument), stage);
    }
  }

  template <typename Tables>
  static void hold(Tables &tables, uint32_t index, uint32_t stage) {
    std::vector<uint32_t> &list = tables[index]->stages;
    auto at = std::lower_bound(list.begin(), list.end(), stage);
    if (at == list.end() || *at != stage)
      list.insert(at, stage);
  }

  uint32_t parameterOf(ViewAttr view, Value argument) {
    auto [it, added] =
        parameters.try_emplace({view, argument.getType()}, parameters.size());
    if (!added)
      return it->second;
    parameterOfView.try_emplace(view, it->second);
    auto made = std::make_unique<fb::ParameterT>();
    RankedTensorType tensor = tensorOf(argument);
    SmallVector<int64_t> shape = globalShape(tensor);
    ArrayRef<int64_t> stored =
        view.getStoredShape().empty() ? shape : view.getStoredShape();
    made->key = view.getKey().str();
    int count = ++uses[made->key];
    made->name =
        count == 1 ? made->key : made->key + "#" + std::to_string(count);
    std::optional<DType> storedType;
    if (view.getStoredType())
      storedType = parseDType(view.getStoredType().getValue().str());
    made->stored_dtype = static_cast<uint8_t>(
        storedType.value_or(dtypeOf(tensor.getElementType())));
    made->stored_shape = toVector(stored);
    int64_t offset = 0;
    SmallVector<int64_t> strides;
    view.getStrides(stored, offset, strides);
    made->view_offset = static_cast<uint64_t>(offset);
    made->view_strides = toVector(strides);
    made->type = typeOf(argument);
    auto block = cast<BlockArgument>(argument);
    auto function = cast<func::FuncOp>(block.getOwner()->getParentOp());
    if (auto initial = function.getArgAttrOfType<DenseF64ArrayAttr>(
            block.getArgNumber(), TandemDialect::kInitial)) {
      made->initial_mean = initial[0];
      made->initial_deviation = initial[1];
    }
    builder.plan.parameters.push_back(std::move(made));
    return it->second;
  }

  uint32_t stateOf(StringAttr state, Value argument) {
    auto [it, added] = states.try_emplace(state, states.size());
    if (added) {
      auto made = std::make_unique<fb::StateT>();
      made->name = state.getValue().str();
      made->type = typeOf(argument);
      builder.plan.states.push_back(std::move(made));
    }
    return it->second;
  }

  /// Lays parameters, then states, one behind the other on each stage.
  void place() {
    std::vector<uint64_t> end(stages(), 0);
    std::map<uint32_t, uint64_t> bytes; // by type
    auto lay = [&](auto &table, uint64_t fb::MemoryT::*sum) {
      auto [it, added] = bytes.try_emplace(table->type, 0);
      if (added)
        it->second = bytesOfType[table->type];
      for (uint32_t stage : table->stages) {
        table->offsets.push_back(end[stage]);
        end[stage] += aligned(it->second);
        (*builder.plan.memory[stage]).*sum += aligned(it->second);
      }
    };
    for (func::FuncOp function : functions)
      for (BlockArgument argument : function.getArguments()) {
        TensorType type = tensorTypeOf(tensorOf(argument), mesh);
        bytesOfType[builder.type(type)] =
            static_cast<uint64_t>(type.localBytes());
      }
    for (auto &parameter : builder.plan.parameters)
      lay(parameter, &fb::MemoryT::parameters);
    for (auto &state : builder.plan.states)
      lay(state, &fb::MemoryT::state);
  }

  //===--------------------------------------------------------------------===//
  // Programs
  //===--------------------------------------------------------------------===//

  fb::EntryT &entryOf(func::FuncOp function) {
    auto name = function->getAttrOfType<StringAttr>("tandem.entry");
    for (auto &entry : builder.plan.entries)
      if (entry->name == name.getValue())
        return *entry;
    auto made = std::make_unique<fb::EntryT>();
    made->name = name.getValue().str();
    auto number = [&](StringRef attr) {
      auto value = function->getAttrOfType<IntegerAttr>(attr);
      return value ? static_cast<uint64_t>(value.getInt()) : 0;
    };
    made->microbatches =
        static_cast<uint32_t>(Actions(function).microbatches());
    made->flops = number("tandem.flops");
    made->flops_unsharded = number("tandem.flops_unsharded");
    for (size_t stage = 0; stage < stages(); ++stage)
      made->programs.push_back(std::make_unique<fb::ProgramT>());
    builder.plan.entries.push_back(std::move(made));
    return *builder.plan.entries.back();
  }

  void emit(func::FuncOp function) {
    fb::EntryT &entry = entryOf(function);
    stage = stageOf(function);
    program = entry.programs[stage].get();
    actions = Actions(function);
    action = 0;
    current.clear();
    reshaped.clear();
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments())
      emitArgument(function, argument);
    for (BlockArgument argument : body.getArguments())
      if (auto input = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), TandemDialect::kInput))
        setPort(entry.inputs, input, argument, stage);
    for (Operation &op : body.without_terminator()) {
      if (isa<AllocOp, RenameOp, MicrobatchViewOp>(op))
        continue;
      endActionsBefore(Actions::of(&op));
      if (Actions::isLast(&op))
        program->last.push_back(
            static_cast<uint32_t>(program->instructions.size()));
      if (auto launch = dyn_cast<LaunchOp>(op))
        emitLaunch(launch);
      else if (auto communicate = dyn_cast<CommunicateOp>(op))
        emitCommunicate(communicate);
      else if (auto record = dyn_cast<RecordOp>(op))
        emitEvent(record, fb::Opcode::Record);
      else if (auto wait = dyn_cast<WaitOp>(op))
        emitEvent(wait, fb::Opcode::Wait);
    }
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (auto output = function.getResultAttrOfType<StringAttr>(
              i, TandemDialect::kOutput)) {
        fb::PortT &port = setPort(entry.outputs, output, value, stage);
        if (auto view = function.getResultAttrOfType<ViewAttr>(
                i, TandemDialect::kGradient))
          port.parameter = parameterOfView.lookup_or(view, kNone);
      }
    endActionsBefore(actions.size());
    emitSchedule(function);
    fb::MemoryT &memory = *builder.plan.memory[stage];
    auto number = [&](StringRef attr) {
      return static_cast<uint64_t>(
          function->getAttrOfType<IntegerAttr>(attr).getInt());
    };
    memory.arena_peak =
        std::max(memory.arena_peak, number("tandem.arena_peak"));
    memory.arena_lower_bound =
        std::max(memory.arena_lower_bound, number("tandem.arena_lower_bound"));
  }

  //===--- Actions --------------------------------------------------------===//

  /// A body that runs once is straight-line.
  bool repeats() const { return actions.microbatches() > 1; }

  void endActionsBefore(int64_t next) {
    if (!repeats())
      return;
    for (; action < next; ++action) {
      int64_t pool = actions.poolOf(action);
      builder.endAction(*program, actions.nameOf(action).str(),
                        pool < 0 ? kNone : static_cast<uint32_t>(pool));
    }
  }

  void emitSchedule(func::FuncOp function) {
    if (!repeats())
      return;
    for (const ScheduleItem &item : actions.schedule())
      program->schedule.emplace_back(static_cast<uint32_t>(item.action),
                                     static_cast<uint32_t>(item.microbatch),
                                     static_cast<uint32_t>(item.slot));
    auto slots =
        function->getAttrOfType<DenseI64ArrayAttr>(TandemDialect::kSlots);
    for (int64_t i = 0; slots && i + 2 < slots.size(); i += 3)
      program->pools.emplace_back(static_cast<uint64_t>(slots[i]),
                                  static_cast<uint64_t>(slots[i + 1]),
                                  static_cast<uint32_t>(slots[i + 2]));
  }

  /// Whether the running action updates the memory of `root` in place, as the
  /// others of its kind do: a sum over microbatches.
  bool isCarried(Value root) {
    Operation *op = root.getDefiningOp();
    return repeats() && actions.isBody(action) && op && !actions.isBody(op);
  }

  void emitArgument(func::FuncOp function, BlockArgument argument) {
    unsigned i = argument.getArgNumber();
    if (auto view =
            function.getArgAttrOfType<ViewAttr>(i, TandemDialect::kParameter))
      current[argument] =
          addValue(argument, fb::Region::Parameter,
                   parameters.at({view, argument.getType()}), 0);
    else if (auto state = function.getArgAttrOfType<StringAttr>(
                 i, TandemDialect::kState))
      current[argument] =
          addValue(argument, fb::Region::State, states.at(state), 0);
    else if (auto offset =
                 function.getArgAttrOfType<IntegerAttr>(i, "tandem.offset"))
      current[argument] = addValue(argument, fb::Region::Arena, 0,
                                   static_cast<uint64_t>(offset.getInt()));
  }

  uint32_t addValue(Value buffer, fb::Region region, uint32_t index,
                    uint64_t offset) {
    TensorType type = tensorTypeOf(tensorOf(buffer), mesh);
    auto bytes = static_cast<uint64_t>(type.localBytes());
    program->values.push_back(
        fb::Value(builder.type(type), index, offset, bytes, region));
    return static_cast<uint32_t>(program->values.size() - 1);
  }

  /// What a read of `buffer` finds: the value last written to its memory, or
  /// that one reshaped on the spot.
  uint32_t read(Value buffer) {
    Value root = rootOf(buffer);
    auto it = current.find(root);
    uint32_t owner = it != current.end() ? it->second : first(root);
    uint32_t type = typeOf(buffer);
    if (program->values[owner].type() == type)
      return owner;
    auto [known, added] = reshaped.try_emplace({owner, type}, 0);
    if (added)
      known->second = reshape(owner, buffer);
    return known->second;
  }

  /// The first value of a memory that nothing has written yet.
  uint32_t first(Value root) {
    auto view = root.getDefiningOp<MicrobatchViewOp>();
    if (!view)
      return write(root);
    uint32_t batch = read(view.getInput());
    return current[root] = addValue(root, fb::Region::Microbatch, batch, 0);
  }

  uint32_t reshape(uint32_t owner, Value buffer) {
    fb::Value from = program->values[owner];
    uint32_t to = addValue(buffer, from.region(), from.index(), from.offset());
    std::vector<int64_t> shape = toVector(globalShape(tensorOf(buffer)));
    uint32_t rule = builder.rule(
        reshapeRule(builder.plan.types[from.type()]->shape, shape));
    auto first = static_cast<uint32_t>(program->args.size());
    program->args.insert(program->args.end(), {owner, to});
    Operation *rename = buffer.getDefiningOp();
    program->instructions.push_back(fb::Instruction(
        fb::Opcode::Launch, fb::ReductionKind::Sum, 0, 0, /*stream=*/0,
        static_cast<int16_t>(layerOf(rename).value_or(-1)),
        builder.kernel("reshape"), 0, rule, first, 1, 1, 0, 0, 0,
        builder.string(""), builder.string(locationText(buffer.getLoc()))));
    return to;
  }

  /// A new value in the memory of `buffer`: each is written once.
  uint32_t write(Value buffer) {
    Value root = rootOf(buffer);
    uint32_t number;
    if (auto it = current.find(root); it != current.end()) {
      if (isCarried(root))
        return it->second;
      fb::Value old = program->values[it->second];
      number = addValue(buffer, old.region(), old.index(), old.offset());
    } else {
      auto alloc = cast<AllocOp>(root.getDefiningOp());
      std::optional<uint64_t> pool = alloc.getPool();
      number = addValue(buffer, pool ? fb::Region::Slot : fb::Region::Arena,
                        static_cast<uint32_t>(pool.value_or(0)),
                        static_cast<uint64_t>(*alloc.getOffset()));
    }
    current[root] = number;
    return number;
  }

  /// A workspace is private bytes of a rank.
  uint32_t workspaceOf(Value buffer) {
    uint32_t number = write(buffer);
    fb::Value &value = program->values[number];
    value.mutate_type(builder.bytesType(value.bytes()));
    return number;
  }

  template <typename Op>
  void addInstruction(Op op, ValueRange inputs, fb::Opcode opcode,
                      fb::ReductionKind reduction, uint32_t dim,
                      uint32_t fromDim, uint32_t target, uint32_t axes,
                      uint32_t rule, ArrayRef<int64_t> numbers, StringRef cause,
                      int64_t stream = 0) {
    std::vector<uint32_t> args;
    for (Value value : inputs)
      args.push_back(read(value));
    for (Value value : op.getOutputs())
      args.push_back(write(value));
    for (Value value : op.getWorkspace())
      args.push_back(workspaceOf(value));
    auto first = static_cast<uint32_t>(program->args.size());
    program->args.insert(program->args.end(), args.begin(), args.end());
    uint32_t firstNumber = builder.numbers(toVector(numbers));
    std::optional<int64_t> layer = layerOf(op);
    program->instructions.push_back(fb::Instruction(
        opcode, reduction, static_cast<uint8_t>(dim),
        static_cast<uint8_t>(fromDim), static_cast<uint16_t>(stream),
        static_cast<int16_t>(layer.value_or(-1)), target, axes, rule, first,
        static_cast<uint16_t>(inputs.size()),
        static_cast<uint16_t>(op.getOutputs().size()),
        static_cast<uint16_t>(op.getWorkspace().size()),
        static_cast<uint16_t>(numbers.size()), firstNumber,
        builder.string(cause.str()),
        builder.string(locationText(op.getLoc()))));
  }

  void emitLaunch(LaunchOp op) {
    addInstruction(op, op.getInputs(), fb::Opcode::Launch,
                   fb::ReductionKind::Sum, 0, 0,
                   builder.kernel(op.getKernel().str()), 0,
                   builder.rule(op.getRule().getRule()), op.getNumbers(), "");
  }

  void emitCommunicate(CommunicateOp op) {
    AxisList axes;
    if (op.getAxes())
      axes = op.getAxes()->getValue(mesh);
    auto reduction = fb::ReductionKind::Sum;
    if (!op.getInputs().empty())
      if (LocalAttr local = localOf(tensorOf(op.getInputs()[0])))
        reduction = static_cast<fb::ReductionKind>(local.getReduction());
    ValueRange inputs = op.getInputs();
    fb::Opcode opcode = opcodeOf(op.getCollective());
    if (opcode == fb::Opcode::Broadcast && !holdsRoot(axes, op.getTarget()))
      inputs = {};
    addInstruction(op, inputs, opcode, reduction, op.getDim(), op.getFromDim(),
                   op.getTarget(), builder.axisList(axes), 0, {}, op.getCause(),
                   op.getStream());
  }

  /// Whether the root of a broadcast is in the stage that is being written;
  /// the others have nothing to give.
  bool holdsRoot(const AxisList &axes, int64_t root) const {
    if (!mesh.has(kStageAxis))
      return true;
    AxisList along = {mesh.whole(kStageAxis)};
    int64_t rank = mesh.withCoordinate(0, along, stage);
    return mesh.coordinate(mesh.withCoordinate(rank, axes, root), along) ==
           stage;
  }

  template <typename Op> void emitEvent(Op op, fb::Opcode opcode) {
    program->instructions.push_back(fb::Instruction(
        opcode, fb::ReductionKind::Sum, op.getPerSlot() ? 1 : 0, 0,
        static_cast<uint16_t>(op.getStream()),
        static_cast<int16_t>(layerOf(op).value_or(-1)),
        static_cast<uint32_t>(op.getEvent()), 0, 0,
        static_cast<uint32_t>(program->args.size()), 0, 0, 0, 0, 0,
        builder.string(""), builder.string(locationText(op.getLoc()))));
  }

  static fb::Opcode opcodeOf(StringRef collective) {
    for (int kind = static_cast<int>(CollectiveKind::AllReduce);
         kind <= static_cast<int>(CollectiveKind::Recv); ++kind)
      if (collective == name(static_cast<CollectiveKind>(kind)))
        return static_cast<fb::Opcode>(kind);
    llvm_unreachable("lower-to-exec writes names of the table only");
  }

  fb::PortT &setPort(std::vector<std::unique_ptr<fb::PortT>> &ports,
                     StringAttr name, Value buffer, uint32_t stage) {
    fb::PortT *port = nullptr;
    for (auto &known : ports)
      if (known->name == name.getValue())
        port = known.get();
    if (!port) {
      auto made = std::make_unique<fb::PortT>();
      made->name = name.getValue().str();
      made->type = typeOf(buffer);
      made->values.assign(stages(), kNone);
      port = made.get();
      ports.push_back(std::move(made));
    }
    port->values[stage] = read(buffer);
    return *port;
  }

  //===--------------------------------------------------------------------===//
  // Where it came from
  //===--------------------------------------------------------------------===//

  Status addFacts() {
    if (auto facts = module->getAttrOfType<DictionaryAttr>("tandem.facts"))
      for (NamedAttribute fact : facts)
        builder.fact(fact.getName().str(), factText(fact.getValue()));
    TANDEM_TRY(addSources("tandem.sources", builder.plan.sources));
    return addSources("tandem.tokenizer", builder.plan.tokenizer);
  }

  Status addSources(StringRef attr,
                    std::vector<std::unique_ptr<fb::SourceT>> &sources) {
    auto list = module->getAttrOfType<ArrayAttr>(attr);
    if (!list)
      return Status();
    for (Attribute item : list) {
      auto source = dyn_cast<DictionaryAttr>(item);
      auto path = source ? source.getAs<StringAttr>("path") : StringAttr();
      auto size = source ? source.getAs<IntegerAttr>("size") : IntegerAttr();
      auto hash = source ? source.getAs<IntegerAttr>("hash") : IntegerAttr();
      auto fits = [](IntegerAttr number) {
        return number && number.getValue().getBitWidth() <= 64;
      };
      if (!path || !fits(size) || !fits(hash))
        return Status::refused("module attribute '" + attr.str() +
                               "': expected entries {hash, path, size}");
      auto made = std::make_unique<fb::SourceT>();
      made->path = path.getValue().str();
      made->size = size.getValue().getZExtValue();
      made->hash = hash.getValue().getZExtValue();
      sources.push_back(std::move(made));
    }
    return Status();
  }

  ModuleOp module;
  Mesh mesh;
  PlanBuilder builder;
  SmallVector<func::FuncOp> functions; // with a body
  std::map<std::string, int> uses;     // of a stored tensor, by key
  DenseMap<std::pair<Attribute, Type>, uint32_t> parameters;
  DenseMap<Attribute, uint32_t> parameterOfView, states;
  std::map<uint32_t, uint64_t> bytesOfType;
  // Of the program that is being written.
  fb::ProgramT *program = nullptr;
  uint32_t stage = 0;
  Actions actions;
  int64_t action = 0; ///< That instructions are added to.
  /// By buffer: the value that its memory holds.
  DenseMap<Value, uint32_t> current;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> reshaped; // to a type
};

} // namespace

std::string locationText(Location location) {
  if (auto named = dyn_cast<NameLoc>(location))
    return named.getName().str();
  if (auto file = dyn_cast<FileLineColRange>(location))
    return (file.getFilename().getValue() + ":" + Twine(file.getStartLine()) +
            ":" + Twine(file.getStartColumn()))
        .str();
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string text = locationText(part); !text.empty())
        return text;
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return locationText(call.getCallee());
  return "";
}

Result<fb::PlanT> emitPlan(ModuleOp module, const std::string &model) {
  return Emitter(module, model).run();
}

} // namespace tandem
