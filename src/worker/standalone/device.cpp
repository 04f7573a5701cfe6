// The stand-in's device: what an H200 would say about itself, kernel attributes, occupancy, errors.
#include <algorithm>
#include <cstring>

#include "kernels.h"

namespace fiel::standin {
namespace {

using namespace worker;

constexpr int kVersion = 13000;
constexpr int kSharedDefault = 48 << 10, kSharedMax = 227 << 10, kSharedPerSm = 228 << 10;
// Registers are ptxas's business; callers that divide by it need a number, and 32 is what small
// kernels have.
constexpr int kAssumedRegisters = 32;

Error attribute(int* value, int32_t which) {
  switch (which) {
    case 1:
    case 2:
    case 3:
      *value = 1024;
      break;
    case 4:
      *value = 64;
      break;
    case 5:
      *value = 0x7fffffff;
      break;
    case 6:
    case 7:
      *value = 65535;
      break;
    case 8:
      *value = kSharedDefault;
      break;
    case 9:
      *value = 64 << 10;
      break;
    case 10:
      *value = 32;
      break;
    case 11:
      *value = 0x7fffffff;
      break;
    case 12:
    case 82:
      *value = 65536;
      break;
    case 13:
      *value = 1980000;
      break;
    case 14:
    case 30:
      *value = 512;
      break;
    case 16:
      *value = static_cast<int>(device_facts().multiprocessors);
      break;
    case 36:
      *value = 3201000;
      break;
    case 37:
      *value = 6144;
      break;
    case 38:
      *value = 60 << 20;
      break;
    case 39:
      *value = 2048;
      break;
    case 40:
      *value = 3;
      break;
    case 51:
      *value = 32;
      break;
    case 75:
      *value = 9;
      break;
    case 76:
      *value = 0;
      break;
    case 81:
      *value = kSharedPerSm;
      break;
    case 87:
      *value = 2;
      break;
    case 97:
      *value = kSharedMax;
      break;
    case 106:
      *value = 32;
      break;
    case 108:
      *value = 37 << 20;
      break;
    case 109:
      *value = 128 << 20;
      break;
    case 111:
      *value = 1024;
      break;
    case 15:
    case 19:
    case 31:
    case 32:
    case 41:
    case 78:
    case 79:
    case 80:
    case 83:
    case 89:
    case 90:
    case 95:
    case 115:
      *value = 1;
      break;
    // Clusters are refused at launch, so the device does not claim them.
    default:
      *value = 0;
      break;
  }
  return kCudaSuccess;
}

}  // namespace

FIEL_CUDART Error cudaDeviceGetAttribute(int* value, int32_t which, int device) {
  if (!value || which < 1) return set_error(kCudaErrorInvalidValue);
  if (device != 0) return set_error(kCudaErrorInvalidDevice);
  return attribute(value, which);
}

FIEL_CUDART Error cudaGetDeviceProperties(DeviceProp* p, int device) {
  if (!p) return set_error(kCudaErrorInvalidValue);
  if (device != 0) return set_error(kCudaErrorInvalidDevice);
  *p = {};
  std::strncpy(p->name, "Fiel virtual GPU (sm_90)", sizeof p->name - 1);
  DeviceFacts facts = device_facts();
  p->totalGlobalMem = facts.memory_bytes;
  p->sharedMemPerBlock = kSharedDefault;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->memPitch = 0x7fffffff;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->totalConstMem = 64 << 10;
  p->major = 9;
  p->minor = 0;
  p->textureAlignment = p->surfaceAlignment = 512;
  p->texturePitchAlignment = 32;
  p->multiProcessorCount = static_cast<int>(facts.multiprocessors);
  p->canMapHostMemory = p->concurrentKernels = p->ECCEnabled = p->unifiedAddressing = 1;
  p->asyncEngineCount = 3;
  p->memoryBusWidth = 6144;
  p->l2CacheSize = 60 << 20;
  p->persistingL2CacheMaxSize = 37 << 20;
  p->maxThreadsPerMultiProcessor = 2048;
  p->streamPrioritiesSupported = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->sharedMemPerMultiprocessor = kSharedPerSm;
  p->managedMemory = p->concurrentManagedAccess = p->computePreemptionSupported = 1;
  p->cooperativeLaunch = p->memoryPoolsSupported = 1;
  p->sharedMemPerBlockOptin = kSharedMax;
  p->maxBlocksPerMultiProcessor = 32;
  p->accessPolicyMaxWindowSize = 128 << 20;
  p->reservedSharedMemPerBlock = 1024;
  return kCudaSuccess;
}

FIEL_CUDART Error cudaGetDeviceCount(int* n) {
  *n = 1;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaGetDevice(int* device) {
  *device = 0;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaSetDevice(int device) {
  return device == 0 ? kCudaSuccess : set_error(kCudaErrorInvalidDevice);
}
FIEL_CUDART Error cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
FIEL_CUDART Error cudaChooseDevice(int* device, const DeviceProp*) { return cudaGetDevice(device); }
FIEL_CUDART Error cudaSetValidDevices(int*, int) { return kCudaSuccess; }
FIEL_CUDART Error cudaSetDeviceFlags(unsigned) { return kCudaSuccess; }
FIEL_CUDART Error cudaGetDeviceFlags(unsigned* flags) {
  *flags = 8;  // host memory can be mapped
  return kCudaSuccess;
}
FIEL_CUDART Error cudaDeviceReset() { return call(Rt::device_synchronize, {}); }
FIEL_CUDART Error cudaDriverGetVersion(int* v) {
  *v = kVersion;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaRuntimeGetVersion(int* v) {
  *v = kVersion;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaDeviceSetCacheConfig(int32_t) { return kCudaSuccess; }
FIEL_CUDART Error cudaDeviceGetCacheConfig(int32_t* config) {
  *config = 0;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaDeviceSetLimit(int32_t, size_t) { return kCudaSuccess; }
FIEL_CUDART Error cudaDeviceGetLimit(size_t* value, int32_t which) {
  constexpr size_t kLimits[] = {1024, 1 << 20, 8 << 20};  // stack, printf, heap
  *value = which >= 0 && which < 3 ? kLimits[which] : 0;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaCtxResetPersistingL2Cache() { return kCudaSuccess; }
FIEL_CUDART Error cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaDeviceEnablePeerAccess(int, unsigned) {
  return set_error(kCudaErrorPeerAccessUnsupported);
}
FIEL_CUDART Error cudaDeviceGetPCIBusId(char* id, int n, int) {
  std::strncpy(id, "0000:00:00.0", static_cast<size_t>(std::max(n, 1)) - 1);
  return kCudaSuccess;
}
FIEL_CUDART Error cudaProfilerStart() { return kCudaSuccess; }
FIEL_CUDART Error cudaProfilerStop() { return kCudaSuccess; }

FIEL_CUDART Error cudaGetLastError() { return take_error(); }
FIEL_CUDART Error cudaPeekAtLastError() { return peek_error(); }
FIEL_CUDART const char* cudaGetErrorName(Error e) { return cuda_error_name(e); }
FIEL_CUDART const char* cudaGetErrorString(Error e) { return cuda_error_text(e); }

FIEL_CUDART Error cudaFuncGetAttributes(FuncAttributes* a, const void* function) {
  KernelEntry* k = find_kernel(function);
  if (!k || !a) return set_error(kCudaErrorInvalidDeviceFunction);
  if (Error e = resolve(*k); e != kCudaSuccess) return e;
  *a = {};
  a->shared_size_bytes = k->info.static_shared_bytes;
  a->local_size_bytes = k->info.local_bytes;
  a->max_threads_per_block = static_cast<int>(std::min(k->info.max_threads, 1024u));
  a->num_regs = kAssumedRegisters;
  a->ptx_version = a->binary_version = 90;
  int shared = static_cast<int>(k->info.static_shared_bytes);
  a->max_dynamic_shared_size_bytes =
      k->max_dynamic_shared >= 0 ? k->max_dynamic_shared : std::max(kSharedDefault - shared, 0);
  a->preferred_shmem_carveout = k->carveout;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaFuncSetAttribute(const void* function, int32_t which, int value) {
  KernelEntry* k = find_kernel(function);
  if (!k) return set_error(kCudaErrorInvalidDeviceFunction);
  if (Error e = resolve(*k); e != kCudaSuccess) return e;
  WireWriter w;
  w.put(k->info.kernel).put(static_cast<uint32_t>(which)).put<int32_t>(value);
  Error e = call(Rt::set_kernel_attribute, w);
  if (e != kCudaSuccess) return e;
  if (which == kMaxDynamicSharedBytes) k->max_dynamic_shared = value;
  if (which == kPreferredCarveout) k->carveout = value;
  return kCudaSuccess;
}
FIEL_CUDART Error cudaFuncSetCacheConfig(const void*, int32_t) { return kCudaSuccess; }
FIEL_CUDART Error cudaFuncGetName(const char** name, const void* function) {
  KernelEntry* k = find_kernel(function);
  if (!k) return set_error(kCudaErrorInvalidDeviceFunction);
  *name = k->name.c_str();
  return kCudaSuccess;
}
FIEL_CUDART Error cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset,
                                       size_t* size) {
  KernelEntry* k = find_kernel(function);
  if (!k) return set_error(kCudaErrorInvalidDeviceFunction);
  if (Error e = resolve(*k); e != kCudaSuccess) return e;
  if (index >= k->parameters.size()) return set_error(kCudaErrorInvalidValue);
  *offset = k->parameters[index].first;
  if (size) *size = k->parameters[index].second;
  return kCudaSuccess;
}

FIEL_CUDART Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                         const void* function,
                                                                         int threads, size_t shared,
                                                                         unsigned) {
  KernelEntry* k = find_kernel(function);
  if (!k || !blocks) return set_error(kCudaErrorInvalidDeviceFunction);
  if (Error e = resolve(*k); e != kCudaSuccess) return e;
  if (threads <= 0) return set_error(kCudaErrorInvalidValue);
  WireWriter w;
  w.put(k->info.kernel).put(static_cast<uint32_t>(threads)).put<uint64_t>(shared);
  Reply reply;
  Error e = call(Rt::occupancy, w, &reply);
  if (e == kCudaSuccess) *blocks = static_cast<int>(reply.reader().get<uint32_t>());
  return e;
}
FIEL_CUDART Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared,
                                                                0);
}
FIEL_CUDART Error cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function,
                                                            int blocks, int) {
  KernelEntry* k = find_kernel(function);
  if (!k || blocks <= 0) return set_error(kCudaErrorInvalidValue);
  if (Error e = resolve(*k); e != kCudaSuccess) return e;
  int each = std::min(kSharedPerSm / blocks - 1024, kSharedMax);
  *bytes = static_cast<size_t>(std::max(each - static_cast<int>(k->info.static_shared_bytes), 0));
  return kCudaSuccess;
}

// ---- the driver: there is none. 1 = symbol not found.
FIEL_CUDART Error cudaGetDriverEntryPoint(const char*, void** function, unsigned long long,
                                          int32_t* status) {
  if (function) *function = nullptr;
  if (status) *status = 1;
  return status ? kCudaSuccess : not_supported("the driver's entry points");
}
FIEL_CUDART Error cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned,
                                                   unsigned long long, int32_t* status) {
  return cudaGetDriverEntryPoint(nullptr, function, 0, status);
}
FIEL_CUDART Error cudaGetDriverEntryPoint_ptsz(const char*, void** function, unsigned long long,
                                               int32_t* status) {
  return cudaGetDriverEntryPoint(nullptr, function, 0, status);
}

}  // namespace fiel::standin
