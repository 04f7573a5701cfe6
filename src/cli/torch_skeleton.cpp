#include "cli/torch_skeleton.h"

#include <fmt/core.h>

#include <filesystem>

#include "base/files.h"
#include "base/python_outline.h"
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

/// A PyTorch task's ModelNew is built with Model's arguments.
Status add_constructor(const std::string& path, kernel::Skeleton& s) {
  FIEL_TRY(const std::string text, read_file(path));
  if (python_outline(text).defines("get_init_inputs")) s.constructor = "*init_inputs";
  return {};
}

}  // namespace

Result<kernel::Skeleton> torch_skeleton(const std::string& path, const std::string& python) {
  FIEL_TRY(const task::TorchTask task, task::load_torch_task(path));
  FIEL_TRY(auto environment, worker::find_python(python));
  FIEL_TRY(auto process, worker::TorchWorker::start({worker::Role::oracle, environment, "cpu"}));
  worker::TorchOracle oracle(*process);
  std::error_code error;
  auto skeleton = ask_oracle(oracle, fs::absolute(task.path, error).string());
  if (!skeleton) return fail(worker::to_error(skeleton.error()).with_context("reading " + path));
  skeleton->task = path;
  FIEL_TRY_STATUS(add_constructor(path, *skeleton));
  return std::move(*skeleton);
}

}  // namespace fiel::cli
