// fiel init: a kernel to start from, for a native or a PyTorch task.
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "agent/workspace/layout.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/native_skeleton.h"
#include "cli/output_file.h"
#include "cli/torch_skeleton.h"
#include "kernel/skeleton.h"
#include "task/task.h"
#include "task/torch_task.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

Result<int> write(const std::string& path, const std::string& text, const Arguments& arguments,
                  const Context& context) {
  std::error_code error;
  if (fs::exists(path, error) && !arguments.has("--force"))
    return fail(ErrorCode::usage, fmt::format("{} exists already", printable(path, 200)),
                "choose another name, or overwrite it with --force");
  FIEL_TRY_STATUS(write_output(path, text));
  context.story(fmt::format("wrote {}\n", printable(path, 200)));
  return 0;
}

/// A folder in which an agent works, with the skeleton as its kernel.
Result<int> write_workspace(const std::string& task, const std::string& kind,
                            const std::string& skeleton, const Arguments& arguments,
                            const Context& context) {
  agent::NewWorkspace q;
  q.task = task;
  q.folder = *arguments.value("--workspace");
  q.form = arguments.value("--layout") == "cuda-agent" ? agent::KernelForm::folder
           : kind == "py"                              ? agent::KernelForm::python
                                                       : agent::KernelForm::cu;
  q.skeleton = skeleton;
  q.device = arguments.value("--device").value_or("");
  q.python = arguments.value("--python").value_or("");
  q.fiel = executable_path();
  FIEL_TRY(const agent::Workspace made, agent::create_workspace(q));
  context.story(fmt::format("made {}; its judge: fiel daemon {}\n",
                            printable(q.folder.string(), 200), printable(q.folder.string(), 200)));
  return 0;
}

/// A CUDA-Agent folder is a workspace's task and kernel in one.
Result<int> import_workspace(const std::string& folder, const Arguments& arguments,
                             const Context& context) {
  if (!arguments.has("--workspace"))
    return fail(ErrorCode::usage, fmt::format("{} is a folder", printable(folder, 200)),
                "import a CUDA-Agent folder with --workspace DIR");
  Arguments as = arguments;
  as.flags["--layout"] = "cuda-agent";
  FIEL_TRY_STATUS(
      task::load_torch_task((fs::path(folder) / "model.py").string()).map([](auto&&) {}));
  return write_workspace(folder, "py", "", as, context);
}

Result<int> run(const Arguments& arguments, const Context& context) {
  const auto& words = arguments.positional;
  if (words.empty() || words.size() > 2)
    return fail(ErrorCode::usage, "'fiel init' needs a task, and may be told a file");
  const std::string& task = words[0];
  FIEL_TRY(const std::string layout,
           word_value(arguments, "--layout", {"fiel", "cuda-agent"}, "fiel"));
  if (const auto target = arguments.value("--export-cuda-agent")) {
    FIEL_TRY(const agent::Workspace workspace, agent::Workspace::open(task));
    FIEL_TRY_STATUS(agent::export_cuda_agent(workspace, *target));
    return 0;
  }
  std::error_code error;
  if (fs::is_directory(task, error)) return import_workspace(task, arguments, context);
  const bool named_python = words.size() == 2 && fs::path(words[1]).extension() == ".py";
  const bool torch = fs::path(task).extension() == ".py";
  // A workspace's kernel is what the judge takes for that kind of task.
  const bool python = named_python || (torch && arguments.has("--workspace"));
  FIEL_TRY(const std::string kind,
           word_value(arguments, "--kind", {"cu", "py"}, python ? "py" : "cu"));
  if (arguments.has("--workspace") && (kind == "py") != torch)
    return fail(ErrorCode::usage,
                "a workspace of a native task has a .cu, of a PyTorch task a .py");
  if (layout == "cuda-agent" && !torch)
    return fail(ErrorCode::usage, "CUDA-Agent's layout is for PyTorch tasks");
  FIEL_TRY(const kernel::Skeleton skeleton,
           torch ? torch_skeleton(task, arguments.value("--python").value_or(""))
                 : native_skeleton(task));
  const std::string text =
      kind == "py" ? kernel::module_skeleton(skeleton) : kernel::bare_skeleton(skeleton);
  if (arguments.has("--workspace")) return write_workspace(task, kind, text, arguments, context);
  if (words.size() == 2) return write(words[1], text, arguments, context);
  context.print(text);
  return 0;
}

}  // namespace

Command init_command() {
  return {
      {"init",
       "TASK [FILE]",
       "a kernel to start from: what it gets and what it must write",
       {{"--kind", "cu|py", "a bare .cu (the default), or a .py with ModelNew"},
        {"--python", "PATH", "the Python that has PyTorch, for a PyTorch task"},
        {"--force", "", "overwrite FILE"},
        {"--workspace", "DIR", "a folder for an agent: task, skeleton, SKILL.md, bin/verify …"},
        {"--layout", "NAME", "of a workspace: fiel (default), cuda-agent"},
        {"--device", "NAME", "that a workspace's judge uses"},
        {"--export-cuda-agent", "DIR", "TASK is a workspace: write its kernel as such a folder"}},
       "Without FILE the text goes to stdout. A PyTorch task's inputs are forward's arguments,\n"
       "then its parameters and buffers in state_dict's order; its shapes are asked of PyTorch, on "
       "the CPU."},
      run};
}

}  // namespace fiel::cli
