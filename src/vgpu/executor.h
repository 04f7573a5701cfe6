// State of a running launch: warps with their splits, blocks with their barriers, workers.
//
// A warp is a set of splits, each lanes that share a pc and a call frame. The run loop
// (isa/executor.cpp) executes one of them at a time, the deepest frame and then the lowest pc
// first; blocks lie in reverse post-order, so the lanes behind catch up and merge. Everything here
// is plain state; who changes it: isa/executor.cpp (running), isa/calls.cpp (frames),
// scheduler.cpp (blocks, barriers, waiting), sink.cpp (findings).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "vgpu/arena.h"
#include "vgpu/device.h"
#include "vgpu/isa/memory_access.h"
#include "vgpu/program.h"
#include "vgpu/sink.h"
#include "vgpu/warp.h"

namespace fiel::vgpu {

struct LaunchState;
struct CoreHandlers;
class DeviceHeap;
class Observer;
class GlobalRaces;

/// Windows of the generic address space. The arena lies elsewhere (FIEL_CHECKed at creation).
inline constexpr uint64_t kSharedWindow = 0x0000'0100'0000'0000ull;
inline constexpr uint64_t kLocalWindow = 0x0000'0200'0000'0000ull;
inline constexpr uint64_t kWindowBytes = 1ull << 32;

inline constexpr uint32_t kBarriers = 16;
inline constexpr uint32_t kNoIndex = 0xffffffffu;

/// Why the run loop must look up: bits of Warp::attention.
inline constexpr uint32_t kAttentionStop = 1u;   ///< the launch ends (fault)
inline constexpr uint32_t kAttentionYield = 2u;  ///< exchange the warp after this op

/// One activation of a function by the lanes that entered it together.
struct Frame {
  Frame* parent = nullptr;
  uint32_t references = 0;  ///< splits and child frames
  uint32_t return_pc = 0;
  uint32_t function = 0;
  uint32_t depth = 0;
  uint32_t local_base = 0;  ///< offset of its stack part in every lane's stack
  uint32_t call_op = kNoIndex;
  uint8_t* regs = nullptr;
  std::vector<uint8_t> storage;  ///< of regs, unless it is an entry's frame
};

enum class Wait : uint8_t {
  ready,
  barrier,   ///< arrived at Cta::barriers[which]
  parked,    ///< at an aligned barrier, hoping for the other lanes of the warp
  converge,  ///< at a .sync operation whose other lanes have not come
};

struct Split {
  uint32_t pc = 0, mask = 0;
  Frame* frame = nullptr;
  Wait wait = Wait::ready;
  bool counted = false;  ///< the block that pc lies in has been counted
  bool suspect = false;  ///< parked while other lanes were at work elsewhere
  uint32_t which = 0;    ///< barrier number
  uint32_t needed = 0;   ///< converge: lanes that must come
  uint64_t last_run = 0;
};

struct WarpState : Warp {
  std::vector<Split> splits;
  uint32_t current = 0;
  uint32_t lanes = 0;  ///< lanes that exist (the last warp of a block may be short)
  uint32_t spins = 0;  ///< backward jumps since another split or warp moved
  uint32_t boost = 0;  ///< jumps for which a split chosen for fairness keeps running
  uint64_t steps = 0;  ///< jumps made: the warp's clock
  bool finished = false;
  Frame entry_frame;
  std::vector<std::unique_ptr<Frame>> free_frames, frames;
  Attachment attachment;

  uint32_t alive() const { return lanes & ~exited; }
};

struct Barrier {
  uint32_t arrived = 0;   ///< as PTX counts: 32 a warp for aligned forms, else threads
  uint32_t waiting = 0;   ///< live threads that wait here
  uint32_t expected = 0;  ///< 0 = all live threads of the block
  uint32_t popcount = 0;  ///< bar.red
  bool all = true, any = false;
  uint32_t first_op = kNoIndex;  ///< the op that arrived first; kNoIndex = nobody has
};

/// Text of device printf: what a block keeps, and what a launch does.
inline constexpr uint64_t kPrintLimit = 1u << 20;

struct Cta {
  LaunchState* launch = nullptr;
  Executor* executor = nullptr;
  uint64_t position = 0;  ///< in the schedule's order
  uint64_t linear = 0;    ///< blockIdx.x + gridDim.x * (…)
  Dim3 block_index{0, 0, 0};
  std::vector<WarpState> warps;
  std::vector<uint32_t> order;  ///< warps in the schedule's order
  std::vector<uint8_t> registers_storage;
  uint8_t* registers = nullptr;  ///< 64-aligned, entry frame of each warp
  uint8_t* shared = nullptr;
  uint8_t* shared_shadow = nullptr;  ///< 2 bits a byte: bit 0 initialised, bit 1 in flight
  uint32_t shared_bytes = 0;
  std::vector<uint8_t> shared_storage;
  uint8_t* local = nullptr;         ///< warps * 32 stacks
  uint8_t* local_shadow = nullptr;  ///< 2 bits a byte
  uint64_t local_reserved = 0;
  Barrier barriers[kBarriers];
  uint32_t live_threads = 0;
  uint32_t live_warps = 0;
  uint32_t idle_rounds = 0;  ///< rounds over all warps in which none did more than spin
  uint64_t progress = 0;     ///< barriers completed, lanes exited
  std::string printed;
  uint32_t print_op = 0;  ///< the instruction that printed last
  Attachment attachment;
  CtaFindings findings;
  bool initialized = false;  ///< launch- and warp-lifetime slots are written

