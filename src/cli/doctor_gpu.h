// What libcuda and NVML say about this machine.
#pragma once

#include "cli/doctor.h"

namespace fiel::cli {

DoctorItem examine_gpu();
DoctorItem examine_nvml();
DoctorItem examine_gpu_libraries();

}  // namespace fiel::cli
