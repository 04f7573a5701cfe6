#include "vgpu/launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "vgpu/isa/core_select.h"
#include "vgpu/observer.h"
#include "vgpu/report_access.h"
#include "vgpu/scheduler.h"

namespace fiel::vgpu {
namespace {

uint64_t instructions_of(const Executor& executor) {
  uint64_t total = 0;
  const Program& program = *executor.launch->program;
  for (size_t i = 0; i < program.blocks.size(); ++i)
    total += executor.counts[i].lanes * program.blocks[i].counted;
  return total;
}

void update_instructions(Executor& executor) {
  const uint64_t now = instructions_of(executor);
  executor.launch->instructions.fetch_add(now - executor.polled_instructions,
                                          std::memory_order_relaxed);
  executor.polled_instructions = now;
}

void report_runaway(Executor& executor) {
  Cta& cta = *executor.cta;
  uint32_t threads = 0;
  WarpState* where = nullptr;
  for (WarpState& warp : cta.warps) {
    if (warp.finished) continue;
    if (where == nullptr) where = &warp;
    threads += static_cast<uint32_t>(__builtin_popcount(warp.alive()));
  }
  if (where == nullptr || where->splits.empty()) return;
  const Split& split = where->splits[where->current < where->splits.size() ? where->current : 0];
  report_with_detail(
      *where, executor.ops[split.pc], static_cast<uint8_t>(FindingKind::runaway), split.mask,
      fmt::format("the budget of {} thread-instructions is used up; {} threads of the block are "
                  "still running, one of them here",
                  executor.launch->request->instruction_budget, threads)
          .c_str());
}

uint64_t low_water(const LaunchState& launch) {
  uint64_t low = ~0ull;
  for (const auto& executor : launch.executors)
    low = std::min(low, executor->position.load(std::memory_order_acquire));
  return low;
}

/// The first blocks of the schedule keep their text, whichever worker was faster: a block goes when
/// those before it fill the buffer without it.
void keep_printed(LaunchState& launch, Cta& cta) {
  const std::lock_guard lock(launch.mutex);
  launch.printed_bytes += cta.printed.size();
  launch.printed[cta.position] = {std::move(cta.printed), cta.linear, cta.print_op};
  for (auto last = std::prev(launch.printed.end());
       launch.printed_bytes - last->second.text.size() > kPrintLimit;
       last = std::prev(launch.printed.end())) {
    launch.printed_bytes -= last->second.text.size();
    launch.printed.erase(last);
  }
}

/// Hands over what was printed; a finding where there was more than is kept.
void deliver_printed(LaunchState& launch) {
  uint64_t room = kPrintLimit;
  for (const auto& [position, printed] : launch.printed) {
    if (position > launch.stop_position.load()) return;
    const uint64_t n = std::min<uint64_t>(room, printed.text.size());
    if (launch.request->print) launch.request->print(std::string_view(printed.text).substr(0, n));
    room -= n;
    if (n == printed.text.size()) continue;
    Occurrence cut{.kind = FindingKind::printf_overflow,
                   .grade = default_grade(FindingKind::printf_overflow),
                   .op = printed.op,
                   .block = printed.block};
    cut.detail = fmt::format("a launch keeps {} bytes of text, the first blocks'", kPrintLimit);
    CtaFindings findings;
    findings.add(std::move(cut));
    launch.sink.commit(position, std::move(findings), 0);
    return;
  }
}

void commit(Executor& executor, Cta& cta) {
  LaunchState& launch = *executor.launch;
  uint64_t low = cta.position;
  for (const auto& other : executor.resident)
    if (other.get() != &cta) low = std::min(low, other->position);
  if (!cta.printed.empty()) keep_printed(launch, cta);
  if (!cta.findings.empty())
    launch.sink.commit(cta.position, std::move(cta.findings), low_water(launch));
  cta.findings.clear();
}

bool start_next(Executor& executor) {
  LaunchState& launch = *executor.launch;
  // Published before it is taken: nobody may think that positions from here on are done.
  executor.position.store(
      std::min(executor.position.load(), launch.next_position.load(std::memory_order_acquire)),
      std::memory_order_release);
  const uint64_t position = launch.next_position.fetch_add(1, std::memory_order_acq_rel);
  if (position >= launch.blocks || position > launch.stop_position.load()) return false;
  std::unique_ptr<Cta> cta;
  if (!executor.idle.empty()) {
    cta = std::move(executor.idle.back());
    executor.idle.pop_back();
  } else {
    cta = std::make_unique<Cta>();
  }
  start_block(executor, *cta, position);
  executor.resident.push_back(std::move(cta));
  return true;
}

void publish_position(Executor& executor) {
  uint64_t low = executor.launch->next_position.load(std::memory_order_acquire);
  for (const auto& cta : executor.resident) low = std::min(low, cta->position);
  executor.position.store(low, std::memory_order_release);
}

void retire(Executor& executor, size_t index) {
  if (executor.observer != nullptr) executor.observer->end_block(*executor.resident[index]);
  commit(executor, *executor.resident[index]);
  executor.idle.push_back(std::move(executor.resident[index]));
  executor.resident.erase(executor.resident.begin() + static_cast<std::ptrdiff_t>(index));
  publish_position(executor);
}

void work(Executor& executor) {
  LaunchState& launch = *executor.launch;
  if (launch.interleave)
    while (start_next(executor)) {}
  size_t turn = 0;
  for (;;) {
    if (executor.resident.empty() && !start_next(executor)) break;
    if (turn >= executor.resident.size()) turn = 0;
    Cta& cta = *executor.resident[turn];
    if (launch.abort.load(std::memory_order_relaxed) ||
        cta.position > launch.stop_position.load()) {
      retire(executor, turn);
      continue;
    }
    switch (run_block(executor, cta)) {
      case BlockEnd::finished:
      case BlockEnd::stopped:
        retire(executor, turn);
        break;
      case BlockEnd::spinning:
        // It waits for another block: one that has not begun, or one that is resident too.
        if (executor.resident.size() < launch.resident_limit && start_next(executor))
          turn = executor.resident.size() - 1;
        else
          ++turn;
        break;
    }
  }
  executor.position.store(~0ull, std::memory_order_release);
  update_instructions(executor);
}

}  // namespace

bool poll(Executor& executor) {
  LaunchState& launch = *executor.launch;
  if (launch.abort.load(std::memory_order_relaxed) ||
      executor.cta->position > launch.stop_position.load(std::memory_order_relaxed))
    return false;
  update_instructions(executor);
  if (launch.instructions.load(std::memory_order_relaxed) > launch.request->instruction_budget) {
    if (!launch.abort.exchange(true)) {
      report_runaway(executor);
      stop_launch(launch, LaunchStatus::out_of_budget, executor.cta->position,
                  "the instruction budget is used up: an endless loop?");
    }
    return false;
  }
  if (launch.request->cancelled) {
    const std::lock_guard lock(launch.mutex);
    if (launch.request->cancelled()) {
      launch.abort.store(true);
      launch.status = LaunchStatus::cancelled;
      launch.message = "cancelled by the caller";
      launch.status_position = 0;
      return false;
    }
  }
  return true;
}

void stop_launch(LaunchState& launch, LaunchStatus status, uint64_t position, std::string message) {
  const std::lock_guard lock(launch.mutex);
  if (position < launch.status_position) {
    launch.status_position = position;
    launch.status = status;
    launch.message = std::move(message);
  }
  uint64_t old = launch.stop_position.load();
  while (position < old && !launch.stop_position.compare_exchange_weak(old, position)) {}
}

void run_grid(LaunchState& launch) {
  for (const auto& executor : launch.executors) executor->position.store(0);
  std::vector<std::thread> threads;
  for (size_t i = 1; i < launch.executors.size(); ++i)
    threads.emplace_back([&launch, i] { work(*launch.executors[i]); });
  work(*launch.executors[0]);
  for (std::thread& thread : threads) thread.join();
  deliver_printed(launch);
}

}  // namespace fiel::vgpu
