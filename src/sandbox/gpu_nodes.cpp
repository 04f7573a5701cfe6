#include "sandbox/gpu_nodes.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/files.h"
#include "base/text.h"

namespace fiel::sandbox {
namespace fs = std::filesystem;
namespace {

/// "GPU UUID:  GPU-…" and "Device Minor:  3" of one GPU's information file.
std::string field(const std::string& text, std::string_view name) {
  for (std::string_view line : split(text, '\n'))
    if (line.substr(0, name.size()) == name && line.find(':') != std::string_view::npos)
      return std::string(trim(line.substr(line.find(':') + 1)));
  return {};
}

std::optional<std::string> minor_of(const std::string& uuid, const fs::path& proc) {
  std::error_code ec;
  for (const auto& gpu : fs::directory_iterator(proc / "driver" / "nvidia" / "gpus", ec)) {
    auto text = read_file(gpu.path() / "information", 1u << 16);
    if (text && !uuid.empty() && field(*text, "GPU UUID") == uuid)
      return field(*text, "Device Minor");
  }
  return std::nullopt;
}

bool is_gpu(const std::string& name) {  // nvidia0, nvidia1, …
  return name.size() > 6 && name.compare(0, 6, "nvidia") == 0 &&
         std::all_of(name.begin() + 6, name.end(), [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

Result<GpuNodes> gpu_nodes(const std::string& uuid, const fs::path& dev, const fs::path& proc) {
  GpuNodes nodes;
  std::error_code ec;
  // MIG's capabilities lie in nvidia-caps: which of them this process has is the driver's decision.
  for (const char* shared : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps"})
    if (fs::exists(dev / shared, ec)) nodes.paths.push_back(dev / shared);
  if (auto minor = minor_of(uuid, proc); minor && fs::exists(dev / ("nvidia" + *minor), ec)) {
    nodes.paths.push_back(dev / ("nvidia" + *minor));
    return nodes;
  }
  std::vector<fs::path> all;
  for (const auto& node : fs::directory_iterator(dev, ec))
    if (is_gpu(node.path().filename().string())) all.push_back(node.path());
  if (all.empty())
    return fail(ErrorCode::environment, "no GPU's device node in " + dev.string(),
                "in a container: --gpus all");
  std::sort(all.begin(), all.end());
  nodes.paths.insert(nodes.paths.end(), all.begin(), all.end());
  if (all.size() > 1)
    nodes.missing = "one GPU alone: /proc/driver/nvidia/gpus does not tell which node is " + uuid;
  return nodes;
}

}  // namespace fiel::sandbox
