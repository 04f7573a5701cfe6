// Apart from device_process.cpp, so that tests with another device need no virtual GPU.
#include "worker/device_process.h"

namespace fiel::worker {

std::optional<int> hidden_verb(int argc, char** argv) {
  return hidden_verb(
      argc, argv, [](const vgpu::DeviceOptions& options) { return vgpu::Device::create(options); });
}

}  // namespace fiel::worker
