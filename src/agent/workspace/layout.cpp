#include "agent/workspace/layout.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "agent/workspace/instructions.h"
#include "base/hash.h"
#include "base/text.h"
#include "build/runtime_files.h"

namespace fiel::agent {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxTaskBytes = 4u << 20;
constexpr size_t kMaxKernelFiles = 64;
constexpr std::array<std::string_view, 3> kForms = {"cu", "python", "folder"};
constexpr std::array<std::string_view, 5> kVerbs = {"compile", "verify", "bench", "profile",
                                                    "submit"};

std::string script(const fs::path& fiel, std::string_view verb) {
  std::string program;
  for (const char c : fiel.string()) program += c == '\'' ? "'\\''" : std::string(1, c);
  return fmt::format(
      "#!/bin/sh\n# Asks the judge, which runs outside this folder: fiel daemon WORKSPACE\n"
      "exec '{}' ask \"$(dirname \"$0\")/..\" {}\n",
      program, verb);
}

/// Whatever of a CUDA-Agent folder belongs to the kernel.
bool is_kernel_part(const std::string& name) {
  if (name == "model_new.py" || name == "binding.cpp" || name.ends_with(".h"))
    return name.find('/') == std::string::npos || name.starts_with("kernels/");
  return name.starts_with("kernels/");
}

Status import_folder(const fs::path& from, const Folder& to) {
  FIEL_TRY(const Folder source, Folder::open(from));
  for (const std::string& name : source.files(1000)) {
    if (!is_kernel_part(name)) continue;
    FIEL_TRY(const std::string bytes, source.read(name, kMaxTaskBytes));
    FIEL_TRY_STATUS(to.write(name, bytes));
  }
  return {};
}

Status make_empty(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) &&
      (!fs::is_directory(folder, error) || !fs::is_empty(folder, error)))
    return fail(ErrorCode::usage,
                fmt::format("{} exists and is not empty", printable(folder.string(), 300)),
                "name a new folder");
  fs::create_directories(folder, error);
  if (error) return fail(ErrorCode::io, fmt::format("{}: {}", folder.string(), error.message()));
  return {};
}

/// The kernel to start from, and what goes with it.
Status write_kernel(const NewWorkspace& q, const Folder& files) {
  if (q.form == KernelForm::folder) {
    if (fs::is_directory(q.task)) FIEL_TRY_STATUS(import_folder(q.task, files));
    if (files.exists("model_new.py")) return {};
    return files.write("model_new.py", q.skeleton);
  }
  return files.write(q.form == KernelForm::cu ? "kernel.cu" : "kernel.py", q.skeleton);
}

Json description(const NewWorkspace& q, const std::string& task_name,
                 const std::vector<std::pair<std::string, std::string>>& fixed) {
  Json digests = Json::object();
  for (const auto& [name, digest] : fixed) digests[name] = digest;
  return Json::object({{"schema_version", 1},
                       {"task", task_name},
                       {"form", std::string(kForms[static_cast<size_t>(q.form)])},
                       {"device", q.device},
                       {"python", q.python},
                       {"fixed", digests}});
}

/// ".work.WORD" beside "work".
fs::path beside(const fs::path& workspace, std::string_view word) {
  std::error_code error;
  fs::path whole = fs::absolute(workspace, error).lexically_normal();
  if (whole.filename().empty()) whole = whole.parent_path();
  return whole.parent_path() / fmt::format(".{}.{}", whole.filename().string(), word);
}

}  // namespace

mode_t mode_of_fixed(std::string_view name) { return name.starts_with("bin/") ? 0755 : 0644; }

fs::path state_folder(const fs::path& workspace) { return beside(workspace, "fiel"); }

fs::path socket_of(const fs::path& workspace) { return beside(workspace, "ask") / "judge.sock"; }

