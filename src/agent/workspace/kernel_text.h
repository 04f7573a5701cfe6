// What a kernel's text and its task say before anything is run.
//
//   const KernelForm form = form_of(text, KernelForm::python);   // by content
//   write_file_atomic(folder / file_name_of(form), text);        // the judge goes by the ending
//   runs_on(form, "cpu");                                        // an error where it does not
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "agent/workspace/layout.h"
#include "base/result.h"

namespace fiel::agent {

/// Python that defines ModelNew, CUDA that names fiel_run; `otherwise` where it is neither.
KernelForm form_of(std::string_view text, KernelForm otherwise);
/// "kernel.cu", "kernel.py".
std::string file_name_of(KernelForm form);
/// Whether that device (as --device, empty: the default) takes such kernels of PyTorch tasks.
Status runs_on(KernelForm form, const std::string& device);

/// Names of the shapes that the task file shows, as verdicts have them.
std::vector<std::string> visible_shapes(const std::filesystem::path& task);

}  // namespace fiel::agent
