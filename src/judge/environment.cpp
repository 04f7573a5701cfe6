#include "judge/environment.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include "device/nvml.h"
#include "vgpu/cpu_features.h"

namespace fiel::judge {

Environment describe_environment() {
  Environment e;
  e.fiel_version = FIEL_VERSION;
  e.fiel_commit = FIEL_COMMIT;
  e.device = "virtual";
  e.isa = vgpu::cpu_runs_avx512() ? "avx512" : vgpu::cpu_runs_avx2() ? "avx2" : "baseline";
  utsname host = {};
  // The kernel's name and release, not the host's name: verdicts are passed around.
  if (uname(&host) == 0) e.host = fmt::format("{} {} {}", host.sysname, host.release, host.machine);
  return e;
}

Result<device::GpuInfo> describe_gpu(const device::DeviceName& name, Environment& environment) {
  FIEL_TRY(auto driver, device::CudaDriver::open());
  FIEL_TRY(device::GpuInfo gpu, driver->gpu(name.cuda));
  environment.device = gpu.name;
  environment.isa = "sm_" + gpu.architecture();
  environment.device_uuid = gpu.uuid;
  environment.cuda = driver->version_text();
  if (auto nvml = device::Nvml::open()) environment.driver = (*nvml)->driver_version();
  return gpu;
}

}  // namespace fiel::judge
