// The CUDA runtime's error numbers that the virtual device can give, with their names and texts.
// Numbers are CUDA's ABI. Used by the stand-in runtime and by the device process alike.
#pragma once

#include <cstdint>

#define FIEL_CUDA_ERRORS(X)                                                                        \
  X(Success, 0, "no error")                                                                        \
  X(ErrorInvalidValue, 1, "invalid argument")                                                      \
  X(ErrorMemoryAllocation, 2, "out of memory")                                                     \
  X(ErrorInitializationError, 3, "initialization error")                                           \
  X(ErrorCudartUnloading, 4, "driver shutting down")                                               \
  X(ErrorInvalidConfiguration, 9, "invalid configuration argument")                                \
  X(ErrorInvalidPitchValue, 12, "invalid pitch argument")                                          \
  X(ErrorInvalidSymbol, 13, "invalid device symbol")                                               \
  X(ErrorInvalidHostPointer, 16, "invalid host pointer")                                           \
  X(ErrorInvalidDevicePointer, 17, "invalid device pointer")                                       \
  X(ErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                          \
  X(ErrorStubLibrary, 34, "CUDA driver is a stub library")                                         \
  X(ErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")   \
  X(ErrorMissingConfiguration, 52, "__global__ function call is not configured")                   \
  X(ErrorInvalidDeviceFunction, 98, "invalid device function")                                     \
  X(ErrorNoDevice, 100, "no CUDA-capable device is detected")                                      \
  X(ErrorInvalidDevice, 101, "invalid device ordinal")                                             \
  X(ErrorInvalidKernelImage, 200, "device kernel image is invalid")                                \
  X(ErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device")  \
  X(ErrorInvalidPtx, 218, "a PTX JIT compilation failed")                                          \
  X(ErrorUnsupportedPtxVersion, 222,                                                               \
    "the provided PTX was compiled with an unsupported toolchain.")                                \
  X(ErrorInvalidResourceHandle, 400, "invalid resource handle")                                    \
  X(ErrorIllegalState, 401, "the operation cannot be performed in the present state")              \
  X(ErrorSymbolNotFound, 500, "named symbol not found")                                            \
  X(ErrorNotReady, 600, "device not ready")                                                        \
  X(ErrorIllegalAddress, 700, "an illegal memory access was encountered")                          \
  X(ErrorLaunchOutOfResources, 701, "too many resources requested for launch")                     \
  X(ErrorLaunchTimeout, 702, "the launch timed out and was terminated")                            \
  X(ErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices")     \
  X(ErrorAssert, 710, "device-side assert triggered")                                              \
  X(ErrorHostMemoryAlreadyRegistered, 712,                                                         \
    "part or all of the requested memory range is already mapped")                                 \
  X(ErrorHostMemoryNotRegistered, 713,                                                             \
    "pointer does not correspond to a registered memory region")                                   \
  X(ErrorMisalignedAddress, 716, "misaligned address")                                             \
  X(ErrorLaunchFailure, 719, "unspecified launch failure")                                         \
  X(ErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")                  \
  X(ErrorNotPermitted, 800, "operation not permitted")                                             \
  X(ErrorNotSupported, 801, "operation not supported")                                             \
  X(ErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")        \
  X(ErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture") \
  X(ErrorStreamCaptureUnmatched, 903, "capture was not initiated in this stream")                  \
  X(ErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work")                         \
  X(ErrorStreamCaptureImplicit, 906,                                                               \
    "operation would make the legacy stream depend on a capturing blocking stream")                \
  X(ErrorGraphExecUpdateFailure, 910,                                                              \
    "the graph update was not performed because it included changes which violated constraints")   \
  X(ErrorUnknown, 999, "unknown error")

namespace fiel::worker {

enum CudaError : int32_t {
#define FIEL_X(name, number, text) kCuda##name = number,
  FIEL_CUDA_ERRORS(FIEL_X)
#undef FIEL_X
};

inline const char* cuda_error_name(int32_t error) {
  switch (error) {
#define FIEL_X(name, number, text) \
  case number:                     \
    return "cuda" #name;
    FIEL_CUDA_ERRORS(FIEL_X)
#undef FIEL_X
    default:
      return "unrecognized error code";
  }
}

inline const char* cuda_error_text(int32_t error) {
  switch (error) {
#define FIEL_X(name, number, text) \
  case number:                     \
    return text;
    FIEL_CUDA_ERRORS(FIEL_X)
#undef FIEL_X
    default:
      return "unrecognized error code";
  }
}

}  // namespace fiel::worker
