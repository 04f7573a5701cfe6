// The stand-in's structures against the toolkit's own headers: compiled, not run.
#include <cuda_runtime.h>

#include <cstddef>

#include "worker/standalone/cuda_abi.h"

namespace s = fiel::standin;
#define SAME_SIZE(ours, theirs) static_assert(sizeof(s::ours) == sizeof(theirs), #theirs)
#define SAME(ours, a, theirs, b) \
  static_assert(offsetof(s::ours, a) == offsetof(theirs, b), #theirs "::" #b)

SAME_SIZE(DeviceProp, cudaDeviceProp);
SAME(DeviceProp, totalGlobalMem, cudaDeviceProp, totalGlobalMem);
SAME(DeviceProp, maxThreadsDim, cudaDeviceProp, maxThreadsDim);
SAME(DeviceProp, totalConstMem, cudaDeviceProp, totalConstMem);
SAME(DeviceProp, multiProcessorCount, cudaDeviceProp, multiProcessorCount);
SAME(DeviceProp, surfaceAlignment, cudaDeviceProp, surfaceAlignment);
SAME(DeviceProp, l2CacheSize, cudaDeviceProp, l2CacheSize);
SAME(DeviceProp, sharedMemPerMultiprocessor, cudaDeviceProp, sharedMemPerMultiprocessor);
SAME(DeviceProp, cooperativeLaunch, cudaDeviceProp, cooperativeLaunch);
SAME(DeviceProp, sharedMemPerBlockOptin, cudaDeviceProp, sharedMemPerBlockOptin);
SAME(DeviceProp, reservedSharedMemPerBlock, cudaDeviceProp, reservedSharedMemPerBlock);
SAME(DeviceProp, memoryPoolsSupported, cudaDeviceProp, memoryPoolsSupported);
SAME(DeviceProp, clusterLaunch, cudaDeviceProp, clusterLaunch);
SAME(DeviceProp, reserved, cudaDeviceProp, reserved);
SAME_SIZE(FuncAttributes, cudaFuncAttributes);
SAME(FuncAttributes, num_regs, cudaFuncAttributes, numRegs);
SAME(FuncAttributes, preferred_shmem_carveout, cudaFuncAttributes, preferredShmemCarveout);
SAME_SIZE(PointerAttributes, cudaPointerAttributes);
SAME(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
SAME_SIZE(LaunchAttribute, cudaLaunchAttribute);
SAME(LaunchAttribute, value, cudaLaunchAttribute, val);
SAME_SIZE(LaunchConfig, cudaLaunchConfig_t);
SAME(LaunchConfig, stream, cudaLaunchConfig_t, stream);
SAME(LaunchConfig, n_attributes, cudaLaunchConfig_t, numAttrs);
SAME_SIZE(Memcpy3DParms, cudaMemcpy3DParms);
SAME(Memcpy3DParms, extent, cudaMemcpy3DParms, extent);
SAME_SIZE(MemsetParams, cudaMemsetParams);
SAME(MemsetParams, value, cudaMemsetParams, value);
SAME(MemsetParams, width, cudaMemsetParams, width);
SAME_SIZE(KernelNodeParams, cudaKernelNodeParams);
SAME(KernelNodeParams, kernel_params, cudaKernelNodeParams, kernelParams);
SAME_SIZE(HostNodeParams, cudaHostNodeParams);
SAME_SIZE(GraphExecUpdateResultInfo, cudaGraphExecUpdateResultInfo);
SAME_SIZE(GraphInstantiateParams, cudaGraphInstantiateParams);
SAME(GraphInstantiateParams, result, cudaGraphInstantiateParams, result_out);
SAME_SIZE(MemLocation, cudaMemLocation);
static_assert(s::kCooperative == (int)cudaLaunchAttributeCooperative, "attribute");
static_assert(s::kClusterDimension == (int)cudaLaunchAttributeClusterDimension, "attribute");
static_assert(s::kDefault == (int)cudaMemcpyDefault, "kind");
