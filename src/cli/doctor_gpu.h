// What libcuda and NVML say about this machine.
#pragma once

#include "cli/doctor.h"
#include "device/cuda_driver.h"
#include "device/nvml.h"

namespace fiel::cli {

DoctorItem examine_gpu(const char* library = device::CudaDriver::kLibrary);
DoctorItem examine_nvml(const char* library = device::Nvml::kLibrary);
DoctorItem gpu_libraries_item(const device::LibraryPresence& nvrtc,
                              const device::LibraryPresence& cupti);

}  // namespace fiel::cli
