#include "tools/tandem/CompileModel.h"

using namespace tandem;

namespace {

/// Loads plans and compiles models.
class PlanCompiler : public PlanMaker {
public:
  void addTrainingFlags(CLI::App *command) override {
    CLI::Option_group *flags =
        command->add_option_group("For a model", "How it is compiled");
    training.defaultEntry = "train";
    addShapeOptions(flags, training);
    addLayoutOptions(flags, training);
    trainingFlags = flags;
  }

  Result<std::shared_ptr<const Plan>>
  make(const PlanRequest &request) override {
    if (isPlan(request.path)) {
      TANDEM_TRY(refuseFlags(request));
      return PlanLoader().make(request);
    }
    CompileOptions options;
    if (request.training) {
      options = training;
      options.weights = request.weights;
      options.evaluation |= request.evaluation;
    } else {
      options.mesh = request.mesh;
      options.dtype = request.dtype;
      options.batch = request.batch;
      options.maxSeq = request.maxSeq;
    }
    options.path = request.path;
    return compileModel(options);
  }

private:
  Status refuseFlags(const PlanRequest &request) const {
    if (!request.mesh.empty() || !request.dtype.empty())
      return Status::usage("--mesh and --dtype are for models; the plan '" +
                           request.path + "' has its own");
    if (!request.training)
      return Status();
    for (const CLI::Option *option : trainingFlags->get_options())
      if (option->count() > 0)
        return Status::usage(option->get_name() + " is for models; the plan '" +
                             request.path + "' has its own");
    return Status();
  }

  CompileOptions training;
  CLI::App *trainingFlags = nullptr;
};

} // namespace

int main(int argc, char **argv) {
  Program program("tandem", "Tandem: compile transformer graphs into plans for "
                            "many ranks, and run them");
  program.plans = std::make_unique<PlanCompiler>();
  addImport(program);
  addCompile(program);
  addInspect(program);
  addVerify(program);
  addRun(program);
  addGenerate(program);
  addTokenize(program);
  addBench(program);
  addTrain(program);
  addCheckpoint(program);
  addSchedule(program);
  return program.main(argc, argv);
}
