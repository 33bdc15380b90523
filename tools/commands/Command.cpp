#include "tools/commands/Command.h"

#include "runtime/base/Log.h"
#include "runtime/comm/MpiModule.h"
#include "tools/commands/UsageError.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <dnnl_version.h>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <unistd.h>

namespace tandem {
namespace {

std::string versionText(const std::string &name) {
  std::string text =
      name + " 0.1.0\nplan schema " + std::to_string(kSchemaVersion) + "\n";
#ifdef TANDEM_LLVM_VERSION
  if (name == "tandem")
    text += "LLVM " TANDEM_LLVM_VERSION "\n";
#endif
  text += "oneDNN " + std::to_string(DNNL_VERSION_MAJOR) + "." +
          std::to_string(DNNL_VERSION_MINOR) + "." +
          std::to_string(DNNL_VERSION_PATCH) + "\n";
  Result<std::string> mpi = mpiVersion();
  text += "MPI " + (mpi.ok() ? *mpi : "none: " + mpi.status().message());
  return text;
}

} // namespace

Program::Program(const std::string &name, const std::string &description)
    : app(description, name) {
  // A file that grows beyond the limit is an error of its write.
  std::signal(SIGXFSZ, SIG_IGN);
  app.require_subcommand(1);
  app.fallthrough();
  // Computed when asked for only: it loads the MPI module.
  app.add_flag_callback(
      "--version",
      [name] {
        std::cout << versionText(name) << "\n";
        throw CLI::Success();
      },
      "Print the versions of the plan's schema and of libraries");
  app.add_flag_callback(
      "-v,--verbose", [] { setLogLevel(LogLevel::Debug); },
      "Say more on standard error");
  app.add_flag_callback(
      "-q,--quiet", [] { setLogLevel(LogLevel::Error); }, "Print errors only");
}

CLI::App *Program::command(const std::string &name,
                           const std::string &description,
                           const std::string &example) {
  CLI::App *command = app.add_subcommand(name, description);
  command->footer("Example:\n  " + example);
  return command;
}

void Program::onRun(CLI::App *command, std::function<Status()> run) {
  command->callback([this, run = std::move(run)] { status = run(); });
}

int Program::main(int argc, char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    // Asked for help or the version.
    if (error.get_exit_code() == 0)
      return app.exit(error, std::cout, std::cerr);
    status = usageError(app, error);
  } catch (const std::bad_alloc &) {
    status = Status::refused("out of memory");
  } catch (const std::exception &error) {
    status = Status::refused(error.what());
  }
  std::cout.flush();
  if (status.ok() && !std::cout)
    status = Status::refused("cannot write to standard output");
  if (!status.ok() && !status.message().empty())
    log(LogLevel::Error, status.toString());
  return status.exitCode();
}

bool PlanMaker::isPlan(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  char head[12] = {};
  // The size of the FlatBuffer, its root, its identifier.
  file.read(head, sizeof head);
  return file && std::string(head + 8, 4) == "TNDM";
}

Result<std::shared_ptr<const Plan>>
PlanLoader::make(const PlanRequest &request) {
  if (access(request.path.c_str(), R_OK) == 0 && !isPlan(request.path))
    return Status::refused("'" + request.path +
                           "' is not a plan; this program runs finished plans "
                           "only, `tandem compile` makes them");
  TANDEM_ASSIGN(Plan plan, Plan::load(request.path));
  return std::shared_ptr<const Plan>(
      std::make_shared<const Plan>(std::move(plan)));
}

CLI::Validator atLeast(double least, double most) {
  auto numeral = [](double number) {
    std::ostringstream text;
    text << std::setprecision(12) << number;
    return text.str();
  };
  std::string range = most < 1e15
                          ? "from " + numeral(least) + " to " + numeral(most)
                          : "of at least " + numeral(least);
  return CLI::Validator(
      [least, most, range](std::string &text) -> std::string {
        char *end = nullptr;
        double number = std::strtod(text.c_str(), &end);
        // Written so that no comparison lets a NaN through.
        if (end != text.c_str() && *end == 0 && number >= least &&
            number <= most)
          return "";
        return "expected a number " + range + ", got '" + text + "'";
      },
      "");
}

Result<uint64_t> parseBytes(const std::string &text) {
  struct Unit {
    const char *name;
    double bytes;
  };
  static constexpr Unit units[] = {
      {"", 1},         {"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
      {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"kB", 1e3},     {"MB", 1e6},
      {"GB", 1e9},     {"TB", 1e12}};
  char *end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  if (end != text.c_str() && number >= 1)
    for (const Unit &unit : units)
      if (std::string(end) == unit.name && number * unit.bytes < 0x1p63)
        return static_cast<uint64_t>(number * unit.bytes);
  return Status::usage("'" + text +
                       "' is no size; expected a number and a unit, such as "
                       "8GiB or 512MiB");
}

Result<std::string> readText(const std::string &path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Status::refused("cannot open '" + path +
                           "': " + std::strerror(errno));
  // A folder opens like a file and then reads like an empty one.
  if (std::error_code error; std::filesystem::is_directory(path, error))
    return Status::refused("cannot read '" + path + "': it is a folder");
  text << file.rdbuf();
  if (file.bad())
    return Status::refused("cannot read '" + path + "'");
  return text.str();
}

} // namespace tandem
