#include "device/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>

namespace fiel::device {
namespace {

std::string uuid_text(const CUuuid& u) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", u.bytes[i]);
  }
  return text;
}

LibraryPresence find_library(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (void* handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
      ::dlclose(handle);
      return {true, name};
    }
  const char* why = ::dlerror();
  return {false, why ? why : "not found"};
}

}  // namespace

std::string GpuInfo::architecture() const {
  // Architecture-specific features (wgmma, setmaxnreg) exist from 9.0 on.
  return fmt::format("{}{}{}", compute_major, compute_minor, compute_major >= 9 ? "a" : "");
}

std::string driver_remedy() {
  return "apt-get install nvidia-driver (Debian, non-free) or ubuntu-drivers install (Ubuntu); in "
         "a "
         "container: docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility";
}

std::string visibility_hint(const char* visible) {
  if (!visible) return "nvidia-smi -L shows what the driver sees";
  std::string value = visible;
  if (value.find_first_not_of(" \t") == std::string::npos)
    return "CUDA_VISIBLE_DEVICES is empty, which hides every GPU: unset CUDA_VISIBLE_DEVICES";
  if (value == "-1" || value == "NoDevFiles")
    return fmt::format("CUDA_VISIBLE_DEVICES={} hides every GPU: unset CUDA_VISIBLE_DEVICES",
                       value);
  return fmt::format("CUDA_VISIBLE_DEVICES={:.200} names what this machine has not: nvidia-smi -L",
                     value);
}

Status CudaDriver::load(const char* library) {
  // Kept for the process's life: the driver's threads outlive any handle.
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fail(ErrorCode::environment, fmt::format("{} is not on this machine", library),
                driver_remedy() + "; without a GPU use --device virtual");
  std::string lacking;
#define FIEL_CUDA_LOAD(member, symbol, parameters)                            \
  member = reinterpret_cast<CUresult(*) parameters>(::dlsym(handle, symbol)); \
  if (!member && lacking.empty()) lacking = symbol;
  FIEL_CUDA_REQUIRED(FIEL_CUDA_LOAD)
#undef FIEL_CUDA_LOAD
#define FIEL_CUDA_LOAD(member, symbol, parameters) \
  member = reinterpret_cast<CUresult(*) parameters>(::dlsym(handle, symbol));
  FIEL_CUDA_OPTIONAL(FIEL_CUDA_LOAD)
#undef FIEL_CUDA_LOAD
  if (!lacking.empty())
    return fail(ErrorCode::environment, fmt::format("{} has no {}", library, lacking),
                "the driver is older than CUDA 12.0: " + driver_remedy());
  return {};
}

Result<std::shared_ptr<const CudaDriver>> CudaDriver::open(const char* library) {
  std::shared_ptr<CudaDriver> d(new CudaDriver);
  FIEL_TRY_STATUS(d->load(library));
  (void)d->driver_version(&d->version_);
  if (CUresult r = d->init(0); r != kCuSuccess) {
    Error e = d->error(r, "cuInit");
    e.hint = visibility_hint(std::getenv("CUDA_VISIBLE_DEVICES"));
    return fail(std::move(e));
  }
  return d;
}

std::string CudaDriver::version_text() const {
  return fmt::format("{}.{}", version_ / 1000, version_ % 1000 / 10);
}

std::string CudaDriver::name_of(CUresult result) const {
  const char* name = nullptr;
  if (error_name && error_name(result, &name) == kCuSuccess && name) return name;
  return fmt::format("CUDA error {}", result);
}

Error CudaDriver::error(CUresult result, const std::string& doing) const {
  const char* text = nullptr;
  if (!error_string || error_string(result, &text) != kCuSuccess || !text) text = "unknown error";
  ErrorCode code = result == kCuOutOfMemory ? ErrorCode::limit : ErrorCode::environment;
  return {code, fmt::format("{}: {} ({})", doing, name_of(result), text), {}, {}};
}

Result<int> CudaDriver::gpu_count() const {
  int n = 0;
  if (CUresult r = device_count(&n); r != kCuSuccess) return fail(error(r, "cuDeviceGetCount"));
  return n;
}

Result<GpuInfo> CudaDriver::gpu(int ordinal) const {
  FIEL_TRY(int n, gpu_count());
  if (ordinal < 0 || ordinal >= n)
    return fail(ErrorCode::environment,
                n == 0 ? std::string("the driver sees no GPU")
                       : fmt::format("there is no cuda:{}: the driver sees {} GPU{}", ordinal, n,
                                     n == 1 ? "" : "s"),
                visibility_hint(std::getenv("CUDA_VISIBLE_DEVICES")));
  GpuInfo g;
  g.ordinal = ordinal;
  CUdevice d = 0;
  if (CUresult r = device_get(&d, ordinal); r != kCuSuccess) return fail(error(r, "cuDeviceGet"));
  char name[256] = "";
  (void)device_name(name, sizeof name - 1, d);
  g.name = name;
  CUuuid uuid{};
  if (device_uuid(&uuid, d) == kCuSuccess) g.uuid = uuid_text(uuid);
  // A slice of a GPU calls itself so; its identifier has another prefix than a card's.
  if (g.name.find(" MIG ") != std::string::npos) g.uuid.replace(0, 3, "MIG");
  size_t bytes = 0;
  (void)device_memory(&bytes, d);
  g.memory_bytes = bytes;
  auto ask = [&](CuDeviceAttribute a) {
    int v = 0;
    return device_attribute(&v, a, d) == kCuSuccess ? v : 0;
  };
  g.compute_major = ask(kCuComputeMajor);
  g.compute_minor = ask(kCuComputeMinor);
  g.l2_bytes = static_cast<uint64_t>(ask(kCuL2Bytes));
  g.multiprocessors = static_cast<uint32_t>(ask(kCuMultiprocessors));
  return g;
}

Result<std::vector<GpuInfo>> CudaDriver::gpus() const {
  FIEL_TRY(int n, gpu_count());
  std::vector<GpuInfo> all;
  for (int i = 0; i < n; ++i) {
    FIEL_TRY(GpuInfo g, gpu(i));
    all.push_back(std::move(g));
  }
  return all;
}

LibraryPresence find_nvrtc() {
  return find_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
}
LibraryPresence find_cupti() {
  return find_library({"libcupti.so.13", "libcupti.so.12", "libcupti.so"});
}

}  // namespace fiel::device
