#include "runtime/comm/mpi/ModuleFile.h"

#include <climits>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace tandem {
namespace {

const char fileName[] = "libtandem_mpi.so";

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string programFolder() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length <= 0 ? "." : folderOf(std::string(path, length));
}

/// The folder of the library (or program) that this function is in.
std::string libraryFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&libraryFolder), &info) ||
      !info.dli_fname)
    return ".";
  return folderOf(info.dli_fname);
}

std::vector<std::string> candidates() {
  std::string program = programFolder();
  return {program + "/" + fileName, program + "/../lib/" + fileName,
          libraryFolder() + "/" + fileName};
}

Result<const TandemMpiTable *> load(const std::string &path) {
  // Global: Open MPI loads parts of itself that look its symbols up there.
  void *module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!module)
    return Status::refused("cannot load the MPI module: " +
                           std::string(dlerror()));
  auto factory =
      reinterpret_cast<TandemMpiFactory>(dlsym(module, TANDEM_MPI_FACTORY));
  const TandemMpiTable *table = factory ? factory(TANDEM_MPI_ABI) : nullptr;
  if (!table || table->abi != TANDEM_MPI_ABI)
    return Status::refused("the MPI module '" + path +
                           "' belongs to another build: it has not interface " +
                           std::to_string(TANDEM_MPI_ABI));
  return table;
}

} // namespace

Result<const TandemMpiTable *> loadMpiTable(const std::string &path) {
  if (!path.empty())
    return load(path);
  std::string looked;
  for (const std::string &candidate : candidates()) {
    if (access(candidate.c_str(), F_OK) == 0)
      return load(candidate);
    looked += (looked.empty() ? "'" : ", '") + candidate + "'";
  }
  return Status::refused("there is no MPI module, looked for " + looked +
                         "; build with Open MPI installed, or run with "
                         "--comm local");
}

std::string describe(const TandemMpiTable &table, int code) {
  char text[256] = "";
  table.describe(code, text, sizeof text);
  return text;
}

} // namespace tandem
