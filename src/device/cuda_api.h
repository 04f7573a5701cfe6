// The part of CUDA's driver API that is used here, declared by hand: no CUDA header, no link.
//
// Names and values are those of cuda.h 13.0. Functions whose binary interface was revised carry the
// version in the symbol that device/cuda_driver.cpp looks up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fiel::device {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmemHandle = unsigned long long;

struct CUuuid {
  unsigned char bytes[16];
};

inline constexpr CUresult kCuSuccess = 0, kCuInvalidValue = 1, kCuOutOfMemory = 2,
                          kCuNoDevice = 100, kCuNotFound = 500, kCuNotReady = 600,
                          kCuLaunchTimeout = 702;

/// CU_DEVICE_ATTRIBUTE_…
enum CuDeviceAttribute : int {
  kCuMultiprocessors = 16,
  kCuClockRate = 13,
  kCuPciBus = 33,
  kCuPciDevice = 34,
  kCuL2Bytes = 38,
  kCuComputeMajor = 75,
  kCuComputeMinor = 76,
};
/// CU_FUNC_ATTRIBUTE_…
enum CuFunctionAttribute : int {
  kCuMaxThreads = 0,
  kCuSharedBytes = 1,
  kCuLocalBytes = 3,
  kCuRegisters = 4,
  kCuMaxDynamicShared = 8,
  kCuPreferredCarveout = 9,
};

inline constexpr unsigned kCuStreamNonBlocking = 1, kCuEventDisableTiming = 2;
inline constexpr unsigned kCuHostPortable = 1, kCuHostDeviceMap = 2;
inline constexpr unsigned kCuWaitGeq = 0;
inline constexpr int kCuLimitStackBytes = 0, kCuLimitPrintfBytes = 1, kCuLimitPersistingL2 = 6;
inline constexpr unsigned kCuLaunchCooperative = 2;
inline constexpr int kCuHandlePosixFd = 1;

inline void* const kCuParamBufferPointer = reinterpret_cast<void*>(1);
inline void* const kCuParamBufferSize = reinterpret_cast<void*>(2);
inline void* const kCuParamEnd = nullptr;

struct CuLaunchAttribute {
  unsigned id;
  char pad[4];
  union {
    char bytes[64];
    int cooperative;
  } value;
};
static_assert(sizeof(CuLaunchAttribute) == 72);
struct CuLaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  CUstream stream;
  CuLaunchAttribute* attributes;
  unsigned n_attributes;
};
static_assert(sizeof(CuLaunchConfig) == 56);

struct CuMemLocation {
  int type;  ///< 1: a device
  int id;
};
struct CuMemAccess {
  CuMemLocation location;
  int flags;  ///< 3: read and write
};

struct CuMemProperties {  // CUmemAllocationProp
  int type;               ///< 1: pinned
  int handle_types;
  CuMemLocation location;
  void* win32;
  unsigned char flags[8];
};