Result<Workspace> create_workspace(const NewWorkspace& q) {
  const bool imported = fs::is_directory(q.task);
  const fs::path source = imported ? fs::path(q.task) / "model.py" : fs::path(q.task);
  FIEL_TRY(const std::string task_text, read_file(source, kMaxTaskBytes));
  const std::string task_name = q.form == KernelForm::folder  ? "model.py"
                                : source.extension() == ".py" ? "task.py"
                                                              : "task.toml";
  FIEL_TRY_STATUS(make_empty(q.folder));
  const fs::path state = state_folder(q.folder);
  FIEL_TRY_STATUS(make_empty(state));
  ::chmod(state.c_str(), 0700);
  ::mkdir(socket_of(q.folder).parent_path().c_str(), 0700);
  FIEL_TRY(const Folder files, Folder::open(q.folder));
  std::vector<std::pair<std::string, std::string>> fixed_texts = {
      {task_name, task_text}, {"SKILL.md", skill_text(q.form)}, {"AGENTS.md", agents_text(q.form)}};
  if (q.form == KernelForm::cu)
    fixed_texts.push_back({"fiel/kernel.h", std::string(build::embedded_kernel_header())});
  std::vector<std::pair<std::string, std::string>> fixed;
  for (const auto& [name, text] : fixed_texts) {
    FIEL_TRY_STATUS(files.write(name, text));
    fixed.push_back({name, sha256_hex(text)});
  }
  for (const std::string_view verb : kVerbs) {
    const std::string name = fmt::format("bin/{}", verb), text = script(q.fiel, verb);
    FIEL_TRY_STATUS(files.write(name, text, mode_of_fixed(name)));
    fixed.push_back({name, sha256_hex(text)});
  }
  FIEL_TRY_STATUS(write_kernel(q, files));
  // The judge restores what was changed from here, and judges by this task alone.
  FIEL_TRY(const Folder kept, Folder::open(state));
  FIEL_TRY_STATUS(kept.write(task_name, task_text));
  for (const auto& [name, digest] : fixed) {
    FIEL_TRY(const std::string text, files.read(name, kMaxTaskBytes));
    FIEL_TRY_STATUS(kept.write("fixed/" + name, text));
  }
  FIEL_TRY_STATUS(kept.write("workspace.json", description(q, task_name, fixed).dump(2) + "\n"));
  return Workspace::open(q.folder);
}

Result<Workspace> Workspace::open(const fs::path& folder) {
  Workspace w;
  FIEL_TRY(w.files_, Folder::open(folder));
  w.state_ = state_folder(folder);
  auto text = read_file(w.state_ / "workspace.json", 1u << 20);
  if (!text)
    return fail(ErrorCode::not_found,
                fmt::format("{} is no workspace", printable(folder.string(), 300)),
                "make one: fiel init TASK --workspace DIR");
  FIEL_TRY(const Json j, Json::parse(*text));
  w.task_name_ = j["task"].as_string();
  w.device_ = j["device"].as_string();
  w.python_ = j["python"].as_string();
  const auto form = std::find(kForms.begin(), kForms.end(), j["form"].as_string());
  FIEL_TRY(w.task_name_, plain_relative(w.task_name_));
  if (form == kForms.end()) return fail(ErrorCode::parse, "workspace.json names no known form");
  w.form_ = static_cast<KernelForm>(form - kForms.begin());
  for (const auto& [name, digest] : j["fixed"].members())
    w.fixed_.push_back({name, digest.as_string()});
  return w;
}

std::string Workspace::kernel_name() const {
  return form_ == KernelForm::cu       ? "kernel.cu"
         : form_ == KernelForm::python ? "kernel.py"
                                       : "model_new.py";
}

std::vector<std::string> Workspace::kernel_files() const {
  if (form_ != KernelForm::folder) return {kernel_name()};
  std::vector<std::string> names;
  for (const std::string& name : files_.files(1000))
    if (is_kernel_part(name) && names.size() < kMaxKernelFiles) names.push_back(name);
  return names;
}

bool Workspace::is_fixed(std::string_view name) const {
  return std::any_of(fixed_.begin(), fixed_.end(), [&](const auto& f) { return f.first == name; });
}

Status export_cuda_agent(const Workspace& workspace, const fs::path& target) {
  if (workspace.form() == KernelForm::cu)
    return fail(ErrorCode::unsupported, "a bare kernel is no CUDA-Agent folder",
                "workspaces of PyTorch tasks are");
  FIEL_TRY_STATUS(make_empty(target));
  FIEL_TRY(const Folder to, Folder::open(target));
  FIEL_TRY(const std::string task, read_file(workspace.task(), kMaxTaskBytes));
  FIEL_TRY_STATUS(to.write("model.py", task));
  for (const std::string& name : workspace.kernel_files()) {
    FIEL_TRY(const std::string bytes, workspace.files().read(name, kMaxTaskBytes));
    FIEL_TRY_STATUS(to.write(name == "kernel.py" ? "model_new.py" : name, bytes));
  }
  return {};
}

}  // namespace fiel::agent
