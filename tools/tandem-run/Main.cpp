#include "tools/commands/Command.h"

using namespace tandem;

int main(int argc, char **argv) {
  Program program("tandem-run", "Tandem: run finished plans");
  program.plans = std::make_unique<PlanLoader>();
  addInspect(program);
  addVerify(program);
  addRun(program);
  addGenerate(program);
  addTokenize(program);
  addBench(program);
  addTrain(program);
  addCheckpoint(program);
  return program.main(argc, argv);
}
