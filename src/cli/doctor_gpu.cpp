// What CUDA's driver and NVML say about GPUs.
#include "cli/doctor_gpu.h"

#include <fmt/core.h>

#include <cstdlib>

#include "base/files.h"
#include "base/text.h"

namespace fiel::cli {

DoctorItem examine_gpu(const char* library) {
  DoctorItem item{"gpu", "GPU and driver", DoctorItem::State::missing, "", "", "", false};
  item.cost = "no speeds: kernels are judged on the virtual device, where time is not measured";
  const auto driver = device::CudaDriver::open(library);
  if (!driver) {
    item.found = driver.error().what;
    item.remedy = driver.error().hint;
    return item;
  }
  const auto gpus = (*driver)->gpus();
  item.found = "driver for CUDA " + (*driver)->version_text();
  if (!gpus || gpus->empty()) {
    item.found += gpus ? ", no GPU" : ": " + to_string(gpus.error());
    item.remedy = device::visibility_hint(std::getenv("CUDA_VISIBLE_DEVICES"));
    return item;
  }
  for (const device::GpuInfo& g : *gpus)
    item.found += fmt::format("; cuda:{} {} sm_{} {} {}", g.ordinal, g.name, g.architecture(),
                              format_bytes(g.memory_bytes), g.uuid);
  item.state = DoctorItem::State::ok;
  item.cost.clear();
  return item;
}

DoctorItem examine_nvml(const char* library) {
  DoctorItem item{"nvml", "NVML", DoctorItem::State::missing, "", "", "", false};
  item.cost = "no clocks and throttle reasons beside times";
  const auto nvml = device::Nvml::open(library);
  if (!nvml) {
    item.found = nvml.error().what;
    item.remedy = nvml.error().hint;
    return item;
  }
  item.state = DoctorItem::State::ok;
  item.found = "driver " + (*nvml)->driver_version();
  item.cost.clear();
  const auto driver = device::CudaDriver::open();
  const auto gpu = driver ? (*driver)->gpu(0) : fail(driver.error());
  const auto state = gpu ? (*nvml)->state(gpu->uuid) : fail(gpu.error());
  if (!state) return item;
  const std::string slowed = device::throttle_text(state->throttle);
  item.found += fmt::format("; cuda:0 at {} MHz, {:.0f} W, {}", state->sm_clock_mhz,
                            state->power_mw / 1000.0, slowed.empty() ? "not throttled" : slowed);
  return item;
}

DoctorItem gpu_libraries_item(const device::LibraryPresence& nvrtc,
                              const device::LibraryPresence& cupti) {
  DoctorItem item{"gpu-libraries", "NVRTC and CUPTI", DoctorItem::State::ok, "", "", "", false};
  item.found = nvrtc.found ? nvrtc.detail : "no NVRTC";
  item.found += cupti.found ? ", " + cupti.detail : ", no CUPTI";
  if (nvrtc.found && cupti.found) return item;
  item.state = DoctorItem::State::missing;
  item.cost = "nothing here: bare kernels are compiled by nvcc; PyTorch brings its own";
  item.remedy = fmt::format(
      "python3 -m venv {0} && {0}/bin/python -m pip install nvidia-cuda-nvrtc nvidia-cuda-cupti && "
      "export LD_LIBRARY_PATH=$(echo {0}/lib/python3*/site-packages/nvidia/cu13/lib)",
      (cache_dir() / "cuda-libraries").string());
  return item;
}

}  // namespace fiel::cli
