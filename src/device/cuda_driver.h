// CUDA's driver, found at run time: this binary starts on any machine and says what is missing.
//
//   FIEL_TRY(auto driver, CudaDriver::open());
//   FIEL_TRY(GpuInfo gpu, driver->gpu(0));
//   if (CUresult r = driver->allocate(&p, bytes)) return fail(driver->error(r, "cuMemAlloc"));
//
// open() loads the library and calls cuInit: it makes no context and touches no memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/cuda_api.h"

namespace fiel::device {

struct GpuInfo {
  int ordinal = 0;   ///< CUDA's, within CUDA_VISIBLE_DEVICES
  std::string name;  ///< "NVIDIA H200"
  std::string uuid;  ///< "GPU-8932f937-…", or "MIG-…" for a slice
  int compute_major = 0, compute_minor = 0;
  uint64_t memory_bytes = 0, l2_bytes = 0;
  uint32_t multiprocessors = 0;

  /// What nvcc's -arch takes for all features of this GPU: "90a", "100a", "86".
  std::string architecture() const;
};

class CudaDriver {
 public:
  static constexpr const char* kLibrary = "libcuda.so.1";

  /// Errors: no library, a library without what is needed, no device; each with a hint.
  static Result<std::shared_ptr<const CudaDriver>> open(const char* library = kLibrary);

  int version() const { return version_; }  ///< 13000
  std::string version_text() const;         ///< "13.0"
  Result<int> gpu_count() const;
  Result<GpuInfo> gpu(int ordinal) const;
  Result<std::vector<GpuInfo>> gpus() const;
  Error error(CUresult result, const std::string& doing) const;
  std::string name_of(CUresult result) const;  ///< "CUDA_ERROR_ILLEGAL_ADDRESS"

#define FIEL_CUDA_MEMBER(member, symbol, parameters) CUresult(*member) parameters = nullptr;
  FIEL_CUDA_REQUIRED(FIEL_CUDA_MEMBER)
  FIEL_CUDA_OPTIONAL(FIEL_CUDA_MEMBER)
#undef FIEL_CUDA_MEMBER

 private:
  CudaDriver() = default;
  Status load(const char* library);
  int version_ = 0;
};

/// The commands that bring a driver; NVML and libcuda come with it.
std::string driver_remedy();
/// Why there may be no GPU although there is a driver: what CUDA_VISIBLE_DEVICES says, in words.
std::string visibility_hint(const char* cuda_visible_devices);

/// Whether a library that is used when it is there can be loaded: NVRTC, CUPTI.
struct LibraryPresence {
  bool found = false;
  std::string detail;  ///< the name that was found, or dlopen's complaint
};
LibraryPresence find_nvrtc();
LibraryPresence find_cupti();

}  // namespace fiel::device
