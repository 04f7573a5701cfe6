// A case's buffers and arguments on a device, be it the virtual GPU or a real one.
//
//   CaseMemory memory(test, device);
//   FIEL_TRY_STATUS(memory.make());
//   device.launch(memory.request(test.launches[0], module));
//   for (const std::string& problem : memory.problems()) …   // what [[expect.buffer]] says and is
//   not so
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "case_file.h"

namespace fiel::vgpu::test {

class CaseMemory {
 public:
  CaseMemory(const Case& test, Device& device) : test_(test), device_(device) {}

  /// Bytes that no `fill` sets are 0xff on every device: allocate() poisons.
  Status make();
  /// Gives everything back that make() has not freed.
  void release();
  /// Kernel, extents and arguments; schedule and checks are the caller's.
  LaunchRequest request(const CaseLaunch& launch, uint32_t module) const;
  Result<std::vector<std::byte>> bytes(const CaseBuffer& buffer) const;
  std::vector<std::string> problems() const;
  /// 0 for what was not made.
  uint64_t address(const std::string& buffer) const;

 private:
  Status make(const CaseBuffer& buffer);
  const CaseBuffer* buffer(const std::string& name) const;
  std::vector<uint8_t> parameters(const CaseLaunch& launch, uint32_t module) const;
  std::vector<std::byte> argument(const std::string& text) const;
  double expected(const CaseExpect::Buffer& rule, uint64_t i) const;
  std::string problem(const CaseExpect::Buffer& rule) const;

  const Case& test_;
  Device& device_;
  std::map<std::string, uint64_t> address_;
};

}  // namespace fiel::vgpu::test