  Cta() = default;
  Cta(const Cta&) = delete;
  Cta& operator=(const Cta&) = delete;
  ~Cta();
};

struct BlockCount {
  uint64_t runs = 0, lanes = 0;
};

/// The range that an op touched last: one compare instead of a search.
struct RangeHint {
  uint64_t begin = 1, end = 0;
  uint32_t flags = 0;
};
inline constexpr uint32_t kRangeReadOnly = 1u;
inline constexpr uint32_t kRangeFilled = 2u;
inline constexpr uint32_t kRangeOutput = 4u;
inline constexpr uint32_t kRangeHints = 1024;

/// One worker thread.
struct Executor {
  LaunchState* launch = nullptr;
  const Op* ops = nullptr;
  const OpMeta* meta = nullptr;
  const uint32_t* extra = nullptr;
  const Block* blocks = nullptr;
  Arena* arena = nullptr;
  uint64_t arena_base = 0;
  uint8_t* arena_shadow = nullptr;
  uint32_t watch = 0;  ///< kWatch… of isa/observe.h
  bool check_initialized = true;
  bool concurrent = false;  ///< other workers run blocks of this launch
  uint32_t quantum = 0;     ///< instructions
  int64_t fuel = 0;         ///< jumps until the next poll
  uint32_t local_stride = 0;
  std::vector<BlockCount> counts;
  std::vector<uint64_t> guarded_off;  ///< by op: lanes that a guard switched off
  std::vector<uint64_t> divergent;    ///< by op: branches that split
  RangeHint hints[kRangeHints];
  Cta* cta = nullptr;  ///< that runs now
  std::vector<std::unique_ptr<Cta>> resident;
  std::vector<std::unique_ptr<Cta>> idle;  ///< for reuse
  uint64_t polled_instructions = 0;
  std::atomic<uint64_t> position{0};  ///< lowest position that is still running here
  Observer* observer = nullptr;
};

/// What run_warp answers. spinning: in a loop (or asleep) that only other threads can end.
enum class RunEnd : uint8_t { finished, blocked, yielded, spinning, stopped };

struct LaunchState {
  const Program* program = nullptr;
  const ptx::Module* module = nullptr;
  const CoreHandlers* core = nullptr;
  const LaunchRequest* request = nullptr;
  const DeviceOptions* options = nullptr;
  Arena* arena = nullptr;
  DeviceHeap* heap = nullptr;
  uint32_t function = 0;
  uint64_t parameters = 0;  ///< address of the block in the arena
  uint64_t workspace = 0;   ///< of a cooperative grid
  uint32_t static_shared_bytes = 0, shared_bytes = 0;
  uint32_t threads = 0, warps = 0;  ///< of a block
  uint64_t blocks = 0;
  uint32_t local_stride = 0;    ///< stack bytes of a thread
  uint64_t resident_limit = 1;  ///< blocks that may have begun and not ended, of one worker
  bool interleave = false;      ///< all blocks are resident from the start
  std::vector<uint32_t> order;  ///< blocks by position; empty = natural

  Sink sink;
  std::atomic<uint64_t> next_position{0};
  std::atomic<uint64_t> stop_position{~0ull};  ///< blocks behind it need not run
  std::atomic<bool> abort{false};              ///< cancelled or out of budget: everyone stops
  std::atomic<uint64_t> instructions{0};       ///< thread-instructions, updated at polls
  std::vector<std::unique_ptr<Executor>> executors;
  std::unique_ptr<GlobalRaces> global_races;         ///< one shadow for all blocks
  std::vector<std::unique_ptr<Observer>> observers;  ///< one an executor, where anything is watched

  LaunchState();
  ~LaunchState();

  std::mutex mutex;  ///< of what follows
  LaunchStatus status = LaunchStatus::completed;
  uint64_t status_position = ~0ull;
  std::string message;
  struct PrintedText {
    std::string text;
    uint64_t block = 0;
    uint32_t op = 0;
  };
  std::map<uint64_t, PrintedText> printed;  ///< by position
  uint64_t printed_bytes = 0;
};

/// Ends the launch from block `position` on; of several ends the first in schedule order counts.
void stop_launch(LaunchState& launch, LaunchStatus status, uint64_t position, std::string message);

inline WarpState& state_of(Warp& warp) { return static_cast<WarpState&>(warp); }

}  // namespace fiel::vgpu
