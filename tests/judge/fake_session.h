// A session whose kernel is a C++ function over host memory: the protocol is tested with it,
// without compiler, sandbox and virtual GPU.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>

#include "judge/rig.h"

namespace fiel::judge {

class FakeMemory {
 public:
  uint64_t allocate(uint64_t bytes) {
    const uint64_t address = next_;
    next_ += (bytes + 4096 + 255) / 256 * 256;
    blocks_[address].assign(bytes, std::byte{0xff});
    return address;
  }
  bool free(uint64_t address) { return blocks_.erase(address) == 1; }
  std::byte* at(uint64_t address, uint64_t bytes) {
    auto block = blocks_.upper_bound(address);
    if (block == blocks_.begin()) return nullptr;
    --block;
    const uint64_t offset = address - block->first;
    return offset + bytes <= block->second.size() ? block->second.data() + offset : nullptr;
  }
  uint64_t size_of(uint64_t address) const { return blocks_.at(address).size(); }

 private:
  std::map<uint64_t, std::vector<std::byte>> blocks_;
  uint64_t next_ = 1 << 20;
};

/// What a fake kernel sees of a call.
struct FakeCall {
  FakeMemory& memory;
  const worker::CallRequest& request;
  worker::CallOutcome& outcome;
  std::map<uint64_t, uint64_t>&written, &copied;  ///< bytes by address of an input: what it tells
  uint64_t& again;                                ///< bytes of each output that it stored twice

  int64_t numel(const worker::DeviceTensor& t) const { return fiel::numel(t.shape); }
  const float* in(size_t i) const {
    const auto& t = request.inputs[i];
    return reinterpret_cast<const float*>(memory.at(t.address, numel(t) * 4));
  }
  float* mutable_in(size_t i) const { return const_cast<float*>(in(i)); }
  float* out(size_t i) const {
    const auto& t = request.outputs[i];
    return reinterpret_cast<float*>(memory.at(t.address, numel(t) * 4));
  }
  const Shape& shape(size_t i) const { return request.inputs[i].shape; }
};
using FakeKernel = std::function<void(FakeCall&)>;
/// Called for each session: state of a process lives in what it captures.
using FakeProcess = std::function<FakeKernel()>;

class FakeSession : public worker::BareSession {
 public:
  explicit FakeSession(FakeKernel kernel) : kernel_(std::move(kernel)) {}
  Result<uint64_t> allocate(uint64_t bytes, std::string_view) override {
    return memory_.allocate(bytes);
  }
  Status free(uint64_t address) override {
    if (!memory_.free(address)) return fail(ErrorCode::io, "not an allocation");
    return {};
  }
  Status write(uint64_t address, std::span<const std::byte> bytes) override {
    std::byte* to = memory_.at(address, bytes.size());
    if (to == nullptr) return fail(ErrorCode::io, "outside");
    std::memcpy(to, bytes.data(), bytes.size());
    return {};
  }
  Status read(uint64_t address, std::span<std::byte> bytes) override {
    const std::byte* from = memory_.at(address, bytes.size());
    if (from == nullptr) return fail(ErrorCode::io, "outside");
    std::memcpy(bytes.data(), from, bytes.size());
    return {};
  }
  Status poison(uint64_t address, uint64_t bytes, uint8_t pattern) override {
    std::byte* to = memory_.at(address, bytes);
    if (to == nullptr) return fail(ErrorCode::io, "outside");
    std::memset(to, pattern, bytes);
    poison_[address] = {bytes, pattern};
    return {};
  }
  Status mark_output(uint64_t) override { return {}; }
  Result<vgpu::Coverage> coverage(uint64_t address) override {
    if (poison_.count(address) == 0) {  // an input
      vgpu::Coverage c;
      c.bytes = memory_.size_of(address);
      c.written = written_[address];
      c.copied = copied_[address];
      return c;
    }
    const auto [bytes, pattern] = poison_[address];
    const std::byte* v = memory_.at(address, bytes);
    vgpu::Coverage c;
    c.bytes = bytes;
    c.written_more_than_once = again_;
    for (uint64_t i = 0; i < bytes; ++i) {
      if (v[i] != std::byte{pattern}) {
        ++c.written;
      } else if (!c.missing.empty() && c.missing.back().end == i) {
        c.missing.back().end = i + 1;
      } else {
        c.missing.push_back({i, i + 1});
      }
    }
    // A written byte may equal the pattern: only whole elements count as missing.
    std::erase_if(c.missing, [](const auto& r) { return r.end - r.begin < 4; });
    return c;
  }
  worker::CallOutcome call(const worker::CallRequest& request) override {
    worker::CallOutcome outcome;
    written_.clear();
    copied_.clear();
    again_ = 0;
    FakeCall call{memory_, request, outcome, written_, copied_, again_};
    kernel_(call);
    if (outcome.status == worker::CallStatus::crashed ||
        outcome.status == worker::CallStatus::timeout)
      alive_ = false;
    return outcome;
  }
  bool alive() const override { return alive_; }
  const sandbox::IsolationReport& isolation() const override { return isolation_; }
  std::vector<vgpu::KernelInfo> kernels() override { return {}; }

 private:
  FakeKernel kernel_;
  FakeMemory memory_;
  std::map<uint64_t, std::pair<uint64_t, uint8_t>> poison_;
  std::map<uint64_t, uint64_t> written_, copied_;
  uint64_t again_ = 0;
  sandbox::IsolationReport isolation_;
  bool alive_ = true;
};

inline SessionStarter fake_starter(FakeProcess process) {
  return [process](const SessionWish&) -> Result<std::unique_ptr<worker::BareSession>> {
    return std::make_unique<FakeSession>(process());
  };
}

}  // namespace fiel::judge
