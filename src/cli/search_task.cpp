#include "cli/search_task.h"

#include "agent/workspace/kernel_text.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/native_skeleton.h"
#include "cli/torch_judging.h"
#include "cli/torch_skeleton.h"
#include "search/model_proposer.h"
#include "search/scripted_proposer.h"
#include "task/torch_task.h"

namespace fiel::cli {
namespace {

using agent::KernelForm;

constexpr uint64_t kMaxTask = 1u << 20;

Error no_templates(const SearchTask& task) {
  return {ErrorCode::usage,
          "templates come from a native task's expression (.toml), this is a PyTorch task",
          "a model, or kernels of a script, for it: fiel search " + printable(task.path, 200) +
              " --proposer llm [--script FILE]",
          {}};
}

Result<std::string> skeleton_text(const Arguments& arguments, const SearchTask& task,
                                  KernelForm form) {
  if (!task.is_torch()) return native_skeleton(task.path).map(kernel::bare_skeleton);
  FIEL_TRY(const kernel::Skeleton skeleton,
           torch_skeleton(task.path, arguments.value("--python").value_or("")));
  return form == KernelForm::cu ? kernel::bare_skeleton(skeleton)
                                : kernel::module_skeleton(skeleton);
}

Result<search::ModelProposerOptions> model_options(const Arguments& arguments,
                                                   const SearchTask& task) {
  search::ModelProposerOptions options;
  FIEL_TRY(options.form, asked_form(arguments, task));
  options.torch_task = task.is_torch();
  const std::string device = arguments.value("--device").value_or("");
  options.on_cpu = device == "cpu" || (device.empty() && !has_gpu());
  FIEL_TRY(const uint64_t output, unsigned_value(arguments, "--output", 16'384, 1'000'000));
  options.max_output_tokens = static_cast<uint32_t>(output);
  if (const auto words = arguments.value("--prices")) {
    FIEL_TRY(options.prices, agent::parse_prices(*words));
  }
  return options;
}

}  // namespace

Result<SearchTask> load_search_task(const std::string& path) {
  SearchTask s{path, {}, {}, {}};
  FIEL_TRY(s.text, read_file(path, kMaxTask));
  if (path.ends_with(".py")) {
    FIEL_TRY(const task::TorchTask task, task::load_torch_task(path));
    s.name = task.name;
    return s;
  }
  FIEL_TRY(s.native, task::load_task(path));
  s.name = s.native->name;
  return s;
}

Result<KernelForm> asked_form(const Arguments& arguments, const SearchTask& task) {
  const std::string device = arguments.value("--device").value_or("");
  const bool module = task.is_torch() && device != "virtual";
  FIEL_TRY(const std::string kind,
           word_value(arguments, "--kind", {"cu", "py"}, module ? "py" : "cu"));
  const KernelForm form = kind == "py" ? KernelForm::python : KernelForm::cu;
  if (form == KernelForm::python && !task.is_torch())
    return fail(ErrorCode::usage, "a kernel of a native task is a .cu", "--kind cu");
  if (task.is_torch()) FIEL_TRY_STATUS(agent::runs_on(form, device));
  return form;
}

Result<ChosenProposer> proposer_of(const Arguments& arguments, const Context& context,
                                   const SearchTask& task) {
  ChosenProposer chosen;
  FIEL_TRY(const std::string kind,
           word_value(arguments, "--proposer", {"scripted", "llm"}, "scripted"));
  if (kind == "scripted") {
    if (task.is_torch()) return fail(no_templates(task));
    FIEL_TRY(chosen.proposer,
             search::ScriptedProposer::of(*task.native, arguments.value("--start").value_or("")));
    return chosen;
  }
  FIEL_TRY(chosen.model, model_of(arguments, context));
  FIEL_TRY(const search::ModelProposerOptions options, model_options(arguments, task));
  FIEL_TRY(const std::string skeleton, skeleton_text(arguments, task, options.form));
  ChosenModel* model = chosen.model.get();
  chosen.proposer =
      std::make_unique<search::ModelProposer>(*model->model, task.text, skeleton, options,
                                              [model](uint32_t answers) { model->skip(answers); });
  return chosen;
}

}  // namespace fiel::cli
