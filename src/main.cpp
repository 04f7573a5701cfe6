// fiel: one binary, verbs. Everything is in src/cli.
#include "cli/command.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return fiel::cli::run_cli(words, fiel::cli::Context::of_process());
}
