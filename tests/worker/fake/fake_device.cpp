#include "fake_device.h"

#include <unistd.h>

#include <cstring>
#include <map>
#include <regex>

namespace fiel::worker {
namespace {

using namespace vgpu;

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(const DeviceOptions& options) : options_(options) {}

  Result<uint32_t> load_module(std::string_view ptx, std::string_view) override {
    std::string text(ptx);
    std::map<std::string, KernelInfo> found;
    std::regex entry(R"(\.entry\s+([\w$]+)\s*\(([^)]*)\))");
    for (auto it = std::sregex_iterator(text.begin(), text.end(), entry);
         it != std::sregex_iterator(); ++it) {
      KernelInfo k;
      k.name = (*it)[1];
      std::string params = (*it)[2];
      std::regex param(R"(\.param\s+\.(?:u|b|s|f)(\d+))");
      for (auto p = std::sregex_iterator(params.begin(), params.end(), param);
           p != std::sregex_iterator(); ++p) {
        uint32_t bytes = static_cast<uint32_t>(std::stoul((*p)[1]) / 8);
        uint32_t at = (k.parameter_block_bytes + bytes - 1) / bytes * bytes;
        k.parameter_offsets.push_back(at);
        k.parameter_bytes.push_back(bytes);
        k.parameter_is_pointer.push_back(bytes == 8);
        k.parameter_block_bytes = at + bytes;
      }
      found[k.name] = k;
    }
    if (text.find("wgmma") != std::string::npos)
      return fail(ErrorCode::unsupported, "wgmma is not executed by this device");
    modules_.push_back(found);
    return static_cast<uint32_t>(modules_.size() - 1);
  }
  Status unload_module(uint32_t) override { return {}; }
  Result<KernelInfo> kernel(uint32_t module, std::string_view name) const override {
    if (module >= modules_.size()) return fail(ErrorCode::not_found, "no module");
    auto it = modules_[module].find(std::string(name));
    if (it == modules_[module].end()) return fail(ErrorCode::not_found, "no kernel");
    return it->second;
  }
  std::vector<std::string> kernels(uint32_t module) const override {
    std::vector<std::string> names;
    for (const auto& [name, info] : modules_.at(module)) names.push_back(name);
    return names;
  }
  Result<SymbolInfo> symbol(uint32_t, std::string_view) const override {
    return fail(ErrorCode::not_found, "no symbols here");
  }

  Result<uint64_t> allocate(uint64_t bytes, std::string_view) override {
    if (in_use_ + bytes > options_.memory_bytes) return fail(ErrorCode::limit, "out of memory");
    uint64_t at = next_;
    next_ += (bytes + 8191) / 4096 * 4096;
    blocks_[at].own.assign(bytes, std::byte{0xff});
    blocks_[at].data = blocks_[at].own.data();
    blocks_[at].bytes = bytes;
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
    return at;
  }
  Result<uint64_t> map_host(void* memory, uint64_t bytes, std::string_view) override {
    auto at = reinterpret_cast<uint64_t>(memory);
    blocks_[at] = {{}, static_cast<std::byte*>(memory), bytes};
    return at;
  }
  Status free(uint64_t address) override {
    auto it = blocks_.find(address);
    if (it == blocks_.end()) return fail(ErrorCode::usage, "not an allocation");
    in_use_ -= it->second.own.size();
    blocks_.erase(it);
    return {};
  }
  Status write(uint64_t address, std::span<const std::byte> bytes) override {
    std::byte* p = find(address, bytes.size());
    if (!p) return fail(ErrorCode::usage, "outside any allocation");
    std::memcpy(p, bytes.data(), bytes.size());
    return {};
  }
  Status read(uint64_t address, std::span<std::byte> bytes) const override {
    std::byte* p = find(address, bytes.size());
    if (!p) return fail(ErrorCode::usage, "outside any allocation");
    std::memcpy(bytes.data(), p, bytes.size());
    return {};
  }
  Status fill(uint64_t address, uint8_t value, uint64_t bytes) override {
    std::byte* p = find(address, bytes);
    if (!p) return fail(ErrorCode::usage, "outside any allocation");
    std::memset(p, value, bytes);
    return {};
  }
  Status copy(uint64_t to, uint64_t from, uint64_t bytes) override {
    std::byte *t = find(to, bytes), *f = find(from, bytes);
    if (!t || !f) return fail(ErrorCode::usage, "outside any allocation");
    std::memmove(t, f, bytes);
    return {};
  }
  uint64_t memory_in_use() const override { return in_use_; }
  uint64_t peak_memory() const override { return peak_; }
  void reset_peak() override { peak_ = in_use_; }
  Status poison(uint64_t address, uint64_t bytes, uint8_t pattern) override {
    return fill(address, pattern, bytes);
  }
  Status mark_initialized(uint64_t, uint64_t) override { return {}; }
  Status mark_output(uint64_t) override { return {}; }
  Result<Coverage> coverage(uint64_t) const override { return Coverage{}; }

  LaunchReport launch(const LaunchRequest& q) override {
    LaunchReport r;
    r.thread_instructions = q.grid.count() * q.block.count();
    if (q.kernel.find("spin") != std::string::npos) {
      while (!q.cancelled()) ::usleep(1000);
      r.status = LaunchStatus::cancelled;
    } else if (q.kernel.find("fault") != std::string::npos) {
      r.status = LaunchStatus::faulted;
      r.message = "4-byte write outside any allocation";
      r.findings.push_back({});
      r.findings[0].kind = FindingKind::out_of_bounds;
      r.findings[0].count = 1;
    } else if (q.kernel.find("twice") != std::string::npos && q.parameters.size() >= 20) {
      uint64_t x, y;
      int32_t n;
      std::memcpy(&x, q.parameters.data(), 8);
      std::memcpy(&y, q.parameters.data() + 8, 8);
      std::memcpy(&n, q.parameters.data() + 16, 4);
      for (int32_t i = 0; i < n; ++i) {
        auto* from = find(x + 4u * i, 4);
        auto* to = find(y + 4u * i, 4);
        if (!from || !to) continue;
        float v;
        std::memcpy(&v, from, 4);
        v = 2 * v + 1;
        std::memcpy(to, &v, 4);
      }
    }
    return r;
  }
  Result<uint32_t> occupancy(uint32_t, std::string_view, uint32_t threads, uint32_t,
                             uint32_t) const override {
    return 2048 / threads;
  }
  const DeviceOptions& options() const override { return options_; }
  std::string isa_name() const override { return "fake"; }

 private:
  struct Block {
    std::vector<std::byte> own;
    std::byte* data = nullptr;
    uint64_t bytes = 0;
  };
  std::byte* find(uint64_t address, uint64_t bytes) const {
    auto it = blocks_.upper_bound(address);
    if (it == blocks_.begin()) return nullptr;
    const auto& [base, block] = *std::prev(it);
    uint64_t offset = address - base;
    if (offset > block.bytes || bytes > block.bytes - offset) return nullptr;
    return block.data + offset;
  }
  DeviceOptions options_;
  std::vector<std::map<std::string, KernelInfo>> modules_;
  std::map<uint64_t, Block> blocks_;
  uint64_t next_ = 0x500000000000, in_use_ = 0, peak_ = 0;
};

}  // namespace

Result<std::unique_ptr<Device>> make_fake_device(const DeviceOptions& options) {
  return std::unique_ptr<Device>(std::make_unique<FakeDevice>(options));
}

}  // namespace fiel::worker
