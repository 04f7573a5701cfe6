#include "kernels.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace fiel::standin {
namespace {

using namespace worker;

struct FatbinWrapper {
  uint32_t magic, version;
  const uint8_t* data;
  void* filename;
};
constexpr uint32_t kWrapperMagic = 0x466243B1;

struct ModuleRecord {
  uint32_t id = UINT32_MAX;
};
struct Variable {
  uint32_t module = 0;
  std::string name;
  uint64_t address = 0, bytes = 0;
};
struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<ModuleRecord>> modules;
  std::map<const void*, std::unique_ptr<KernelEntry>> kernels;
  std::map<const void*, Variable> variables;
  std::map<uint64_t, Region> regions;
};
Registry& registry() {
  static Registry* r = new Registry;
  return *r;
}

struct Configuration {
  Dim3 grid, block;
  size_t shared;
  Handle stream;
};
thread_local std::vector<Configuration> configurations;

}  // namespace

KernelEntry* find_kernel(const void* function) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  if (auto it = r.kernels.find(function); it != r.kernels.end()) return it->second.get();
  for (auto& [host, entry] : r.kernels)
    if (entry.get() == function) return entry.get();
  return nullptr;
}

Error resolve(KernelEntry& kernel) {
  if (kernel.resolved) return kCudaSuccess;
  WireWriter w;
  w.put(kernel.module).text(kernel.name);
  Reply reply;
  if (Error e = call(Rt::kernel, w, &reply); e != kCudaSuccess) return e;
  WireReader r = reply.reader();
  kernel.info = r.get<KernelReply>();
  for (uint32_t i = 0; i < kernel.info.n_parameters && !r.failed(); ++i) {
    uint32_t offset = r.get<uint32_t>();
    kernel.parameters.emplace_back(offset, r.get<uint32_t>());
  }
  kernel.resolved = !r.failed();
  return kernel.resolved ? kCudaSuccess : set_error(kCudaErrorUnknown);
}

Error find_symbol(const void* host_variable, uint64_t& address, uint64_t& bytes) {
  Registry& r = registry();
  Variable v;
  {
    std::lock_guard lock(r.mutex);
    auto it = r.variables.find(host_variable);
    if (it == r.variables.end()) return set_error(kCudaErrorInvalidSymbol);
    v = it->second;
  }
  if (v.address == 0) {
    WireWriter w;
    w.put(v.module).text(v.name);
    Reply reply;
    if (Error e = call(Rt::symbol, w, &reply); e != kCudaSuccess) return e;
    WireReader reader = reply.reader();
    v.address = reader.get<uint64_t>();
    v.bytes = reader.get<uint64_t>();
    std::lock_guard lock(r.mutex);
    r.variables[host_variable] = v;
  }
  address = v.address;
  bytes = v.bytes;
  return kCudaSuccess;
}

Error pack_launch(const void* function, Dim3 grid, Dim3 block, void** args, size_t shared,
                  Handle stream, bool cooperative, WireWriter& out) {
  KernelEntry* kernel = find_kernel(function);
  if (!kernel) return set_error(kCudaErrorInvalidDeviceFunction);
  if (Error e = resolve(*kernel); e != kCudaSuccess) return e;
  LaunchHeader h;
  h.stream = stream;
  h.kernel = kernel->info.kernel;
  h.grid[0] = grid.x, h.grid[1] = grid.y, h.grid[2] = grid.z;
  h.block[0] = block.x, h.block[1] = block.y, h.block[2] = block.z;
  h.cooperative = cooperative;
  h.dynamic_shared_bytes = shared;
  std::vector<uint8_t> block_bytes(kernel->info.parameter_block_bytes);
  for (size_t i = 0; i < kernel->parameters.size(); ++i) {
    auto [offset, bytes] = kernel->parameters[i];
    if (!args || size_t{offset} + bytes > block_bytes.size())
      return set_error(kCudaErrorInvalidValue);
    std::memcpy(block_bytes.data() + offset, args[i], bytes);
  }
  out.put(h).blob(block_bytes.data(), block_bytes.size());
  return kCudaSuccess;
}

