//===- MpiAbi.h - What the MPI module offers the runtime --------*- C++ -*-===//
//
// What it is: a table of C functions, the only thing that crosses from
// libtandem_mpi.so to the runtime. No class, no exception and no MPI type
// does, so that the module can be built against another MPI than the one the
// runtime was tested with, and the collectives are the runtime's own code.
//
// Of MPI only what cannot block is used between `open` and `close`. Every
// function returns 0 or MPI's error code; `describe` turns it into words.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_MPI_MPIABI_H
#define TANDEM_RUNTIME_COMM_MPI_MPIABI_H

#include <cstddef>
#include <cstdint>

extern "C" {

/// Changes whenever TandemMpiTable does.
#define TANDEM_MPI_ABI 1u

struct TandemMpiWorld {
  int32_t rank;
  int32_t size;
  int32_t tagLimit;       ///< The largest tag that may be used.
  int32_t threadsMayCall; ///< 0: the caller serialises all calls.
};

/// A message in flight: MPI's handle, whatever its width.
struct TandemMpiRequest {
  uint64_t handle;
};

struct TandemMpiTable {
  uint32_t abi;
  int (*open)(TandemMpiWorld *world);
  int (*close)();
  int (*send)(const void *data, int32_t bytes, int32_t to, int32_t tag,
              TandemMpiRequest *request);
  /// Done only once the receiver has met it.
  int (*sendMatched)(const void *data, int32_t bytes, int32_t to, int32_t tag,
                     TandemMpiRequest *request);
  int (*receive)(void *data, int32_t bytes, int32_t from, int32_t tag,
                 TandemMpiRequest *request);
  /// Sets `done`; when done, `bytes` is what a receive got.
  int (*test)(TandemMpiRequest *request, int32_t *done, int32_t *bytes);
  void (*describe)(int code, char *text, size_t bytes);
  /// The library and its version, one line.
  void (*version)(char *text, size_t bytes);
};

/// The module's one symbol: its table, or null where it has not that ABI.
typedef const TandemMpiTable *(*TandemMpiFactory)(uint32_t abi);
#define TANDEM_MPI_FACTORY "tandemMpiTable"

} // extern "C"

#endif // TANDEM_RUNTIME_COMM_MPI_MPIABI_H