/// X(member, symbol, parameters): every function is `CUresult symbol(parameters)`.
#define FIEL_CUDA_REQUIRED(X)                                                                  \
  X(init, "cuInit", (unsigned))                                                                \
  X(driver_version, "cuDriverGetVersion", (int*))                                              \
  X(error_name, "cuGetErrorName", (CUresult, const char**))                                    \
  X(error_string, "cuGetErrorString", (CUresult, const char**))                                \
  X(device_count, "cuDeviceGetCount", (int*))                                                  \
  X(device_get, "cuDeviceGet", (CUdevice*, int))                                               \
  X(device_name, "cuDeviceGetName", (char*, int, CUdevice))                                    \
  X(device_uuid, "cuDeviceGetUuid_v2", (CUuuid*, CUdevice))                                    \
  X(device_memory, "cuDeviceTotalMem_v2", (size_t*, CUdevice))                                 \
  X(device_attribute, "cuDeviceGetAttribute", (int*, int, CUdevice))                           \
  X(primary_retain, "cuDevicePrimaryCtxRetain", (CUcontext*, CUdevice))                        \
  X(context_set, "cuCtxSetCurrent", (CUcontext))                                               \
  X(context_synchronize, "cuCtxSynchronize", ())                                               \
  X(context_set_limit, "cuCtxSetLimit", (int, size_t))                                         \
  X(module_load, "cuModuleLoadData", (CUmodule*, const void*))                                 \
  X(module_unload, "cuModuleUnload", (CUmodule))                                               \
  X(module_function, "cuModuleGetFunction", (CUfunction*, CUmodule, const char*))              \
  X(module_global, "cuModuleGetGlobal_v2", (CUdeviceptr*, size_t*, CUmodule, const char*))     \
  X(function_attribute, "cuFuncGetAttribute", (int*, int, CUfunction))                         \
  X(function_set_attribute, "cuFuncSetAttribute", (CUfunction, int, int))                      \
  X(launch, "cuLaunchKernelEx", (const CuLaunchConfig*, CUfunction, void**, void**))           \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int*, CUfunction, int, size_t)) \
  X(memory_info, "cuMemGetInfo_v2", (size_t*, size_t*))                                        \
  X(allocate, "cuMemAlloc_v2", (CUdeviceptr*, size_t))                                         \
  X(release, "cuMemFree_v2", (CUdeviceptr))                                                    \
  X(host_allocate, "cuMemHostAlloc", (void**, size_t, unsigned))                               \
  X(host_register, "cuMemHostRegister_v2", (void*, size_t, unsigned))                          \
  X(host_unregister, "cuMemHostUnregister", (void*))                                           \
  X(host_pointer, "cuMemHostGetDevicePointer_v2", (CUdeviceptr*, void*, unsigned))             \
  X(copy_async, "cuMemcpyAsync", (CUdeviceptr, CUdeviceptr, size_t, CUstream))                 \
  X(fill_async, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))             \
  X(stream_create, "cuStreamCreate", (CUstream*, unsigned))                                    \
  X(stream_query, "cuStreamQuery", (CUstream))                                                 \
  X(stream_wait_event, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))                     \
  X(stream_wait_value, "cuStreamWaitValue32_v2", (CUstream, CUdeviceptr, uint32_t, unsigned))  \
  X(event_create, "cuEventCreate", (CUevent*, unsigned))                                       \
  X(event_record, "cuEventRecord", (CUevent, CUstream))                                        \
  X(event_query, "cuEventQuery", (CUevent))                                                    \
  X(event_elapsed, "cuEventElapsedTime", (float*, CUevent, CUevent))

/// Absent from older drivers, or needed for one feature only: null when missing.
#define FIEL_CUDA_OPTIONAL(X)                                                             \
  X(function_parameter, "cuFuncGetParamInfo", (CUfunction, size_t, size_t*, size_t*))     \
  X(function_name, "cuFuncGetName", (const char**, CUfunction))                           \
  X(module_function_count, "cuModuleGetFunctionCount", (unsigned*, CUmodule))             \
  X(module_functions, "cuModuleEnumerateFunctions", (CUfunction*, unsigned, CUmodule))    \
  X(reset_persisting_l2, "cuCtxResetPersistingL2Cache", ())                               \
  X(import_handle, "cuMemImportFromShareableHandle", (CUmemHandle*, void*, int))          \
  X(granularity, "cuMemGetAllocationGranularity", (size_t*, const CuMemProperties*, int)) \
  X(address_reserve, "cuMemAddressReserve",                                               \
    (CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long))                      \
  X(address_free, "cuMemAddressFree", (CUdeviceptr, size_t))                              \
  X(map, "cuMemMap", (CUdeviceptr, size_t, size_t, CUmemHandle, unsigned long long))      \
  X(unmap, "cuMemUnmap", (CUdeviceptr, size_t))                                           \
  X(set_access, "cuMemSetAccess", (CUdeviceptr, size_t, const CuMemAccess*, size_t))      \
  X(release_handle, "cuMemRelease", (CUmemHandle))

}  // namespace fiel::device
