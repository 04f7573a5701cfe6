// The judge's end of the control channel: starts the device process and asks it things.
//
//   FIEL_TRY(auto client, DeviceClient::start(options, runtime_socket));
//   FIEL_TRY(uint64_t x, client->allocate(bytes, "x"));
//   client->send(Ctl::call, message);  …wait on client->descriptor()…  client->receive(deadline);
//
// The device process ends with this object. Large transfers go through shared memory in pieces.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "device/device_name.h"
#include "sandbox/gpu_confinement.h"
#include "vgpu/device.h"
#include "worker/control_protocol.h"
#include "worker/device_facts.h"
#include "worker/wire.h"

namespace fiel::worker {

class DeviceClient {
 public:
  /// `runtime_socket` is the device's end of the candidate's channel, or -1 when there is none.
  static Result<std::unique_ptr<DeviceClient>> start(const vgpu::DeviceOptions& options,
                                                     int runtime_socket,
                                                     device::DeviceName where = {});
  ~DeviceClient();
  DeviceClient(const DeviceClient&) = delete;
  DeviceClient& operator=(const DeviceClient&) = delete;

  Result<uint64_t> allocate(uint64_t bytes, std::string_view label);
  Status free(uint64_t address);
  Status write(uint64_t address, std::span<const std::byte> bytes);
  Status read(uint64_t address, std::span<std::byte> bytes);
  Status poison(uint64_t address, uint64_t bytes, uint8_t pattern);
  Status mark_output(uint64_t address);
  Result<vgpu::Coverage> coverage(uint64_t address);
  Result<uint64_t> import_window(int descriptor, uint64_t bytes);
  Status drop_window(uint64_t address);
  Result<std::vector<vgpu::KernelInfo>> kernels();
  Result<uint32_t> load_module(std::string_view ptx, std::string_view name);
  Result<std::vector<vgpu::KernelInfo>> module_kernels(uint32_t module);

  /// For what takes long: send, wait until descriptor() is readable, receive.
  Status send(Ctl op, const WireWriter& request, int descriptor = -1);
  Result<std::vector<uint8_t>> receive(int64_t timeout_ms);
  /// send + receive.
  Result<std::vector<uint8_t>> ask(Ctl op, const WireWriter& request, int64_t timeout_ms = 60'000);
  int descriptor() const { return control_.get(); }
  bool alive() const { return !dead_; }
  void kill();
  const std::string& isa_name() const { return facts_.isa; }
  const DeviceFacts& facts() const { return facts_; }

 private:
  DeviceClient() = default;
  Status spawn(int runtime_socket);
  Status initialize(const vgpu::DeviceOptions& options, bool with_candidate,
                    device::DeviceName where, sandbox::GpuConfinement confinement);
  Fd control_, window_fd_;
  std::byte* window_ = nullptr;
  pid_t pid_ = -1;
  bool dead_ = false;
  uint32_t sequence_ = 0;
  DeviceFacts facts_;
};

}  // namespace fiel::worker
