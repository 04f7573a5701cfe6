#include "cli/doctor.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/doctor_gpu.h"

namespace fiel::cli {
namespace {

using State = DoctorItem::State;

void expect_missing(const DoctorItem& item, const std::string& command) {
  EXPECT_NE(item.state, State::ok) << item.title;
  EXPECT_NE(item.cost, "") << item.title;
  EXPECT_NE(item.remedy.find(command), std::string::npos) << item.title << ": " << item.remedy;
}

TEST(Doctor, AMissingDriverIsNamedWithTheCommandThatBringsIt) {
  const DoctorItem gpu = examine_gpu("libcuda-none.so.1");
  expect_missing(gpu, "apt-get install nvidia-driver");
  EXPECT_EQ(gpu.id, "gpu");
  EXPECT_EQ(gpu.found, "libcuda-none.so.1 is not on this machine");
  const DoctorItem nvml = examine_nvml("libnvidia-none.so.1");
  expect_missing(nvml, "apt-get install nvidia-driver");
  EXPECT_EQ(nvml.id, "nvml");
}

TEST(Doctor, LibrariesOfTheGpuThatAreMissingComeFromPyPI) {
  const device::LibraryPresence nvrtc{true, "libnvrtc.so.13"}, cupti{true, "libcupti.so.13"};
  const device::LibraryPresence none{false, "not found"};
  const DoctorItem both = gpu_libraries_item(nvrtc, cupti);
  EXPECT_EQ(both.state, State::ok);
  EXPECT_EQ(both.found, "libnvrtc.so.13, libcupti.so.13");
  EXPECT_EQ(both.remedy + both.cost, "");
  for (const DoctorItem& item : {gpu_libraries_item(none, cupti), gpu_libraries_item(nvrtc, none),
                                 gpu_libraries_item(none, none)})
    expect_missing(item, "pip install nvidia-cuda-nvrtc nvidia-cuda-cupti");
}

TEST(Doctor, ASmallMachineIsTold) {
  const DoctorItem small = memory_item((2ull << 30) - 1, 1u << 30);
  expect_missing(small, "--shapes");
  EXPECT_EQ(small.state, State::limited);
  const DoctorItem enough = memory_item(2ull << 30, 0);
  EXPECT_EQ(enough.state, State::ok);
  EXPECT_EQ(enough.found, "2.00 GiB, 0 B free");
  EXPECT_EQ(enough.remedy + enough.cost, "");
}

}  // namespace
}  // namespace fiel::cli
