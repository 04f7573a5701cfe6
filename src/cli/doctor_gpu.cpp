// The driver's own words about GPUs, through dlopen: this binary starts on any machine.
#include "cli/doctor_gpu.h"

#include <dlfcn.h>
#include <fmt/core.h>

namespace fiel::cli {
namespace {

class Library {
 public:
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  explicit operator bool() const { return handle_ != nullptr; }
  template <typename F>
  F get(const char* name) const {
    return reinterpret_cast<F>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

}  // namespace

DoctorItem examine_gpu() {
  DoctorItem item{"gpu", "GPU and driver", DoctorItem::State::missing, "", "", "", false};
  item.cost = "no speeds: kernels are judged on the virtual device, where time is not measured";
  const Library cuda("libcuda.so.1");
  if (!cuda) {
    item.found = "libcuda.so.1 not found";
    item.remedy = "install NVIDIA's driver on a machine with a GPU";
    return item;
  }
  const auto init = cuda.get<int (*)(unsigned)>("cuInit");
  const auto version = cuda.get<int (*)(int*)>("cuDriverGetVersion");
  const auto count = cuda.get<int (*)(int*)>("cuDeviceGetCount");
  const auto name = cuda.get<int (*)(char*, int, int)>("cuDeviceGetName");
  if (init == nullptr || version == nullptr || count == nullptr || name == nullptr) {
    item.found = "libcuda.so.1 lacks the driver API";
    return item;
  }
  int driver = 0, devices = 0;
  version(&driver);
  if (const int code = init(0); code != 0) {
    item.found = fmt::format("driver for CUDA {}.{}, but cuInit answers error {}", driver / 1000,
                             driver % 1000 / 10, code);
    item.remedy = "nvidia-smi";
    return item;
  }
  count(&devices);
  char first[128] = "";
  if (devices > 0) name(first, sizeof first - 1, 0);
  item.found =
      fmt::format("driver for CUDA {}.{}, {} device{}{}{}", driver / 1000, driver % 1000 / 10,
                  devices, devices == 1 ? "" : "s", devices > 0 ? ": " : "", first);
  if (devices == 0) {
    item.remedy = "check CUDA_VISIBLE_DEVICES";
    return item;
  }
  item.state = DoctorItem::State::ok;
  item.cost.clear();
  return item;
}

DoctorItem examine_nvml() {
  DoctorItem item{"nvml",
                  "NVML",
                  DoctorItem::State::missing,
                  "libnvidia-ml.so.1 not found",
                  "no clocks and throttle reasons beside times",
                  "",
                  false};
  const Library nvml("libnvidia-ml.so.1");
  if (!nvml) return item;
  const auto init = nvml.get<int (*)()>("nvmlInit_v2");
  const auto version = nvml.get<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
  const auto shutdown = nvml.get<int (*)()>("nvmlShutdown");
  if (init == nullptr || version == nullptr || shutdown == nullptr || init() != 0) {
    item.found = "libnvidia-ml.so.1 does not initialise";
    return item;
  }
  char text[96] = "";
  version(text, sizeof text - 1);
  shutdown();
  item.state = DoctorItem::State::ok;
  item.found = fmt::format("driver {}", text);
  item.cost.clear();
  return item;
}

}  // namespace fiel::cli
