// The device process: our code, apart from the judge, that owns the virtual GPU and serves both the
// judge (control channel) and the candidate (runtime channel).
//
//   int main(int argc, char** argv) {
//     if (auto code = fiel::worker::hidden_verb(argc, argv)) return *code;   // first thing in main
//
// The judge starts it by running its own program again with the hidden verb, so every program that
// starts sessions (fiel itself, test executables) begins like that. Once it has its device it locks
// itself in: no files, no network, no programs (sandbox::confine_to_computation).
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "vgpu/device.h"

namespace fiel::worker {

inline constexpr const char* kDeviceVerb = "__fiel-device";

using DeviceFactory =
    std::function<Result<std::unique_ptr<vgpu::Device>>(const vgpu::DeviceOptions&)>;

/// The exit code when argv[1] is a hidden verb, else nothing.
std::optional<int> hidden_verb(int argc, char** argv);
/// The same with another device: for tests.
std::optional<int> hidden_verb(int argc, char** argv, const DeviceFactory& make_device);

}  // namespace fiel::worker
