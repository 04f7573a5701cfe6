// Functions that the CUDA runtime of a real device provides: vprintf, __assertfail, malloc, free.
#include <fmt/core.h>

#include <cstring>

#include "vgpu/executor.h"
#include "vgpu/heap.h"
#include "vgpu/lower_function.h"
#include "vgpu/printf_format.h"
#include "vgpu/report_access.h"

namespace fiel::vgpu {
namespace {

constexpr uint64_t kMaxString = 4096;
constexpr uint64_t kMaxArguments = 1024;

template <typename F>
void each_lane(uint32_t mask, F&& body) {
  for (; mask != 0; mask &= mask - 1) body(static_cast<uint32_t>(__builtin_ctz(mask)));
}

/// Arguments and results of a built-in: they lie in the caller's stack frame.
class CallFrame {
 public:
  CallFrame(Warp& warp, const Op& op) : warp_(warp), list_(operand_list(warp, op)) {
    const WarpState& state = state_of(warp);
    base_ = state.splits[state.current].frame->local_base;
  }
  template <typename T>
  T argument(uint32_t lane, uint32_t i) const {
    T value{};
    memcpy(&value, stack(lane) + list_[2 + i], sizeof(T));
    return value;
  }
  template <typename T>
  void result(uint32_t lane, T value) const {
    const uint32_t offset = list_[2 + list_[0]];
    memcpy(stack(lane) + offset, &value, sizeof(T));
    memset(warp_.cta->local_shadow + (index(lane) + offset) / 4, 0x55, sizeof(T) / 4);
  }

 private:
  uint64_t index(uint32_t lane) const {
    return (warp_.index * uint64_t{kLanes} + lane) * warp_.executor->local_stride + base_;
  }
  uint8_t* stack(uint32_t lane) const { return warp_.cta->local + index(lane); }
  Warp& warp_;
  const uint32_t* list_;
  uint32_t base_ = 0;
};

/// Bytes that may be read at a generic address: where they are, and how many.
std::pair<const uint8_t*, uint64_t> readable(Warp& warp, uint32_t lane, uint64_t address) {
  const Cta& cta = *warp.cta;
  if (address - kSharedWindow < kWindowBytes) {
    const uint64_t offset = address - kSharedWindow;
    if (offset >= cta.shared_bytes) return {nullptr, 0};
    return {cta.shared + offset, cta.shared_bytes - offset};
  }
  if (address - kLocalWindow < kWindowBytes) {
    const uint64_t offset = address - kLocalWindow, stride = warp.executor->local_stride;
    if (offset >= stride) return {nullptr, 0};
    return {cta.local + (warp.index * uint64_t{kLanes} + lane) * stride + offset, stride - offset};
  }
  const Allocation* allocation = warp.executor->arena->find(address);
  if (allocation == nullptr || !allocation->live) return {nullptr, 0};
  return {reinterpret_cast<const uint8_t*>(address), allocation->end - address};
}

std::string string_at(Warp& warp, uint32_t lane, uint64_t address) {
  const auto [from, bytes] = readable(warp, lane, address);
  if (from == nullptr) return fmt::format("<bad string 0x{:x}>", address);
  const uint64_t n = strnlen(reinterpret_cast<const char*>(from), std::min(bytes, kMaxString));
  return {reinterpret_cast<const char*>(from), n};
}

void vprintf_builtin(Warp& warp, const Op& op, uint32_t mask) {
  const CallFrame frame(warp, op);
  each_lane(mask, [&](uint32_t lane) {
    const std::string format = string_at(warp, lane, frame.argument<uint64_t>(lane, 0));
    const auto list = frame.argument<uint64_t>(lane, 1);
    const auto [from, bytes] = readable(warp, lane, list);
    const std::span<const uint8_t> arguments(from, std::min(bytes, kMaxArguments));
    const std::string text = format_device(
        format, arguments, [&](uint64_t address) { return string_at(warp, lane, address); });
    std::string& printed = warp.cta->printed;
    warp.cta->print_op = static_cast<uint32_t>(&op - warp.executor->ops);
    if (printed.size() + text.size() <= kPrintLimit)
      printed += text;
    else
      report_with_detail(warp, op, static_cast<uint8_t>(FindingKind::printf_overflow), 1u << lane,
                         fmt::format("a block keeps {} bytes of text", kPrintLimit).c_str());
    // CUDA answers with the number of arguments, not of characters.
    int32_t count = 0;
    for (size_t i = 0; i + 1 < format.size(); ++i)
      if (format[i] == '%') {
        count += format[i + 1] != '%' ? 1 : 0;
        ++i;
      }
    frame.result<int32_t>(lane, count);
  });
}

void assertfail_builtin(Warp& warp, const Op& op, uint32_t mask) {
  const CallFrame frame(warp, op);
  const auto lane = static_cast<uint32_t>(__builtin_ctz(mask));
  const auto text = [&](uint32_t i) {
    return string_at(warp, lane, frame.argument<uint64_t>(lane, i));
  };
  report_with_detail(warp, op, static_cast<uint8_t>(FindingKind::assertion), mask,
                     fmt::format("{}:{}: {}: assertion `{}` failed", text(1),
                                 frame.argument<uint32_t>(lane, 2), text(3), text(0))
                         .c_str());
  stop_faulted(warp);
}

void malloc_builtin(Warp& warp, const Op& op, uint32_t mask) {
  const CallFrame frame(warp, op);
  DeviceHeap& heap = *warp.executor->launch->heap;
  each_lane(mask, [&](uint32_t lane) {
    const auto bytes = frame.argument<uint64_t>(lane, 0);
    const uint64_t at = heap.allocate(bytes);
    if (at != 0) {
      warp.executor->arena->set_state(at, bytes, 0);
      memset(reinterpret_cast<void*>(at), 0xff, bytes);
    } else if (bytes != 0) {
      report_with_detail(warp, op, static_cast<uint8_t>(FindingKind::heap_exhausted), 1u << lane,
                         fmt::format("malloc({}) gave null", bytes).c_str());
    }
    frame.result<uint64_t>(lane, at);
  });
}

void free_builtin(Warp& warp, const Op& op, uint32_t mask) {
  const CallFrame frame(warp, op);
  DeviceHeap& heap = *warp.executor->launch->heap;
  each_lane(mask, [&](uint32_t lane) {
    const auto address = frame.argument<uint64_t>(lane, 0);
    uint64_t bytes = 0;
    if (address == 0) return;
    const DeviceHeap::Freed freed = heap.release(address, bytes);
    if (freed == DeviceHeap::Freed::yes) return;
    report_with_detail(
        warp, op, static_cast<uint8_t>(FindingKind::invalid_free), 1u << lane,
        fmt::format("free(0x{:x}): {}", address,
                    freed == DeviceHeap::Freed::twice ? "it has been freed already"
                                                      : "not an address that malloc gave")
            .c_str());
    stop_faulted(warp);
  });
}

}  // namespace

Builtin builtin_of(const std::string& name) {
  if (name == "vprintf") return {&vprintf_builtin, 2, 1};
  if (name == "__assertfail") return {&assertfail_builtin, 4, 0};
  if (name == "malloc") return {&malloc_builtin, 1, 1};
  if (name == "free") return {&free_builtin, 1, 0};
  return {};
}

}  // namespace fiel::vgpu
