// How a PyTorch worker's process is called, wherever it runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "worker/torch_worker.h"

namespace fiel::worker {

struct PythonLaunch {
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> variables;
};
/// `package` is the path of Fiel's package as the process sees it. `max_tasks` bounds its processes
/// and threads together, 0: not; set before anything of the candidate is loaded.
PythonLaunch python_launch(const WorkerSpec& spec, const std::string& package,
                           uint64_t max_tasks = 0);
Result<PythonLaunch> python_launch(const WorkerSpec& spec);

struct ChannelEnds {
  Fd ours, theirs;
};
Result<ChannelEnds> make_channel();

}  // namespace fiel::worker
