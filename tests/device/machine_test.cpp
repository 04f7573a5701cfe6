// What this machine has: drivers that are missing, broken or blind, and the names of devices.
#include <gtest/gtest.h>

#include <cstdlib>

#include "device/cuda_driver.h"
#include "device/device_name.h"
#include "device/nvml.h"

namespace fiel::device {
namespace {

TEST(DeviceName, OneGpuAloneIsNamedWithinWhatIsVisible) {
  EXPECT_EQ(visible_alone(0, nullptr), "0");
  EXPECT_EQ(visible_alone(3, nullptr), "3");
  EXPECT_EQ(visible_alone(1, "5,2"), "2");
  EXPECT_EQ(visible_alone(1, "GPU-aa, MIG-bb ,7"), "MIG-bb");
  EXPECT_EQ(visible_alone(2, "5,2"), "");
  EXPECT_EQ(visible_alone(-1, "5,2"), "");
}

TEST(DeviceName, WhatUsersWrite) {
  EXPECT_EQ(parse_device_name("virtual")->cuda, -1);
  EXPECT_EQ(parse_device_name("cuda")->cuda, 0);
  EXPECT_EQ(parse_device_name("cuda:0")->cuda, 0);
  EXPECT_EQ(parse_device_name("cuda:17")->cuda, 17);
  for (const char* wrong : {"", "cpu", "cuda:", "cuda:-1", "cuda:0x", "cuda:1 ", "CUDA:0", "gpu:0",
                            "cuda:99999999999"}) {
    auto name = parse_device_name(wrong);
    ASSERT_FALSE(name) << wrong;
    EXPECT_EQ(name.error().code, ErrorCode::usage);
    EXPECT_FALSE(name.error().hint.empty());
  }
  EXPECT_EQ(to_string(DeviceName{3}), "cuda:3");
  EXPECT_EQ(to_string(DeviceName{}), "virtual");
}

TEST(Driver, AMissingLibraryIsNamedWithAHint) {
  auto driver = CudaDriver::open("libno-such-driver.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::environment);
  EXPECT_NE(driver.error().what.find("libno-such-driver.so.1"), std::string::npos);
  EXPECT_FALSE(driver.error().hint.empty());
  auto nvml = Nvml::open("libno-such-nvml.so.1");
  ASSERT_FALSE(nvml);
  EXPECT_FALSE(nvml.error().hint.empty());
}

TEST(Driver, ALibraryThatIsNoDriverIsSaidToLackSomething) {
  auto driver = CudaDriver::open("libc.so.6");
  ASSERT_FALSE(driver);
  EXPECT_NE(driver.error().what.find("cuInit"), std::string::npos);
}

TEST(Driver, NoDeviceIsExplainedByTheVariable) {
  ::setenv("FAKE_CUDA_NO_DEVICE", "1", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  auto driver = CudaDriver::open(FIEL_FAKE_CUDA);
  ::unsetenv("FAKE_CUDA_NO_DEVICE");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ASSERT_FALSE(driver);
  EXPECT_NE(driver.error().what.find("CUDA_ERROR_NO_DEVICE"), std::string::npos);
  EXPECT_NE(driver.error().hint.find("CUDA_VISIBLE_DEVICES=-1"), std::string::npos);
}

TEST(Driver, AnOrdinalBeyondWhatIsThere) {
  auto driver = CudaDriver::open(FIEL_FAKE_CUDA);
  ASSERT_TRUE(driver);
  EXPECT_EQ((*driver)->gpus()->size(), 1u);
  auto gpu = (*driver)->gpu(3);
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().what, "there is no cuda:3: the driver sees 1 GPU");
}

TEST(Visibility, EveryFormOfTheVariableGetsWords) {
  EXPECT_NE(visibility_hint("").find("empty"), std::string::npos);
  EXPECT_NE(visibility_hint("  ").find("empty"), std::string::npos);
  for (const char* hidden : {"-1", "NoDevFiles"})
    EXPECT_NE(visibility_hint(hidden).find("hides every GPU"), std::string::npos);
  for (const char* list : {"0,1", "1", "GPU-8932f937", "MIG-1", "0,0", " 1 , 0 "})
    EXPECT_NE(visibility_hint(list).find(list), std::string::npos);
  EXPECT_LT(visibility_hint(std::string(10'000, 'x').c_str()).size(), 400u);
}

TEST(Throttle, BitsAsWords) {
  EXPECT_EQ(throttle_text(0), "");
  EXPECT_EQ(throttle_text(0x1), "") << "idle slows nothing";
  EXPECT_EQ(throttle_text(0x4 | 0x40), "power cap, hardware thermal slowdown");
}

}  // namespace
}  // namespace fiel::device
