#include "tools/commands/UsageError.h"

#include "runtime/base/Suggest.h"

namespace tandem {
namespace {

/// What `app` calls the flags that may stand where `command` was chosen.
std::vector<std::string> flagsOf(const CLI::App &app, const CLI::App &command) {
  std::vector<std::string> names;
  std::vector<const CLI::App *> parts = {&app, &command};
  // Groups of flags are commands without a name.
  for (const CLI::App *group : command.get_subcommands({}))
    if (group->get_name().empty())
      parts.push_back(group);
  for (const CLI::App *part : parts)
    for (const CLI::Option *option : part->get_options())
      for (const std::string &name : option->get_lnames())
        names.push_back("--" + name);
  return names;
}

std::vector<std::string> commandsOf(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({}))
    if (!command->get_name().empty()) // Groups of flags have none.
      names.push_back(command->get_name());
  return names;
}

std::string listed(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The commands that were chosen, each a part of the one before.
std::vector<const CLI::App *> chosenFrom(const CLI::App &app) {
  std::vector<const CLI::App *> chosen;
  for (const CLI::App *at = &app; at;) {
    std::vector<const CLI::App *> parts =
        at->get_subcommands([](const CLI::App *part) {
          return part->parsed() && !part->get_name().empty();
        });
    at = parts.empty() ? nullptr : parts.front();
    if (at)
      chosen.push_back(at);
  }
  return chosen;
}

} // namespace

Status usageError(const CLI::App &app, const CLI::ParseError &error) {
  std::vector<const CLI::App *> chosen = chosenFrom(app);
  const CLI::App &command = chosen.empty() ? app : *chosen.back();
  std::string help = "; see `" + app.get_name();
  for (const CLI::App *part : chosen)
    help += " " + part->get_name();
  help += " --help`";
  std::vector<std::string> rest = app.remaining(true);
  for (const std::string &word : rest)
    if (word.size() > 1 && word[0] == '-') {
      std::string name = word.substr(0, word.find('='));
      return Status::usage("unknown flag '" + name + "'" +
                           didYouMean(name, flagsOf(app, command)) + help);
    }
  std::vector<std::string> names = commandsOf(command);
  if (!names.empty()) {
    if (rest.empty())
      return Status::usage(
          "no command given; expected one of: " + listed(names) + help);
    return Status::usage("unknown command '" + rest[0] + "'" +
                         didYouMean(rest[0], names) +
                         "; expected one of: " + listed(names) + help);
  }
  if (!rest.empty())
    return Status::usage("unexpected argument '" + rest[0] + "'" + help);
  return Status::usage(error.what() + help);
}

} // namespace tandem
