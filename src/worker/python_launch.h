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
/// `package` is the path of Fiel's package as the process sees it.
PythonLaunch python_launch(const WorkerSpec& spec, const std::string& package);
Result<PythonLaunch> python_launch(const WorkerSpec& spec);

struct ChannelEnds {
  Fd ours, theirs;
};
Result<ChannelEnds> make_channel();

}  // namespace fiel::worker
