// The judge as tools: what a client may call, and what is answered.
//
//   Tools tools({.task_folder = "tasks"}, jobs);
//   const ToolAnswer a = tools.call("verify", arguments);       // at once, or a job's handle
//   tools.answer_of(*jobs.find(a.job));                         // once it has ended
//
// Kernels come as text. Tasks are files of one folder and of the folders in it, by name: no path
// leads out of it. A tool that fails is an answer with `failed`, not an error of the protocol.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "mcp/jobs.h"

namespace fiel::mcp {

struct ToolOptions {
  std::filesystem::path task_folder = "tasks";
  std::string device;  ///< as --device; empty: the default
  std::string python;
  std::vector<std::string> more;  ///< further words of `fiel judge`
  uint32_t max_judged = 1000;
};

struct ToolAnswer {
  bool known = true;    ///< there is such a tool, and the arguments fit
  std::string job;      ///< it goes on there; empty: this is the answer
  int64_t wait_ms = 0;  ///< how long the caller waits for that job
  bool failed = false;
  std::string text;
  Json structured;
};

class Tools {
 public:
  Tools(ToolOptions options, Jobs& jobs) : options_(std::move(options)), jobs_(jobs) {}
  static const Json& list();  ///< name, description, inputSchema, outputSchema, annotations
  ToolAnswer call(const std::string& name, const Json& arguments);
  /// Of a job that has ended, or, `going_on`, of one that has not.
  ToolAnswer answer_of(const Job& job) const;

 private:
  ToolAnswer judge(const std::string& tool, const Json& arguments);
  ToolAnswer explain(const Json& arguments) const;
  ToolAnswer list_tasks(const Json& arguments) const;
  /// What is begun for a call: the kernel in a folder of its own, and the words.
  Status prepare(Job& job, const std::filesystem::path& task, const std::string& kernel) const;
  std::vector<std::string> words_of(const std::string& tool, const std::string& task,
                                    const std::string& kernel) const;
  std::vector<std::filesystem::path> task_files() const;
  bool on_a_gpu() const { return options_.device.starts_with("cuda"); }
  ToolAnswer job(const Json& arguments);
  Result<std::filesystem::path> task_path(const std::string& name) const;

  ToolOptions options_;
  Jobs& jobs_;
  uint32_t judged_ = 0;
};

}  // namespace fiel::mcp