Error map_region(const Reply& reply, uint64_t bytes, uint32_t kind, uint64_t& address) {
  WireReader r = reply.reader();
  address = r.get<uint64_t>();
  uint64_t mapped = r.get<uint64_t>();
  if (r.failed() || reply.fd < 0) return set_error(kCudaErrorMemoryAllocation);
  void* p = ::mmap(reinterpret_cast<void*>(address), mapped, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED_NOREPLACE, reply.fd, 0);
  ::close(reply.fd);
  if (p != reinterpret_cast<void*>(address)) {
    if (p != MAP_FAILED) ::munmap(p, mapped);
    return set_error(kCudaErrorMemoryAllocation);
  }
  Registry& reg = registry();
  std::lock_guard lock(reg.mutex);
  reg.regions[address] = {address, bytes, mapped, kind};
  return kCudaSuccess;
}

Region find_region(const void* p) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto address = reinterpret_cast<uint64_t>(p);
  auto it = r.regions.upper_bound(address);
  if (it == r.regions.begin()) return {};
  const Region& region = std::prev(it)->second;
  return address - region.base < region.bytes ? region : Region{};
}

bool unmap_region(uint64_t base) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto it = r.regions.find(base);
  if (it == r.regions.end()) return false;
  ::munmap(reinterpret_cast<void*>(base), it->second.mapped);
  r.regions.erase(it);
  return true;
}

// ---- what nvcc's generated host code calls

FIEL_CUDART void** __cudaRegisterFatBinary(void* fat) {
  auto record = std::make_unique<ModuleRecord>();
  ModuleRecord* raw = record.get();
  const auto* wrapper = static_cast<const FatbinWrapper*>(fat);
  if (wrapper->magic == kWrapperMagic && wrapper->version == 1) {
    uint16_t header_size;
    uint64_t following;
    std::memcpy(&header_size, wrapper->data + 6, sizeof header_size);
    std::memcpy(&following, wrapper->data + 8, sizeof following);
    WireWriter w;
    w.blob(wrapper->data, header_size + following);
    Reply reply;
    if (call(Rt::register_module, w, &reply) == kCudaSuccess)
      raw->id = reply.reader().get<uint32_t>();
  } else {
    std::fprintf(stderr, "fiel: relocatable device code (-rdc) is not linked on this device\n");
  }
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.modules.push_back(std::move(record));
  return reinterpret_cast<void**>(raw);
}

FIEL_CUDART void __cudaRegisterFatBinaryEnd(void**) {}

FIEL_CUDART void __cudaUnregisterFatBinary(void** handle) {
  WireWriter w;
  w.put(reinterpret_cast<ModuleRecord*>(handle)->id);
  call(Rt::unregister_module, w);
}

FIEL_CUDART char __cudaInitModule(void**) { return 1; }

FIEL_CUDART void __cudaRegisterFunction(void** handle, const char* host_function, char*,
                                        const char* device_name, int, void*, void*, void*, void*,
                                        int*) {
  auto entry = std::make_unique<KernelEntry>();
  entry->module = reinterpret_cast<ModuleRecord*>(handle)->id;
  entry->name = device_name;
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.kernels[host_function] = std::move(entry);
}

FIEL_CUDART void __cudaRegisterVar(void** handle, char* host_variable, char*,
                                   const char* device_name, int, size_t, int, int) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.variables[host_variable] = {reinterpret_cast<ModuleRecord*>(handle)->id, device_name, 0, 0};
}

FIEL_CUDART void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

FIEL_CUDART void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*,
                                          const char* device_name, int, size_t size, int, int) {
  uint32_t module = reinterpret_cast<ModuleRecord*>(handle)->id;
  WireWriter w;
  w.put(module).text(device_name).put<uint64_t>(size);
  Reply reply;
  uint64_t address = 0;
  auto kind = static_cast<uint32_t>(PointerKind::managed);
  if (call(Rt::managed_symbol, w, &reply) != kCudaSuccess ||
      map_region(reply, size, kind, address) != kCudaSuccess)
    return;
  *host_pointer = reinterpret_cast<void*>(address);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.variables[host_pointer] = {module, device_name, 0, 0};
}

