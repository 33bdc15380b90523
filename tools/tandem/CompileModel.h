//===- CompileModel.h - From a model or a module to a plan ------*- C++ -*-===//

#ifndef TANDEM_TOOLS_TANDEM_COMPILEMODEL_H
#define TANDEM_TOOLS_TANDEM_COMPILEMODEL_H

#include "tools/tandem/ModelOptions.h"

namespace tandem {

struct CompileOptions : ModelOptions {
  std::string mesh;     ///< Empty: one rank, or what the module declares.
  std::string annotate; ///< An annotation file; empty: the mesh's preset.
  bool sequenceParallel = false;
  int64_t zero = 0;          ///< ZeRO's stage, 0 to 3.
  std::string schedule;      ///< A pipeline schedule's name; empty: 1f1b.
  std::string scheduleFile;  ///< A table of actions, in place of a name.
  int64_t virtualStages = 1; ///< Stages of one `pp` coordinate.
  std::string recompute;     ///< none, selective, full or layers; empty: none.
  int64_t layoutInvariant = 0; ///< Pieces of sums; 0: as layouts make them.
  std::string dumpAfter, dumpDir;
  uint64_t memoryBytes = 0;      ///< Per rank; 0: no limit.
  int64_t maxReshardBytes = -1;  ///< Of one collective; -1: no limit.
  bool printAnnotations = false; ///< To stdout, in place of a plan.
};

/// The annotation lines that count for the model, as text.
Result<std::string> annotationsOf(const CompileOptions &options);
/// Compiles and proves. Diagnostics of passes go to stderr.
Result<std::shared_ptr<const Plan>> compileModel(const CompileOptions &options);

/// The flags that say how a model is laid out; `options` outlives the command.
void addLayoutOptions(CLI::App *command, CompileOptions &options);

void addCompile(Program &program);
void addImport(Program &program);

} // namespace tandem

#endif // TANDEM_TOOLS_TANDEM_COMPILEMODEL_H
