#include "cli/command.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/files.h"
#include "base/text.h"

namespace fiel::cli {
namespace {

volatile sig_atomic_t g_interrupts = 0;

void on_interrupt(int) {
  // The first one stops between calls, with everything cleaned up; a second one at once.
  g_interrupts = g_interrupts + 1;
  if (g_interrupts > 1) _exit(130);
}

bool wants_color(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  if (term == nullptr || std::string_view(term) == "dumb") return false;
  return isatty(fd) == 1;
}

std::string overview() {
  std::string text =
      "Fiel judges CUDA kernels: is it right, and what is the evidence?\n\n"
      "usage: fiel VERB ...\n\n";
  for (const Command& c : commands())
    text += fmt::format("  {:<10}{}\n", c.spec.verb, c.spec.summary);
  text += fmt::format("  {:<10}{}\n", "help", "this text, or 'fiel help VERB'");
  text +=
      "\nTry: fiel judge tasks/softmax.toml examples/softmax/online.cu\n"
      "Exit codes: 0 accepted, 1 judged and not accepted, 2 usage, 3 could not judge, 5 nothing "
      "to\n"
      "judge, 130 interrupted.\n";
  return text;
}

const Command* find_command(std::string_view verb) {
  for (const Command& c : commands())
    if (c.spec.verb == verb) return &c;
  return nullptr;
}

void report_error(const Context& context, const Error& error) {
  const char* red = context.color_err ? "\x1b[31m" : "";
  const char* reset = context.color_err ? "\x1b[0m" : "";
  context.story(fmt::format("{}fiel: error:{} {}\n", red, reset, shown(error)));
}

Error unknown_verb(std::string_view verb) {
  std::vector<std::string> names{"help"};
  for (const Command& c : commands()) names.push_back(c.spec.verb);
  const std::string near = did_you_mean(verb, names);
  return Error{ErrorCode::usage,
               fmt::format("there is no verb '{}'", printable(verb, 60)),
               near.empty() ? "'fiel help' lists them" : fmt::format("did you mean '{}'?", near),
               {}};
}

int help(const Context& context, const std::vector<std::string>& words) {
  if (words.size() < 2) {
    context.print(overview());
    return 0;
  }
  const Command* c = find_command(words[1]);
  if (c == nullptr) {
    const Error error = unknown_verb(words[1]);
    report_error(context, error);
    return exit_code_of(error);
  }
  context.print(help_text(c->spec));
  return 0;
}

}  // namespace

Context Context::of_process() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  Context c;
  c.out = stdout;
  c.err = stderr;
  c.color_out = wants_color(STDOUT_FILENO);
  c.color_err = wants_color(STDERR_FILENO);
  const char* term = std::getenv("TERM");
  c.progress = isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
  c.interrupted = [] { return g_interrupts > 0; };
  return c;
}

void Context::print(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}
void Context::print_json(const Json& json) const { print(json.dump(2) + "\n"); }
void Context::story(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), err);
  std::fflush(err);
}

int exit_code_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::usage:
    case ErrorCode::parse:
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
      return 2;
    case ErrorCode::interrupted:
      return 130;
    default:
      return 3;
  }
}

const std::vector<Command>& commands() {
  static const std::vector<Command> list = {
      judge_command(),   compare_command(), redteam_command(), mutate_command(), replay_command(),
      init_command(),    profile_command(), runs_command(),    report_command(), export_command(),
      explain_command(), doctor_command(),  tasks_command(),   cache_command(),  agent_command(),
      search_command(),  mcp_command(),     daemon_command(),  ask_command(),    version_command()};
  return list;
}

namespace {

int run_words(const std::vector<std::string>& words, const Context& context) {
  if (words.empty()) {
    context.story(overview());
    return 2;
  }
  if (words[0] == "help" || words[0] == "--help" || words[0] == "-h") return help(context, words);
  const std::string verb = words[0] == "--version" ? "version" : words[0];
  const Command* command = find_command(verb);
  if (command == nullptr) {
    const Error error = unknown_verb(verb);
    report_error(context, error);
    return exit_code_of(error);
  }
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  for (const std::string& w : rest)
    if (w == "--help" || w == "-h") {
      context.print(help_text(command->spec));
      return 0;
    }
  auto arguments = parse_arguments(command->spec, rest);
  Result<int> code =
      arguments ? command->run(*arguments, context) : Result<int>(tl::unexpect, arguments.error());
  if (const std::string note = cache_complaint(); !note.empty())
    context.story(fmt::format("fiel: note: {}\n", printable(note, 600)));
  if (code) return *code;
  report_error(context, code.error());
  return exit_code_of(code.error());
}

/// Whether all that was printed arrived. A reader that has left has what it wanted.
bool was_printed(std::FILE* out) {
  if (out == nullptr || (std::fflush(out) == 0 && std::ferror(out) == 0)) return true;
  pollfd reader{::fileno(out), POLLOUT, 0};
  return ::poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0;
}

}  // namespace

int run_cli(const std::vector<std::string>& words, const Context& context) {
  const int code = run_words(words, context);
  if (was_printed(context.out)) return code;
  const Error error{
      ErrorCode::io, "what was to be printed could not be written", "is the disk full?", {}};
  report_error(context, error);
  return exit_code_of(error);
}

std::string shown(const Error& error) {
  constexpr size_t kMaxBytes = 16u << 10;
  return printable(to_string(error), kMaxBytes);
}

}  // namespace fiel::cli