FIEL_CUDART Error __cudaGetKernel(void** handle, const void* host_function) {
  *handle = find_kernel(host_function);
  return *handle ? kCudaSuccess : set_error(kCudaErrorInvalidDeviceFunction);
}

FIEL_CUDART Error cudaGetKernel(void** handle, const void* host_function) {
  return __cudaGetKernel(handle, host_function);
}
FIEL_CUDART Error cudaGetFuncBySymbol(void** handle, const void* host_function) {
  return __cudaGetKernel(handle, host_function);
}

FIEL_CUDART unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared,
                                                 Handle stream) {
  if (configurations.size() > 64) return 1;
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

FIEL_CUDART Error __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared,
                                             Handle* stream) {
  if (configurations.empty()) return set_error(kCudaErrorMissingConfiguration);
  Configuration c = configurations.back();
  configurations.pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *stream = c.stream;
  return kCudaSuccess;
}

namespace {

Error launch(const void* function, Dim3 grid, Dim3 block, void** args, size_t shared, Handle stream,
             bool cooperative) {
  WireWriter w;
  if (Error e = pack_launch(function, grid, block, args, shared, stream, cooperative, w);
      e != kCudaSuccess)
    return e;
  return call(Rt::launch, w);
}
Handle per_thread(Handle stream) { return stream == 0 ? kPerThreadStream : stream; }

Error launch_ex(const LaunchConfig* c, const void* function, void** args, Handle stream) {
  bool cooperative = false;
  for (uint32_t i = 0; i < c->n_attributes; ++i) {
    const LaunchAttribute& a = c->attributes[i];
    if (a.id == kCooperative) cooperative = a.value.cooperative != 0;
    const uint32_t* cluster = a.value.cluster;
    if (a.id == kClusterDimension && (cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1))
      return not_supported("a launch in clusters of " + std::to_string(cluster[0]) + "x" +
                           std::to_string(cluster[1]) + "x" + std::to_string(cluster[2]) +
                           " blocks");
  }
  return launch(function, c->grid, c->block, args, c->dynamic_shared_bytes, stream, cooperative);
}

}  // namespace

FIEL_CUDART Error cudaLaunchKernel(const void* f, Dim3 g, Dim3 b, void** args, size_t shared,
                                   Handle stream) {
  return launch(f, g, b, args, shared, stream, false);
}
FIEL_CUDART Error cudaLaunchKernel_ptsz(const void* f, Dim3 g, Dim3 b, void** args, size_t shared,
                                        Handle stream) {
  return launch(f, g, b, args, shared, per_thread(stream), false);
}
FIEL_CUDART Error __cudaLaunchKernel(void* k, Dim3 g, Dim3 b, void** args, size_t shared,
                                     Handle stream) {
  return launch(k, g, b, args, shared, stream, false);
}
FIEL_CUDART Error __cudaLaunchKernel_ptsz(void* k, Dim3 g, Dim3 b, void** args, size_t shared,
                                          Handle stream) {
  return launch(k, g, b, args, shared, per_thread(stream), false);
}
FIEL_CUDART Error cudaLaunchCooperativeKernel(const void* f, Dim3 g, Dim3 b, void** args,
                                              size_t shared, Handle stream) {
  return launch(f, g, b, args, shared, stream, true);
}
FIEL_CUDART Error cudaLaunchCooperativeKernel_ptsz(const void* f, Dim3 g, Dim3 b, void** args,
                                                   size_t shared, Handle stream) {
  return launch(f, g, b, args, shared, per_thread(stream), true);
}
FIEL_CUDART Error cudaLaunchKernelExC(const LaunchConfig* c, const void* f, void** args) {
  return launch_ex(c, f, args, c->stream);
}
FIEL_CUDART Error cudaLaunchKernelExC_ptsz(const LaunchConfig* c, const void* f, void** args) {
  return launch_ex(c, f, args, per_thread(c->stream));
}

}  // namespace fiel::standin
