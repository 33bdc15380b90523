//===- CompileModel.h - From a model or a module to a plan ------*- C++ -*-===//

#ifndef TANDEM_TOOLS_TANDEM_COMPILEMODEL_H
#define TANDEM_TOOLS_TANDEM_COMPILEMODEL_H

#include "tools/commands/Command.h"

namespace tandem {

struct CompileOptions {
  std::string path;     ///< A model, or a module's .mlir file.
  std::string mesh;     ///< Empty: one rank, or what the module declares.
  std::string weights;  ///< Where the weights are, when elsewhere.
  std::string annotate; ///< An annotation file; empty: the mesh's preset.
  std::vector<std::string> settings; ///< config.key=value
  std::string entry;                 ///< Empty: generate.
  std::string dtype;                 ///< Empty: the source's.
  int64_t batch = 1;
  int64_t maxSeq = 0; ///< 0: the model's, at most 2048.
  std::string dumpAfter, dumpDir;
  uint64_t memoryBytes = 0;     ///< Per rank; 0: no limit.
  int64_t maxReshardBytes = -1; ///< Of one collective; -1: no limit.
  bool strict = false;
  bool printAnnotations = false; ///< To stdout, in place of a plan.
};

/// The annotation lines that count for the model, as text.
Result<std::string> annotationsOf(const CompileOptions &options);
/// Compiles and proves. Diagnostics of passes go to stderr.
Result<std::shared_ptr<const Plan>> compileModel(const CompileOptions &options);

void addCompile(Program &program);
void addImport(Program &program);

} // namespace tandem

#endif // TANDEM_TOOLS_TANDEM_COMPILEMODEL_H
