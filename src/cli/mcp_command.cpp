// fiel mcp: the judge as a server of the Model Context Protocol, on standard input and output.
#include <unistd.h>

#include <filesystem>

#include "agent/workspace/compile_feedback.h"
#include "agent/workspace/module_build.h"
#include "cli/command.h"
#include "judge/environment.h"
#include "mcp/stdio.h"

namespace fiel::cli {
namespace {

/// One kernel, as the server's own child: the server itself never waits for a compiler.
int compile_one(const std::string& file, const Arguments& arguments, const Context& context) {
  const agent::Feedback f =
      file.ends_with(".py")
          ? agent::module_build_feedback({file, arguments.value("--for").value_or(""),
                                          arguments.value("--python").value_or(""),
                                          arguments.value("--device").value_or("")})
          : agent::compile_feedback(file);
  context.print_json(Json::object({{"good", f.good}, {"text", f.text}}));
  return f.good ? 0 : 1;
}

Result<int> run(const Arguments& arguments, const Context& context) {
  if (const auto file = arguments.value("--compile")) return compile_one(*file, arguments, context);
  if (!arguments.positional.empty())
    return fail(ErrorCode::usage, "'fiel mcp' takes no words", "fiel mcp --tasks tasks");
  mcp::ToolOptions options;
  options.task_folder = arguments.value("--tasks").value_or("tasks");
  options.device = arguments.value("--device").value_or("");
  options.python = arguments.value("--python").value_or("");
  if (arguments.has("--require-isolation")) options.more.push_back("--require-isolation");
  FIEL_TRY(const uint64_t kernels, unsigned_value(arguments, "--kernels", 1000, 1'000'000));
  FIEL_TRY(const uint64_t seconds, unsigned_value(arguments, "--timeout", 900, 86'400));
  options.max_judged = static_cast<uint32_t>(kernels);
  std::error_code error;
  if (!std::filesystem::is_directory(options.task_folder, error))
    return fail(ErrorCode::usage, "there is no folder '" + options.task_folder.string() + "'",
                "--tasks names the folder that holds the tasks");
  mcp::Jobs jobs(mcp::this_program(), static_cast<int64_t>(seconds) * 1000);
  mcp::Tools tools(std::move(options), jobs);
  mcp::Server server(tools, jobs, judge::describe_environment().fiel_version);
  context.story("fiel: a server of the Model Context Protocol, on standard input and output\n");
  FIEL_TRY_STATUS(mcp::serve_stdio(server, jobs, STDIN_FILENO, STDOUT_FILENO, context.interrupted));
  return 0;
}

}  // namespace

Command mcp_command() {
  return {
      {"mcp",
       "",
       "the judge as tools for agents: a server of the Model Context Protocol",
       {{"--tasks", "DIR", "the folder of tasks that kernels may be judged for (tasks)"},
        {"--device", "NAME", "virtual, cpu (PyTorch tasks), cuda:N"},
        {"--kernels", "N", "that may be judged in all (1000)"},
        {"--timeout", "SECONDS", "of one judgement (900)"},
        {"--python", "FILE", "the Python that has PyTorch"},
        {"--require-isolation", "", "judge only inside the full sandbox"},
        {"--compile", "FILE", "compile one kernel and print what its author is told; no server"},
        {"--for", "TASK", "of --compile: the PyTorch task of a .py"}},
       "One JSON object a line on standard input and output, until the input ends. Clients of the\n"
       "stateless revision (2026-07-28) and of those with a handshake (2025-11-25 and before).\n"
       "Tools: compile, verify, bench, profile, submit, job, list_tasks, explain."},
      run};
}

}  // namespace fiel::cli
