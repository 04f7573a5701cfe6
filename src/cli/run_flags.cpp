#include "cli/run_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace fiel::cli {
namespace {

constexpr std::array<std::string_view, 13> kOfTheCall = {
    "--json",  "--jsonl",   "--export",   "-v",         "--exit-zero",  "--run", "--resume",
    "--tasks", "--kernels", "--manifest", "--no-store", "--stop-after", "--html"};

}  // namespace

std::vector<std::string> words_to_keep(const Arguments& arguments) {
  std::vector<std::string> words;
  for (const auto& [flag, value] : arguments.flags)
    if (std::find(kOfTheCall.begin(), kOfTheCall.end(), flag) == kOfTheCall.end())
      words.push_back(value.empty() ? flag : flag + "=" + value);
  return words;
}

Arguments with_words(Arguments arguments, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    arguments.flags.emplace(word.substr(0, equals),
                            equals == std::string::npos ? "" : word.substr(equals + 1));
  }
  return arguments;
}

}  // namespace fiel::cli
