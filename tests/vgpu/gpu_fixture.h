// A virtual GPU with a module loaded, for tests that run whole kernels.
//
//   Gpu gpu(read_text("tests/vgpu/kernels/gemm_async.ptx"));
//   uint64_t x = gpu.upload(values), y = gpu.allocate(512);
//   LaunchReport report = gpu.launch("kernel", {1, 1, 1}, {32, 1, 1}, Arguments().add(x).add(y));
//
// Failures of the fixture itself (a module that does not load) abort the test by assertion.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "places.h"
#include "vgpu/device.h"

namespace fiel::vgpu {

inline std::string read_text(const std::string& path_in_repository) {
  std::ifstream file(in_source("") + path_in_repository);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path_in_repository;
  return text.str();
}

/// A kernel's parameter block; every value is aligned to its size.
class Arguments {
 public:
  template <typename T>
  Arguments& add(T value) {
    while (bytes_.size() % sizeof(T) != 0) bytes_.push_back(0);
    bytes_.resize(bytes_.size() + sizeof(T));
    std::memcpy(bytes_.data() + bytes_.size() - sizeof(T), &value, sizeof(T));
    return *this;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

class Gpu {
 public:
  explicit Gpu(const std::string& ptx, IsaChoice isa = IsaChoice::automatic) {
    DeviceOptions options;
    options.isa = isa;
    auto device = Device::create(options);
    EXPECT_TRUE(device.has_value());
    device_ = std::move(*device);
    auto module = device_->load_module(ptx, "test.cu");
    EXPECT_TRUE(module.has_value()) << (module ? "" : to_string(module.error()));
    module_ = module.value_or(0);
  }
  Device& device() { return *device_; }
  uint64_t allocate(uint64_t bytes, const char* label = "buffer") {
    return device_->allocate(bytes, label).value_or(0);
  }
  template <typename T>
  uint64_t upload(const std::vector<T>& values, const char* label = "input") {
    const uint64_t at = allocate(values.size() * sizeof(T), label);
    EXPECT_TRUE(device_->write(at, std::as_bytes(std::span(values))).has_value());
    return at;
  }
  template <typename T>
  std::vector<T> download(uint64_t at, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(device_->read(at, std::as_writable_bytes(std::span(values))).has_value());
    return values;
  }
  LaunchReport launch(const char* kernel, Dim3 grid, Dim3 block, const Arguments& arguments,
                      uint64_t budget = 2'000'000'000, uint32_t dynamic_shared_bytes = 0) {
    LaunchRequest request;
    request.module = module_;
    request.kernel = kernel;
    request.grid = grid;
    request.block = block;
    request.parameters = arguments.bytes();
    request.instruction_budget = budget;
    request.dynamic_shared_bytes = dynamic_shared_bytes;
    return device_->launch(request);
  }

 private:
  std::unique_ptr<Device> device_;
  uint32_t module_ = 0;
};

/// All findings, a line each; empty when the launch was clean.
inline std::string findings_of(const LaunchReport& report) {
  std::string text = report.status == LaunchStatus::completed ? "" : report.message + "\n";
  for (const Finding& f : report.findings) {
    if (f.grade != Grade::info) text += to_string(f) + "\n";
  }
  return text;
}
inline const Finding* find(const LaunchReport& report, FindingKind kind) {
  for (const Finding& f : report.findings) {
    if (f.kind == kind) return &f;
  }
  return nullptr;
}

}  // namespace fiel::vgpu
