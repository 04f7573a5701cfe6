// fiel init: a kernel to start from, for a native or a PyTorch task.
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "agent/workspace/layout.h"
#include "base/files.h"
#include "base/python_outline.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/native_skeleton.h"
#include "cli/output_file.h"
#include "kernel/skeleton.h"
#include "task/task.h"
#include "task/torch_task.h"
#include "worker/torch_oracle.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

/// "float32" as Fiel names it; what a bare kernel cannot get keeps PyTorch's name.
std::string dtype_name(const worker::Leaf& leaf) {
  const auto dtype = worker::dtype_of(leaf);
  return dtype ? std::string(name_of(*dtype)) : leaf.dtype;
}

kernel::SkeletonTensor tensor_of(const worker::Leaf& leaf, std::string name, std::string note) {
  return {std::move(name), dtype_name(leaf), leaf.shape, std::move(note)};
}

/// Numbers, texts and None among forward's arguments: a bare kernel gets tensors only.
void list_numbers(const Json& tree, const std::string& path, std::vector<std::string>& out) {
  if (const Json* value = tree.find("value")) {
    if (out.size() < 64) out.push_back(fmt::format("argument {}: {}", path, value->dump()));
    return;
  }
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  for (const char* kind : {"list", "tuple"})
    for (size_t i = 0; i < tree[kind].items().size(); ++i)
      list_numbers(tree[kind].items()[i], below(std::to_string(i)), out);
  for (const Json& entry : tree["dict"].items())
    if (entry.items().size() == 2)
      list_numbers(entry.items()[1], below(entry.items()[0].as_string()), out);
}

/// The oracle runs the task file: only PyTorch knows its shapes.
worker::Answer<kernel::Skeleton> ask_oracle(worker::TorchOracle& oracle, const std::string& path) {
  FIEL_TRY_STATUS(oracle.hello("cpu"));
  FIEL_TRY(auto task, oracle.open_task({.path = path}));
  kernel::Skeleton s{path, {}, {}, ""};
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    const std::string& name = task.inputs[i].path;
    const bool number = name.find_first_not_of("0123456789") == std::string::npos;
    s.inputs.push_back(
        tensor_of(task.inputs[i], number ? "input" + name : name, kernel::kForwardArgument));
  }
  for (size_t i = 0; i < task.outputs.size(); ++i) {
    const std::string& name = task.outputs[i].path;
    s.outputs.push_back(
        tensor_of(task.outputs[i], "output" + (name.empty() ? "" : "." + name), ""));
  }
  list_numbers(task.raw["inputs_tree"], "", s.not_passed);
  if (task.windows.weights == 0 || task.weight_bytes == 0) return s;
  FIEL_TRY(auto prepared, oracle.prepare({}));
  FIEL_TRY(auto window, oracle.window(task.windows.weights));
  FIEL_TRY(auto weights, oracle.weights(prepared.id, window.id));
  for (const auto& w : weights.leaves) s.inputs.push_back(tensor_of(w, w.name, w.kind));
  return s;
}

Result<kernel::Skeleton> torch_skeleton(const std::string& path, const std::string& python) {
  FIEL_TRY(const task::TorchTask task, task::load_torch_task(path));
  FIEL_TRY(auto environment, worker::find_python(python));
  FIEL_TRY(auto process, worker::TorchWorker::start({worker::Role::oracle, environment, "cpu"}));
  worker::TorchOracle oracle(*process);
  std::error_code error;
  auto skeleton = ask_oracle(oracle, fs::absolute(task.path, error).string());
  if (!skeleton) return fail(worker::to_error(skeleton.error()).with_context("reading " + path));
  skeleton->task = path;
  return std::move(*skeleton);
}

/// A PyTorch task's ModelNew is built with Model's arguments.
Status add_constructor(const std::string& path, kernel::Skeleton& s) {
  if (!task::is_torch_task(path)) return {};
  FIEL_TRY(const std::string text, read_file(path));
  if (python_outline(text).defines("get_init_inputs")) s.constructor = "*init_inputs";
  return {};
}

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
  FIEL_TRY(kernel::Skeleton skeleton,
           torch ? torch_skeleton(task, arguments.value("--python").value_or(""))
                 : native_skeleton(task));
  FIEL_TRY_STATUS(add_constructor(task, skeleton));
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
