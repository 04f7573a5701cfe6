#include "device/nvml.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include "device/cuda_driver.h"

namespace fiel::device {
namespace {

using Device = struct nvmlDevice_st*;
struct Memory {
  unsigned long long total, free, used;
};
constexpr unsigned kClockSm = 1, kClockMemory = 2;

}  // namespace

struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*by_uuid)(const char*, Device*) = nullptr;
  int (*clock)(Device, unsigned, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*throttle)(Device, unsigned long long*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
};

Result<std::shared_ptr<Nvml>> Nvml::open(const char* library) {
  // Kept for the process's life: unloading it costs more than it gives.
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fail(ErrorCode::environment, fmt::format("{} is not on this machine", library),
                driver_remedy());
  std::shared_ptr<Nvml> n(new Nvml);
  n->f_ = std::make_unique<Functions>();
  Functions& f = *n->f_;
  auto load = [&](auto& function, const char* symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, symbol));
  };
  load(f.init, "nvmlInit_v2");
  load(f.shutdown, "nvmlShutdown");
  load(f.driver_version, "nvmlSystemGetDriverVersion");
  load(f.by_uuid, "nvmlDeviceGetHandleByUUID");
  load(f.clock, "nvmlDeviceGetClockInfo");
  load(f.power, "nvmlDeviceGetPowerUsage");
  load(f.temperature, "nvmlDeviceGetTemperature");
  load(f.memory, "nvmlDeviceGetMemoryInfo");
  load(f.throttle, "nvmlDeviceGetCurrentClocksEventReasons");
  if (!f.throttle) load(f.throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
  int code = f.init ? f.init() : -1;
  if (code != 0) {
    f.shutdown = nullptr;
    return fail(ErrorCode::environment,
                fmt::format("{} does not initialise (NVML error {})", library, code),
                driver_remedy());
  }
  char text[96] = "";
  if (f.driver_version) f.driver_version(text, sizeof text - 1);
  n->driver_version_ = text;
  return n;
}

Nvml::~Nvml() {
  if (f_ && f_->shutdown) f_->shutdown();
}

Result<GpuState> Nvml::state(const std::string& uuid) const {
  Device d = nullptr;
  if (int code = f_->by_uuid ? f_->by_uuid(uuid.c_str(), &d) : -1; code != 0)
    return fail(ErrorCode::environment, fmt::format("NVML does not know {} ({})", uuid, code));
  GpuState s;
  if (f_->clock) {
    f_->clock(d, kClockSm, &s.sm_clock_mhz);
    f_->clock(d, kClockMemory, &s.memory_clock_mhz);
  }
  if (f_->power) f_->power(d, &s.power_mw);
  if (f_->temperature) f_->temperature(d, 0, &s.temperature_c);
  unsigned long long reasons = 0;
  if (f_->throttle && f_->throttle(d, &reasons) == 0) s.throttle = reasons;
  Memory m{};
  if (f_->memory && f_->memory(d, &m) == 0) {
    s.memory_used_bytes = m.used;
    s.memory_total_bytes = m.total;
  }
  return s;
}

std::string throttle_text(uint64_t reasons) {
  // nvmlClocksEventReason…; idle, application clocks and display settings slow nothing here.
  constexpr struct {
    uint64_t bit;
    const char* text;
  } kReasons[] = {{0x4, "power cap"},
                  {0x8, "hardware slowdown"},
                  {0x10, "sync boost"},
                  {0x20, "software thermal slowdown"},
                  {0x40, "hardware thermal slowdown"},
                  {0x80, "power brake"}};
  std::string text;
  for (const auto& r : kReasons)
    if (reasons & r.bit) text += (text.empty() ? "" : ", ") + std::string(r.text);
  return text;
}

}  // namespace fiel::device
