#include "agent/workspace/kernel_text.h"

#include "base/python_outline.h"
#include "judge/torch/oracle_side.h"
#include "judge/torch/request.h"
#include "task/task.h"

namespace fiel::agent {

KernelForm form_of(std::string_view text, KernelForm otherwise) {
  // First, since a module may hold CUDA in its strings.
  if (python_outline(text).defines("ModelNew")) return KernelForm::python;
  return text.find("fiel_run") != std::string_view::npos ? KernelForm::cu : otherwise;
}

std::string file_name_of(KernelForm form) {
  return form == KernelForm::cu ? "kernel.cu" : "kernel.py";
}

Status runs_on(KernelForm form, const std::string& device) {
  if (device.empty()) return {};  // each form has its own
  judge::torch::TorchRequest request;
  request.device = device;
  request.kernel_path = file_name_of(form);
  return request.check_device();
}

std::vector<std::string> visible_shapes(const std::filesystem::path& task) {
  if (task.extension() == ".py") return {judge::torch::kGivenShapes};
  std::vector<std::string> names;
  if (const auto loaded = task::load_task(task.string()))
    for (const task::ShapeSet& s : loaded->shape_sets) names.push_back(s.name);
  return names;
}

}  // namespace fiel::agent
