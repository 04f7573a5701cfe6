// The binary interface of the CUDA 13 runtime as far as the stand-in serves it: structures by
// layout, handles as opaque pointers. Written from the public documentation, so that Fiel builds
// where no toolkit is installed; tests/worker/abi compares every field with nvcc's own headers.
#pragma once

#include <cstddef>
#include <cstdint>

// The stand-in exports C functions from a shared library that hides everything else.
#define FIEL_CUDART extern "C" __attribute__((visibility("default")))

namespace fiel::standin {

using Error = int32_t;    // cudaError_t
using Handle = uint64_t;  // cudaStream_t, cudaEvent_t, cudaGraph_t …: pointers to nothing

struct Dim3 {
  uint32_t x, y, z;
};

enum MemcpyKind : int32_t { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault };

struct FuncAttributes {
  size_t shared_size_bytes, const_size_bytes, local_size_bytes;
  int max_threads_per_block, num_regs, ptx_version, binary_version, cache_mode_ca;
  int max_dynamic_shared_size_bytes, preferred_shmem_carveout;
  int cluster_dim_must_be_set, required_cluster[3], cluster_policy, non_portable_cluster;
  int reserved[16];
};

struct PointerAttributes {
  int32_t type;  // 0 unregistered, 1 host, 2 device, 3 managed
  int32_t device;
  void *device_pointer, *host_pointer;
  long reserved[8];
};

struct LaunchAttribute {
  int32_t id;
  char pad[4];
  union {
    char bytes[64];
    int32_t cooperative;
    uint32_t cluster[3];
  } value;
};
struct LaunchConfig {
  Dim3 grid, block;
  size_t dynamic_shared_bytes;
  Handle stream;
  LaunchAttribute* attributes;
  uint32_t n_attributes;
};
enum LaunchAttributeId : int32_t { kCooperative = 2, kClusterDimension = 4 };

struct Pos {
  size_t x, y, z;
};
struct PitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
};
struct Extent {
  size_t width, height, depth;
};
struct Memcpy3DParms {
  void* src_array;
  Pos src_pos;
  PitchedPtr src_ptr;
  void* dst_array;
  Pos dst_pos;
  PitchedPtr dst_ptr;
  Extent extent;
  int32_t kind;
};
struct MemsetParams {
  void* dst;
  size_t pitch;
  uint32_t value, element_size;
  size_t width, height;
};
struct KernelNodeParams {
  void* func;
  Dim3 grid, block;
  uint32_t dynamic_shared_bytes;
  void** kernel_params;
  void** extra;
};
struct HostNodeParams {
  void (*fn)(void*);
  void* user_data;
};
struct GraphExecUpdateResultInfo {
  int32_t result;
  Handle error_node, error_from_node;
};
struct GraphInstantiateParams {
  uint64_t flags;
  Handle upload_stream, error_node;
  int32_t result;
};
struct MemLocation {
  int32_t type, id;
};

struct DeviceProp {
  char name[256];
  char uuid[16];
  char luid[8];
  uint32_t luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int multiProcessorCount, integrated, canMapHostMemory;
  int maxTexture1D, maxTexture1DMipmap, maxTexture2D[2], maxTexture2DMipmap[2];
  int maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3];
  int maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3];
  int maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2], maxSurface3D[3];
  int maxSurface1DLayered[2], maxSurface2DLayered[3], maxSurfaceCubemap;
  int maxSurfaceCubemapLayered[2];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver;
  int asyncEngineCount, unifiedAddressing, memoryBusWidth, l2CacheSize;
  int persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported;
  int globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
  int hostNativeAtomicSupported, pageableMemoryAccess, concurrentManagedAccess;
  int computePreemptionSupported, canUseHostPointerForRegisteredMem, cooperativeLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
  int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
  uint32_t gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  uint32_t memoryPoolSupportedHandleTypes;
  int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch;
  int unifiedFunctionPointers, deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId;
  uint32_t gpuPciDeviceID, gpuPciSubsystemID;
  int hostNumaMultinodeIpcSupported;
  int reserved[56];
};

}  // namespace fiel::standin
