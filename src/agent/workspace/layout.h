// What a workspace is: files that an agent may read, one kernel that it writes, and beside it, out
// of its reach, the judge's own folder.
//
//   FIEL_TRY(Workspace w, create_workspace({.task = "tasks/softmax.toml", .folder = "work"}));
//   work/           task, kernel, SKILL.md, AGENTS.md, bin/{compile,verify,bench,profile,submit}
//   .work.fiel/     the judge's: pristine task, digests of the fixed files, ledger, verdicts
//   .work.ask/      its socket
//
// Two layouts: Fiel's own (one file, kernel.cu or kernel.py), and CUDA-Agent's (model.py,
// model_new.py, kernels/), which is imported and exported by name. Nothing here judges.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "agent/workspace/folder.h"
#include "base/json.h"
#include "base/result.h"

namespace fiel::agent {

enum class KernelForm : uint8_t {
  cu,      ///< kernel.cu with fiel_run
  python,  ///< kernel.py with ModelNew
  folder,  ///< CUDA-Agent's: model_new.py, kernels/, binding.cpp, binding_registry.h
};

struct NewWorkspace {
  std::string task;              ///< .toml, .py, or a CUDA-Agent folder with model.py
  std::filesystem::path folder;  ///< must not exist, or be empty
  KernelForm form = KernelForm::cu;
  std::string skeleton;        ///< text of the kernel to start from
  std::string device;          ///< as --device, empty: the default
  std::string python;          ///< as --python
  std::filesystem::path fiel;  ///< the program that bin/ calls
};

/// ".work.fiel" beside "work".
std::filesystem::path state_folder(const std::filesystem::path& workspace);
/// ".work.ask/judge.sock" beside it: another user's agent may come here, and not into the other.
std::filesystem::path socket_of(const std::filesystem::path& workspace);

class Workspace {
 public:
  static Result<Workspace> open(const std::filesystem::path& folder);

  const Folder& files() const { return files_; }
  const std::filesystem::path& state() const { return state_; }  ///< the judge's folder
  std::filesystem::path socket() const { return socket_of(files_.path()); }
  std::filesystem::path ledger() const { return state_ / "ledger.jsonl"; }
  std::filesystem::path trajectory() const { return state_ / "trajectory.jsonl"; }
  std::filesystem::path task() const { return state_ / task_name_; }  ///< the pristine one
  const std::string& task_name() const { return task_name_; }
  KernelForm form() const { return form_; }
  /// Names of the kernel's files that are there now, for judging and for showing.
  std::vector<std::string> kernel_files() const;
  std::string kernel_name() const;  ///< "kernel.cu", "kernel.py", "model_new.py"
  const std::string& device() const { return device_; }
  const std::string& python() const { return python_; }
  bool is_fixed(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& fixed() const { return fixed_; }

 private:
  Folder files_;
  std::filesystem::path state_;
  std::string task_name_, device_, python_;
  KernelForm form_ = KernelForm::cu;
  std::vector<std::pair<std::string, std::string>> fixed_;  ///< name, SHA-256
};

Result<Workspace> create_workspace(const NewWorkspace& request);

/// Copies the kernel as a CUDA-Agent work folder (model.py, model_new.py, kernels/ …) to `target`.
Status export_cuda_agent(const Workspace& workspace, const std::filesystem::path& target);

/// The commands in bin/ are programs.
mode_t mode_of_fixed(std::string_view name);

}  // namespace fiel::agent
