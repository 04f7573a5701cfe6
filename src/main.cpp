// fiel: one binary, verbs. Everything is in src/cli.
#include "cli/command.h"
#include "worker/device_process.h"

int main(int argc, char** argv) {
  // The judge starts its own program again as the process that holds the device's memory.
  if (const auto code = fiel::worker::hidden_verb(argc, argv)) return *code;
  const std::vector<std::string> words(argv + 1, argv + argc);
  return fiel::cli::run_cli(words, fiel::cli::Context::of_process());
}
