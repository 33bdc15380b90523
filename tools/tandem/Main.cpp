#include "tools/tandem/CompileModel.h"

using namespace tandem;

namespace {

/// Loads plans and compiles models.
class PlanCompiler : public PlanMaker {
public:
  Result<std::shared_ptr<const Plan>>
  make(const PlanRequest &request) override {
    if (isPlan(request.path)) {
      if (!request.mesh.empty() || !request.dtype.empty())
        return Status::usage("--mesh and --dtype are for models; the plan '" +
                             request.path + "' has its own");
      return PlanLoader().make(request);
    }
    CompileOptions options;
    options.path = request.path;
    options.mesh = request.mesh;
    options.dtype = request.dtype;
    options.batch = request.batch;
    options.maxSeq = request.maxSeq;
    return compileModel(options);
  }
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
  addCheckpoint(program);
  return program.main(argc, argv);
}
