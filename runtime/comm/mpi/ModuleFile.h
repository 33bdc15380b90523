//===- ModuleFile.h - Finding and loading libtandem_mpi.so ------*- C++ -*-===//
//
// The module is looked for beside the program, in ../lib, and beside the
// library that holds this code, in this order; nowhere else, so that what
// runs is what was installed together.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_MPI_MODULEFILE_H
#define TANDEM_RUNTIME_COMM_MPI_MODULEFILE_H

#include "runtime/base/Status.h"
#include "runtime/comm/mpi/MpiAbi.h"

#include <string>

namespace tandem {

/// The table of the module at `path`, or of the one that is found where
/// `path` is empty. The module stays loaded.
Result<const TandemMpiTable *> loadMpiTable(const std::string &path);

/// MPI's words for one of its error codes.
std::string describe(const TandemMpiTable &table, int code);

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_MPI_MODULEFILE_H
