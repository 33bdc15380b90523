#include "runtime/files/Tokenizer.h"
#include "tools/commands/Command.h"
#include "tools/commands/Ids.h"

#include <iostream>

namespace tandem {

void addTokenize(Program &program) {
  CLI::App *command =
      program.command("tokenize", "Text to ids and back",
                      "tandem tokenize SmolLM2.gguf 'Once upon a time'");
  struct Options {
    std::string model, text, file, ids;
  };
  auto options = std::make_shared<Options>();
  command->add_option("MODEL", options->model, "The model, or its tokenizer")
      ->required();
  auto *text = command->add_option("TEXT", options->text, "The text");
  auto *file = command->add_option("--file", options->file,
                                   "Read the text from a file, - for stdin");
  auto *ids = command->add_option("--ids", options->ids,
                                  "Ids to turn into text, such as 1,2,3");
  text->excludes(file)->excludes(ids);
  file->excludes(ids);
  program.onRun(command, [=]() -> Status {
    if (text->empty() && file->empty() && ids->empty())
      return Status::usage("tokenize: expected TEXT, --file or --ids");
    TANDEM_ASSIGN(auto tokenizer, openTokenizer(options->model));
    if (!ids->empty()) {
      TANDEM_ASSIGN(std::vector<int32_t> list, parseIds(options->ids));
      TANDEM_ASSIGN(std::string decoded, tokenizer->decode(list));
      std::cout << decoded;
      return Status();
    }
    if (!file->empty()) {
      TANDEM_ASSIGN(options->text, readText(options->file));
    }
    TANDEM_ASSIGN(std::vector<int32_t> encoded,
                  tokenizer->encode(options->text));
    std::cout << printIds(encoded) << "\n";
    return Status();
  });
}

} // namespace tandem
