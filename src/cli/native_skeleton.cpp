#include "cli/native_skeleton.h"

#include "task/task.h"

namespace fiel::cli {
namespace {

std::vector<int64_t> extents(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace

Result<kernel::Skeleton> native_skeleton(const std::string& path) {
  FIEL_TRY(const task::Task t, task::load_task(path));
  FIEL_TRY(const task::Instance at, t.instantiate(t.shape_sets[0]));
  kernel::Skeleton s{path, {}, {}, ""};
  for (size_t i = 0; i < at.inputs.size(); ++i)
    s.inputs.push_back({at.input_specs[i].name, std::string(name_of(at.inputs[i].dtype)),
                        extents(at.inputs[i].shape), kernel::kForwardArgument});
  for (size_t i = 0; i < at.outputs.size(); ++i)
    s.outputs.push_back({at.graph.outputs[i].name, std::string(name_of(at.outputs[i].dtype)),
                         extents(at.outputs[i].shape), ""});
  return s;
}

}  // namespace fiel::cli
