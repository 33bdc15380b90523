//===- MpiTable.cpp - The module: MPI behind a table of C functions -------===//

#include "runtime/comm/mpi/MpiAbi.h"

#include <climits>
#include <cstring>
#include <mpi.h>

namespace {

// Tandem's own communicator, so that no other user of MPI in the process can
// meet its messages.
MPI_Comm tandemComm = MPI_COMM_NULL;

static_assert(sizeof(MPI_Request) <= sizeof(uint64_t),
              "a request fits its handle");

void store(TandemMpiRequest *request, MPI_Request value) {
  request->handle = 0;
  std::memcpy(&request->handle, &value, sizeof value);
}

int openWorld(TandemMpiWorld *world) {
  int initialised = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialised);
  if (initialised)
    MPI_Query_thread(&provided);
  else if (int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE,
                                      &provided))
    return code;
  if (int code = MPI_Comm_dup(MPI_COMM_WORLD, &tandemComm))
    return code;
  MPI_Comm_set_errhandler(tandemComm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

  int *limit = nullptr, found = 0;
  MPI_Comm_get_attr(tandemComm, MPI_TAG_UB, &limit, &found);
  world->tagLimit = found ? *limit : 32767;
  world->threadsMayCall = provided == MPI_THREAD_MULTIPLE;
  MPI_Comm_rank(tandemComm, &world->rank);
  MPI_Comm_size(tandemComm, &world->size);
  return MPI_SUCCESS;
}

int closeWorld() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (finalised || tandemComm == MPI_COMM_NULL)
    return MPI_SUCCESS;
  MPI_Comm_free(&tandemComm);
  return MPI_Finalize();
}

int sendBytes(const void *data, int32_t bytes, int32_t to, int32_t tag,
              TandemMpiRequest *request) {
  MPI_Request handle;
  int code = MPI_Isend(data, bytes, MPI_BYTE, to, tag, tandemComm, &handle);
  store(request, handle);
  return code;
}

int sendMatchedBytes(const void *data, int32_t bytes, int32_t to, int32_t tag,
                     TandemMpiRequest *request) {
  MPI_Request handle;
  int code = MPI_Issend(data, bytes, MPI_BYTE, to, tag, tandemComm, &handle);
  store(request, handle);
  return code;
}

int receiveBytes(void *data, int32_t bytes, int32_t from, int32_t tag,
                 TandemMpiRequest *request) {
  MPI_Request handle;
  int code = MPI_Irecv(data, bytes, MPI_BYTE, from, tag, tandemComm, &handle);
  store(request, handle);
  return code;
}

int testRequest(TandemMpiRequest *request, int32_t *done, int32_t *bytes) {
  MPI_Request handle;
  std::memcpy(&handle, &request->handle, sizeof handle);
  MPI_Status status;
  int flag = 0;
  int code = MPI_Test(&handle, &flag, &status);
  store(request, handle);
  *done = flag;
  *bytes = 0;
  if (code == MPI_SUCCESS && flag)
    MPI_Get_count(&status, MPI_BYTE, bytes);
  return code;
}

void describeCode(int code, char *text, size_t bytes) {
  char full[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, full, &length);
  std::strncpy(text, full, bytes - 1);
  text[bytes - 1] = 0;
}

void libraryVersion(char *text, size_t bytes) {
  char full[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(full, &length);
  std::strncpy(text, full, bytes - 1);
  text[bytes - 1] = 0;
  // Open MPI goes on with its build host and date; the name is enough.
  if (char *end = std::strpbrk(text, ",\n"))
    *end = 0;
}

const TandemMpiTable table = {TANDEM_MPI_ABI, openWorld,        closeWorld,
                              sendBytes,      sendMatchedBytes, receiveBytes,
                              testRequest,    describeCode,     libraryVersion};

} // namespace

extern "C" __attribute__((visibility("default"))) const TandemMpiTable *
tandemMpiTable(uint32_t abi) {
  return abi == TANDEM_MPI_ABI ? &table : nullptr;
}
