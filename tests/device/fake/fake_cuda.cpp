// A CUDA driver for tests: libfakecuda.so. Device memory is host memory; work runs when it is
// submitted, but for the gate: streams behind a closed gate keep their work until it opens.
//
// A "cubin" is text: one kernel a line, `NAME PARAMETER_BYTES…`. What a kernel does follows from
// its name: fill (pointer, u32 value, u32 count), illegal, hang, refuse.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "device/cuda_api.h"

using namespace fiel::device;

struct CUctx_st {};
struct fiel::device::CUfunc_st {
  std::string name;
  std::vector<size_t> bytes;
  int dynamic_shared = 48 << 10;
};
struct fiel::device::CUmod_st {
  std::map<std::string, CUfunc_st> functions;
  uint32_t variable = 7;
};
struct fiel::device::CUstream_st {
  std::deque<std::function<bool()>> work;  ///< false: not yet
};
struct fiel::device::CUevent_st {
  uint64_t wanted = 0, reached = 0;
  double at_ms = 0;
};

namespace {

CUresult g_sticky = kCuSuccess;
bool g_hanging = false;
double g_clock_ms = 0;
std::vector<std::unique_ptr<CUstream_st>> g_streams;

/// What lives until it is given back, or as long as the process: a driver's own is no leak then.
std::set<void*>& held = *new std::set<void*>;
template <typename T>
T* hold(T* p) {
  held.insert(p);
  return p;
}
template <typename T>
T* unhold(T* p) {
  held.erase(p);
  return p;
}

/// Everything that can run does; a wait that another stream ends is tried again.
void pump() {
  for (bool moved = true; moved && !g_hanging;) {
    moved = false;
    for (auto& s : g_streams)
      while (!s->work.empty() && !g_hanging && s->work.front()()) {
        s->work.pop_front();
        moved = true;
      }
  }
}

CUresult submit(CUstream s, std::function<bool()> work) {
  if (g_sticky != kCuSuccess) return g_sticky;
  s->work.push_back(std::move(work));
  pump();
  return kCuSuccess;
}

bool run_kernel(const std::string& name, const std::vector<uint8_t>& p) {
  g_clock_ms += 0.010;
  if (name == "illegal") g_sticky = 700;
  if (name == "hang") g_hanging = true;
  if (name == "fill" && p.size() >= 16) {
    uint32_t* to = nullptr;
    uint32_t value = 0, count = 0;
    std::memcpy(&to, p.data(), 8);
    std::memcpy(&value, p.data() + 8, 4);
    std::memcpy(&count, p.data() + 12, 4);
    for (uint32_t i = 0; i < count; ++i) to[i] = value;
  }
  return name != "hang";
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) CUresult

FAKE cuInit(unsigned) { return std::getenv("FAKE_CUDA_NO_DEVICE") ? kCuNoDevice : kCuSuccess; }
FAKE cuDriverGetVersion(int* v) {
  *v = 13000;
  return kCuSuccess;
}
FAKE cuGetErrorName(CUresult r, const char** name) {
  *name = r == 700   ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : r == 100 ? "CUDA_ERROR_NO_DEVICE"
                     : "CUDA_ERROR_FAKE";
  return kCuSuccess;
}
FAKE cuGetErrorString(CUresult, const char** text) {
  *text = "a fake error";
  return kCuSuccess;
}
FAKE cuDeviceGetCount(int* n) {
  *n = 1;
  return kCuSuccess;
}
FAKE cuDeviceGet(CUdevice* d, int ordinal) {
  *d = ordinal;
  return kCuSuccess;
}
FAKE cuDeviceGetName(char* name, int n, CUdevice) {
  std::snprintf(name, static_cast<size_t>(n), "Fake GPU");
  return kCuSuccess;
}
FAKE cuDeviceGetUuid_v2(CUuuid* u, CUdevice) {
  for (int i = 0; i < 16; ++i) u->bytes[i] = static_cast<unsigned char>(i);
  return kCuSuccess;
}
FAKE cuDeviceTotalMem_v2(size_t* n, CUdevice) {
  *n = 1u << 30;
  return kCuSuccess;
}
FAKE cuDeviceGetAttribute(int* v, int a, CUdevice) {
  *v = a == kCuComputeMajor ? 9 : a == kCuL2Bytes ? 1 << 20 : a == kCuMultiprocessors ? 4 : 0;
  return kCuSuccess;
}
FAKE cuDevicePrimaryCtxRetain(CUcontext* c, CUdevice) {
  *c = nullptr;
  return kCuSuccess;
}
FAKE cuCtxSetCurrent(CUcontext) { return kCuSuccess; }
FAKE cuCtxSynchronize() { return g_sticky; }
FAKE cuCtxSetLimit(int, size_t) { return kCuSuccess; }
FAKE cuModuleLoadData(CUmodule* m, const void* image) {
  std::istringstream text(static_cast<const char*>(image));
  auto module = std::make_unique<CUmod_st>();
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    CUfunc_st f;
    if (!(words >> f.name)) continue;
    if (f.name == "garbage") return 200;
    for (size_t n; words >> n;) f.bytes.push_back(n);
    module->functions[f.name] = f;
  }
  *m = hold(module.release());
  return kCuSuccess;
}
FAKE cuModuleUnload(CUmodule m) {
  delete unhold(m);
  return kCuSuccess;
}
FAKE cuModuleGetFunction(CUfunction* f, CUmodule m, const char* name) {
  auto it = m->functions.find(name);
  if (it == m->functions.end()) return kCuNotFound;
  *f = &it->second;
  return kCuSuccess;
}
FAKE cuModuleGetGlobal_v2(CUdeviceptr* at, size_t* n, CUmodule m, const char* name) {
  if (std::strcmp(name, "variable") != 0) return kCuNotFound;
  *at = reinterpret_cast<CUdeviceptr>(&m->variable);
  *n = 4;
  return kCuSuccess;
}
FAKE cuModuleGetFunctionCount(unsigned* n, CUmodule m) {
  *n = static_cast<unsigned>(m->functions.size());
  return kCuSuccess;
}
FAKE cuModuleEnumerateFunctions(CUfunction* all, unsigned n, CUmodule m) {
  for (auto& [name, f] : m->functions)
    if (n-- > 0) *all++ = &f;
  return kCuSuccess;
}
FAKE cuFuncGetName(const char** name, CUfunction f) {
  *name = f->name.c_str();
  return kCuSuccess;
}
FAKE cuFuncGetParamInfo(CUfunction f, size_t i, size_t* offset, size_t* bytes) {
  if (i >= f->bytes.size()) return kCuInvalidValue;
  *offset = 0;
  for (size_t k = 0; k < i; ++k) *offset += f->bytes[k];
  *bytes = f->bytes[i];
  return kCuSuccess;
}
FAKE cuFuncGetAttribute(int* v, int a, CUfunction) {
  *v = a == kCuMaxThreads ? 1024 : 0;
  return kCuSuccess;
}
FAKE cuFuncSetAttribute(CUfunction f, int a, int v) {
  if (v > 227 << 10) return kCuInvalidValue;
  if (a == kCuMaxDynamicShared) f->dynamic_shared = v;
  return kCuSuccess;
}
FAKE cuLaunchKernelEx(const CuLaunchConfig* c, CUfunction f, void**, void** extra) {
  if (g_sticky != kCuSuccess) return g_sticky;
  if (f->name == "refuse") return 701;
  if (static_cast<int>(c->shared_bytes) > f->dynamic_shared) return kCuInvalidValue;
  std::vector<uint8_t> parameters;
  if (extra) {
    auto* p = static_cast<uint8_t*>(extra[1]);
    parameters.assign(p, p + *static_cast<size_t*>(extra[3]));
  }
  return submit(c->stream, [name = f->name, parameters] { return run_kernel(name, parameters); });
}
FAKE cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, CUfunction, int threads, size_t) {
  *n = 2048 / threads;
  return kCuSuccess;
}
FAKE cuMemGetInfo_v2(size_t* available, size_t* total) {
  *available = *total = 64u << 20;
  return kCuSuccess;
}
FAKE cuMemAlloc_v2(CUdeviceptr* p, size_t n) {
  void* at = hold(std::aligned_alloc(4096, (n + 4095) / 4096 * 4096));
  *p = reinterpret_cast<CUdeviceptr>(at);
  return at ? kCuSuccess : kCuOutOfMemory;
}
FAKE cuMemFree_v2(CUdeviceptr p) {
  std::free(unhold(reinterpret_cast<void*>(p)));
  return kCuSuccess;
}
FAKE cuMemHostAlloc(void** p, size_t n, unsigned) {
  *p = hold(std::calloc(1, n));
  return kCuSuccess;
}
FAKE cuMemHostRegister_v2(void*, size_t, unsigned) { return kCuSuccess; }
FAKE cuMemHostUnregister(void*) { return kCuSuccess; }
FAKE cuMemHostGetDevicePointer_v2(CUdeviceptr* p, void* host, unsigned) {
  *p = reinterpret_cast<CUdeviceptr>(host);
  return kCuSuccess;
}
// Virtual memory: a handle stands for an exported descriptor; sizes are whole granules.
constexpr size_t kGranule = 2u << 20;
FAKE cuMemGetAllocationGranularity(size_t* n, const CuMemProperties*, int) {
  *n = kGranule;
  return kCuSuccess;
}
FAKE cuMemImportFromShareableHandle(CUmemHandle* h, void* descriptor, int) {
  *h = static_cast<CUmemHandle>(reinterpret_cast<uintptr_t>(descriptor));
  return kCuSuccess;
}
FAKE cuMemAddressReserve(CUdeviceptr* at, size_t n, size_t, CUdeviceptr, unsigned long long) {
  if (n == 0 || n % kGranule != 0) return kCuInvalidValue;
  void* p = ::mmap(nullptr, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *at = reinterpret_cast<CUdeviceptr>(p);
  return p == MAP_FAILED ? kCuOutOfMemory : kCuSuccess;
}
FAKE cuMemMap(CUdeviceptr at, size_t n, size_t, CUmemHandle h, unsigned long long) {
  if (n % kGranule != 0) return kCuInvalidValue;
  void* p = ::mmap(reinterpret_cast<void*>(at), n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                   static_cast<int>(h), 0);
  return p == MAP_FAILED ? kCuInvalidValue : kCuSuccess;
}
FAKE cuMemSetAccess(CUdeviceptr, size_t n, const CuMemAccess*, size_t) {
  return n % kGranule == 0 ? kCuSuccess : kCuInvalidValue;
}
FAKE cuMemUnmap(CUdeviceptr, size_t n) { return n % kGranule == 0 ? kCuSuccess : kCuInvalidValue; }
FAKE cuMemAddressFree(CUdeviceptr at, size_t n) {
  return ::munmap(reinterpret_cast<void*>(at), n) == 0 ? kCuSuccess : kCuInvalidValue;
}
FAKE cuMemRelease(CUmemHandle) { return kCuSuccess; }
FAKE cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  return submit(s, [=] {
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), n);
    return true;
  });
}
FAKE cuMemsetD8Async(CUdeviceptr to, unsigned char v, size_t n, CUstream s) {
  return submit(s, [=] {
    std::memset(reinterpret_cast<void*>(to), v, n);
    return true;
  });
}
FAKE cuStreamCreate(CUstream* s, unsigned) {
  g_streams.push_back(std::make_unique<CUstream_st>());
  *s = g_streams.back().get();
  return kCuSuccess;
}
FAKE cuStreamQuery(CUstream s) {
  pump();
  if (g_sticky != kCuSuccess) return g_sticky;
  return s->work.empty() ? kCuSuccess : kCuNotReady;
}
FAKE cuStreamWaitEvent(CUstream s, CUevent e, unsigned) {
  return submit(s, [e, wanted = e->wanted] { return e->reached >= wanted; });
}
FAKE cuStreamWaitValue32_v2(CUstream s, CUdeviceptr p, uint32_t v, unsigned) {
  return submit(s, [=] { return *reinterpret_cast<volatile uint32_t*>(p) >= v; });
}
FAKE cuEventCreate(CUevent* e, unsigned) {
  *e = hold(new CUevent_st);
  return kCuSuccess;
}
FAKE cuEventRecord(CUevent e, CUstream s) {
  return submit(s, [e, id = ++e->wanted] {
    e->reached = id;
    e->at_ms = g_clock_ms;
    return true;
  });
}
FAKE cuEventQuery(CUevent e) { return e->reached == e->wanted ? kCuSuccess : kCuNotReady; }
FAKE cuEventElapsedTime(float* ms, CUevent a, CUevent b) {
  *ms = static_cast<float>(b->at_ms - a->at_ms);
  return kCuSuccess;
}
