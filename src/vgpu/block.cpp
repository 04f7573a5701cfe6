// One block: its state at the start, its warps in turn, and what a standstill means.
#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "vgpu/frames.h"
#include "vgpu/isa/core_select.h"
#include "vgpu/launch.h"
#include "vgpu/observer.h"
#include "vgpu/report_access.h"
#include "vgpu/scheduler.h"

namespace fiel::vgpu {
namespace {

/// Rounds over all warps without anything but spinning before other blocks get a turn.
constexpr uint32_t kIdleRounds = 16;

uint64_t mix64(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint8_t* reserve(uint64_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<uint8_t*>(at);
}

void order_warps(Cta& cta, const Schedule& schedule) {
  const auto n = static_cast<uint32_t>(cta.warps.size());
  cta.order.resize(n);
  for (uint32_t i = 0; i < n; ++i) cta.order[i] = schedule.reverse_warps ? n - 1 - i : i;
  if (schedule.seed == 0) return;
  for (uint32_t i = n; i > 1; --i) {
    const uint64_t random = mix64(schedule.seed ^ mix64(cta.linear) ^ i);
    std::swap(cta.order[i - 1], cta.order[random % i]);
  }
}

void first_use(Executor& executor, Cta& cta) {
  LaunchState& launch = *executor.launch;
  const FunctionCode& code = launch.program->functions[launch.function];
  const size_t frame = (code.frame_bytes + 63u) & ~size_t{63};
  cta.warps = std::vector<WarpState>(launch.warps);
  cta.registers_storage.assign(frame * launch.warps + 64, 0);
  const auto address = reinterpret_cast<uintptr_t>(cta.registers_storage.data());
  uint8_t* registers = cta.registers_storage.data() + (64 - address % 64) % 64;
  cta.shared_bytes = launch.shared_bytes;
  cta.shared_storage.assign(size_t{cta.shared_bytes} + (cta.shared_bytes + 3) / 4 + 256, 0);
  const auto storage = reinterpret_cast<uintptr_t>(cta.shared_storage.data());
  cta.shared = cta.shared_storage.data() + (128 - storage % 128) % 128;
  cta.shared_shadow = cta.shared + ((cta.shared_bytes + 127u) & ~127u);
  if (executor.local_stride != 0) {
    const uint64_t bytes = uint64_t{launch.warps} * kLanes * executor.local_stride;
    cta.local_reserved = bytes;
    cta.local = reserve(bytes);
    cta.local_shadow = reserve(bytes / 4 + 64);
    FIEL_CHECK(cta.local != nullptr && cta.local_shadow != nullptr, "no address space for stacks");
  }
  for (uint32_t i = 0; i < launch.warps; ++i) {
    WarpState& warp = cta.warps[i];
    warp.index = i;
    warp.cta = &cta;
    warp.executor = &executor;
    const uint32_t left = launch.threads - i * kLanes;
    warp.lanes = left >= kLanes ? kFullMask : (1u << left) - 1u;
    warp.entry_frame.regs = registers + frame * i;
    warp.entry_frame.function = launch.function;
    write_inits(warp, code, 0, code.first_block, 0, warp.entry_frame.regs);
  }
  cta.initialized = true;
}

void end_attachment(Attachment& attachment) {
  if (attachment.state != nullptr && attachment.destroy != nullptr)
    attachment.destroy(attachment.state);
  attachment = Attachment{};
}

bool has_ready(const WarpState& warp) {
  return std::any_of(warp.splits.begin(), warp.splits.end(),
                     [](const Split& split) { return split.wait == Wait::ready; });
}

/// Whether all lanes that could run only ask, in vain, whether an mbarrier's phase is over.
bool only_waits_in_vain(Cta& cta) {
  if (cta.attachment.stuck_lanes == nullptr) return false;
  for (WarpState& warp : cta.warps) {
    const uint32_t stuck = warp.finished ? 0 : cta.attachment.stuck_lanes(warp);
    for (const Split& split : warp.splits)
      if (!warp.finished && split.wait == Wait::ready && (split.mask & ~stuck) != 0) return false;
  }
  return true;
}

/// Words for a block in which nothing can move: who waits where.
void report_deadlock(Cta& cta) {
  for (WarpState& warp : cta.warps)
    for (const Split& split : warp.splits) {
      const Op* op = &cta.executor->ops[split.pc];
      const Op* waits = nullptr;
      std::string detail;
      if (split.wait == Wait::barrier) {
        const Barrier& barrier = cta.barriers[split.which];
        detail =
            fmt::format("warp {} waits at barrier {}: {} of {} threads have arrived", warp.index,
                        split.which, barrier.expected == 0 ? barrier.waiting : barrier.arrived,
                        barrier.expected == 0 ? cta.live_threads : barrier.expected);
      } else if (char words[200];
                 split.wait == Wait::ready && cta.attachment.describe_wait != nullptr &&
                 (waits = cta.attachment.describe_wait(warp, words, sizeof words)) != nullptr) {
        op = waits;  // not where the turn ended: one loop is one finding
        detail = fmt::format("warp {} waits: {}", warp.index, words);
      } else {
        detail = fmt::format("lanes 0x{:08x} of warp {} wait for other lanes of the warp",
                             split.mask, warp.index);
      }
      report_with_detail(warp, *op, static_cast<uint8_t>(FindingKind::deadlock), split.mask,
                         detail.c_str());
    }
  stop_launch(*cta.launch, LaunchStatus::deadlocked, cta.position,
              fmt::format("block ({},{},{}) cannot move: every thread waits", cta.block_index.x,
                          cta.block_index.y, cta.block_index.z));
}

}  // namespace

Cta::~Cta() {
  for (WarpState& warp : warps) end_attachment(warp.attachment);
  end_attachment(attachment);
  if (local != nullptr) munmap(local, local_reserved);
  if (local_shadow != nullptr) munmap(local_shadow, local_reserved / 4 + 64);
}

void start_block(Executor& executor, Cta& cta, uint64_t position) {
  LaunchState& launch = *executor.launch;
  const LaunchRequest& request = *launch.request;
  const FunctionCode& code = launch.program->functions[launch.function];
  cta.launch = &launch;
  cta.executor = &executor;
  cta.position = position;
  cta.linear = launch.order.empty()
                   ? (request.schedule.reverse_blocks ? launch.blocks - 1 - position : position)
                   : launch.order[position];
  cta.block_index.x = static_cast<uint32_t>(cta.linear % request.grid.x);
  cta.block_index.y = static_cast<uint32_t>(cta.linear / request.grid.x % request.grid.y);
  cta.block_index.z = static_cast<uint32_t>(cta.linear / request.grid.x / request.grid.y);
  if (!cta.initialized) first_use(executor, cta);
  // What a block leaves behind must not show in the next one: poison, and "never written".
  memset(cta.shared, 0xff, cta.shared_bytes);
  memset(cta.shared_shadow, 0, (size_t{cta.shared_bytes} + 3) / 4);
  for (Barrier& barrier : cta.barriers) barrier = Barrier{};
  end_attachment(cta.attachment);
  cta.live_threads = launch.threads;
  cta.live_warps = launch.warps;
  cta.idle_rounds = 0;
  cta.progress = 0;
  cta.printed.clear();
  cta.findings.clear();
  if (cta.order.empty() || request.schedule.seed != 0) order_warps(cta, request.schedule);
  for (WarpState& warp : cta.warps) {
    end_attachment(warp.attachment);
    warp.exited = 0;
    warp.carry = 0;
    warp.attention = 0;
    warp.finished = false;
    warp.spins = warp.boost = 0;
    warp.steps = 0;
    warp.current = 0;
    while (!warp.frames.empty()) {
      warp.free_frames.push_back(std::move(warp.frames.back()));
      warp.frames.pop_back();
    }
    warp.entry_frame.references = 1;
    Split split;
    split.pc = code.entry;
    split.mask = warp.lanes;
    split.frame = &warp.entry_frame;
    warp.splits.clear();
    warp.splits.push_back(split);
    write_inits(warp, code, code.first_block, static_cast<uint32_t>(code.inits.size()), 0,
                warp.entry_frame.regs);
    clear_locals(warp, warp.lanes, 0, code.local_bytes);
  }
  if (executor.observer != nullptr) executor.observer->start_block(cta);
}

BlockEnd run_block(Executor& executor, Cta& cta) {
  executor.cta = &cta;
  // A round is shorter the smaller the quantum.
  const uint32_t patience =
      executor.quantum == 0 ? kIdleRounds : kIdleRounds * (1 + 512 / executor.quantum);
  const auto run_warp = executor.launch->core->run_warp;
  for (;;) {
    bool ran = false, worked = false;
    const uint64_t progress = cta.progress;
    for (const uint32_t index : cta.order) {
      WarpState& warp = cta.warps[index];
      if (warp.finished || !(has_ready(warp) || resolve_stuck_warp(warp, false))) continue;
      ran = true;
      const RunEnd end = run_warp(warp);
      if (end == RunEnd::stopped) return BlockEnd::stopped;
      worked = worked || end != RunEnd::spinning;
    }
    if (cta.live_warps == 0) return BlockEnd::finished;
    if (!ran) {
      bool resolved = false;
      for (WarpState& warp : cta.warps)
        resolved = resolved || (!warp.finished && resolve_stuck_warp(warp, true));
      if (resolved) continue;
      report_deadlock(cta);
      return BlockEnd::stopped;
    }
    if (worked || cta.progress != progress) {
      cta.idle_rounds = 0;
    } else if (++cta.idle_rounds >= patience) {
      cta.idle_rounds = 0;
      if (only_waits_in_vain(cta)) {
        report_deadlock(cta);
        return BlockEnd::stopped;
      }
      return BlockEnd::spinning;
    }
  }
}

std::vector<uint32_t> block_order(const Schedule& schedule, uint64_t blocks) {
  std::vector<uint32_t> order;
  if (schedule.seed == 0 || blocks > (1ull << 31)) return order;
  order.resize(blocks);
  for (uint64_t i = 0; i < blocks; ++i) order[i] = static_cast<uint32_t>(i);
  for (uint64_t i = blocks; i > 1; --i)
    std::swap(order[i - 1], order[mix64(schedule.seed + i) % i]);
  return order;
}

}  // namespace fiel::vgpu
