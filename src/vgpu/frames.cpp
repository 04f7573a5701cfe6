#include "vgpu/frames.h"

#include <fmt/core.h>

#include <cstring>

#include "vgpu/occupancy.h"
#include "vgpu/report_access.h"
#include "vgpu/scheduler.h"

namespace fiel::vgpu {
namespace {

constexpr uint32_t kMaxCallDepth = 4096;

template <typename T>
void splat(uint8_t* to, T value) {
  T* lanes = reinterpret_cast<T*>(to);
  for (int i = 0; i < kLanes; ++i) lanes[i] = value;
}

struct Position {  ///< of a thread
  uint32_t x, y, z;
};
Position thread_of(const Dim3& block, uint32_t linear) {
  return {linear % block.x, linear / block.x % block.y, linear / block.x / block.y};
}

/// A block's bytes of shared memory as an H200 counts them: those of its variables in units of 16,
/// the dynamic ones as they are.
uint32_t shared_given_to(const LaunchState& launch) {
  return ((launch.static_shared_bytes + 15u) & ~15u) + launch.request->dynamic_shared_bytes;
}

uint64_t special_of(const WarpState& warp, const SlotInit& init, uint32_t lane) {
  using S = ptx::SpecialReg;
  const Cta& cta = *warp.cta;
  const LaunchState& launch = *cta.launch;
  const LaunchRequest& request = *launch.request;
  const Position thread = thread_of(request.block, warp.index * kLanes + lane);
  switch (init.special) {
    case S::tid_x:
      return thread.x;
    case S::tid_y:
      return thread.y;
    case S::tid_z:
      return thread.z;
    case S::ntid_x:
      return request.block.x;
    case S::ntid_y:
      return request.block.y;
    case S::ntid_z:
      return request.block.z;
    case S::ctaid_x:
      return cta.block_index.x;
    case S::ctaid_y:
      return cta.block_index.y;
    case S::ctaid_z:
      return cta.block_index.z;
    case S::nctaid_x:
    case S::nclusterid_x:
      return request.grid.x;
    case S::nctaid_y:
    case S::nclusterid_y:
      return request.grid.y;
    case S::nctaid_z:
    case S::nclusterid_z:
      return request.grid.z;
    case S::clusterid_x:
      return cta.block_index.x;
    case S::clusterid_y:
      return cta.block_index.y;
    case S::clusterid_z:
      return cta.block_index.z;
    case S::cluster_nctaid_x:
    case S::cluster_nctaid_y:
    case S::cluster_nctaid_z:
    case S::cluster_nctarank:
      return 1;
    case S::laneid:
      return lane;
    case S::warpid:
      return warp.index;
    case S::nwarpid:
      return 64;
    case S::smid:
      return cta.linear % launch.options->multiprocessors;
    case S::nsmid:
      return launch.options->multiprocessors;
    case S::lanemask_eq:
      return 1u << lane;
    case S::lanemask_le:
      return (2u << lane) - 1u;
    case S::lanemask_lt:
      return (1u << lane) - 1u;
    case S::lanemask_ge:
      return ~((1u << lane) - 1u);
    case S::lanemask_gt:
      return ~((2u << lane) - 1u);
    case S::total_smem_size:
      return whole_shared_units(shared_given_to(launch));
    case S::dynamic_smem_size:
      return request.dynamic_shared_bytes;
    case S::aggr_smem_size:
      return shared_given_to(launch) + kSharedReservedPerBlock;
    case S::envreg:
      // Cooperative groups read the grid's workspace as (envreg1 << 32) | envreg2.
      if (init.value == 1) return launch.workspace >> 32;
      if (init.value == 2) return launch.workspace & 0xffffffffu;
      return 0;
    default:
      return 0;
  }
}

uint64_t parameter_of(const LaunchState& launch, const SlotInit& init) {
  uint64_t value = 0;
  memcpy(&value, reinterpret_cast<const uint8_t*>(launch.parameters) + init.value, init.load_bytes);
  if (init.sign_extend && init.load_bytes < 8) {
    const uint32_t shift = 64 - 8u * init.load_bytes;
    value = static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
    if (init.bytes == 4) value &= 0xffffffffu;
  }
  return value;
}

void write_value(const SlotInit& init, uint64_t value, uint8_t* to) {
  if (init.bytes == 4) splat(to, static_cast<uint32_t>(value));
  if (init.bytes == 8) splat(to, value);
  if (init.bytes == 0) memcpy(to, &value, 4);
  if (init.bytes == 16)
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t words[2] = {value, 0};
      memcpy(to + 16 * i, words, 16);
    }
}

}  // namespace

void write_inits(const WarpState& warp, const FunctionCode& function, uint32_t first, uint32_t end,
                 uint32_t local_base, uint8_t* regs) {
  const LaunchState& launch = *warp.cta->launch;
  for (uint32_t i = first; i < end; ++i) {
    const SlotInit& init = function.inits[i];
    uint8_t* to = regs + init.slot;
    switch (init.kind) {
      case SlotInit::Kind::immediate:
        write_value(init, init.value, to);
        break;
      case SlotInit::Kind::zero:
        write_value(init, 0, to);
        break;
      case SlotInit::Kind::param:
        write_value(init, parameter_of(launch, init), to);
        break;
      case SlotInit::Kind::param_address:
        write_value(init, launch.parameters + init.value, to);
        break;
      case SlotInit::Kind::local_address:
        write_value(init, local_base + init.value, to);
        break;
      case SlotInit::Kind::dynamic_shared: {
        // Dynamic memory follows the static; low word: the alignment wanted, high: an offset.
        const uint64_t align = init.value & 0xffffffffu;
        write_value(init,
                    (launch.static_shared_bytes + align - 1) / align * align + (init.value >> 32),
                    to);
        break;
      }
      case SlotInit::Kind::special:
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          const uint64_t value = special_of(warp, init, lane);
          if (init.bytes == 8)
            memcpy(to + 8 * lane, &value, 8);
          else
            memcpy(to + 4 * lane, &value, 4);
        }
        break;
    }
  }
}

void clear_locals(WarpState& warp, uint32_t mask, uint32_t base, uint32_t bytes) {
  if (bytes == 0) return;
  Cta& cta = *warp.cta;
  const uint64_t stride = cta.executor->local_stride;
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<uint64_t>(__builtin_ctz(mask));
    const uint64_t at = (warp.index * uint64_t{kLanes} + lane) * stride + base;
    memset(cta.local + at, 0xff, bytes);
    memset(cta.local_shadow + at / 4, 0, (bytes + 3) / 4);
  }
}

namespace {

void copy_local(WarpState& warp, uint32_t mask, uint64_t from, uint64_t to, uint32_t bytes) {
  Cta& cta = *warp.cta;
  const uint64_t stride = cta.executor->local_stride;
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<uint64_t>(__builtin_ctz(mask));
    const uint64_t base = (warp.index * uint64_t{kLanes} + lane) * stride;
    memcpy(cta.local + base + to, cta.local + base + from, bytes);
    memset(cta.local_shadow + (base + to) / 4, 0x55, (bytes + 3) / 4);
  }
}

std::unique_ptr<Frame> take_frame(WarpState& warp, uint32_t bytes) {
  std::unique_ptr<Frame> frame;
  if (!warp.free_frames.empty()) {
    frame = std::move(warp.free_frames.back());
    warp.free_frames.pop_back();
  } else {
    frame = std::make_unique<Frame>();
  }
  if (frame->storage.size() < bytes + 64) frame->storage.resize(bytes + 64);
  const auto address = reinterpret_cast<uintptr_t>(frame->storage.data());
  frame->regs = frame->storage.data() + ((64 - address % 64) % 64);
  return frame;
}

}  // namespace

bool push_frame(WarpState& warp, const Op& op, uint32_t function, uint32_t return_pc, uint32_t mask,
                Frame*& frame) {
  Executor& executor = *warp.executor;
  const Program& program = *executor.launch->program;
  const FunctionCode& callee = program.functions[function];
  Frame* parent = warp.splits[warp.current].frame;
  const FunctionCode& caller = program.functions[parent->function];
  const uint32_t after = parent->local_base + caller.local_bytes;
  const uint32_t base = (after + callee.local_align - 1) & ~(callee.local_align - 1);
  if (parent->depth >= kMaxCallDepth ||
      uint64_t{base} + callee.local_bytes > executor.local_stride) {
    report_with_detail(
        warp, op, static_cast<uint8_t>(FindingKind::stack_overflow), mask,
        fmt::format("call of {} at depth {} needs {} bytes of {}", callee.name, parent->depth + 1,
                    uint64_t{base} + callee.local_bytes, executor.local_stride)
            .c_str());
    stop_faulted(warp);
    return false;
  }
  std::unique_ptr<Frame> made = take_frame(warp, callee.frame_bytes);
  made->parent = parent;  // the split's reference becomes the child's
  made->references = 1;
  made->return_pc = return_pc;
  made->function = function;
  made->depth = parent->depth + 1;
  made->local_base = base;
  made->call_op = static_cast<uint32_t>(&op - executor.ops);
  clear_locals(warp, mask, base, callee.local_bytes);
  const uint32_t* list = executor.extra + op.extra;
  for (uint32_t i = 0; i < list[0] && i < callee.param_offsets.size(); ++i)
    copy_local(warp, mask, parent->local_base + list[2 + i], base + callee.param_offsets[i],
               callee.param_bytes[i]);
  write_inits(warp, callee, 0, static_cast<uint32_t>(callee.inits.size()), base, made->regs);
  frame = made.get();
  warp.frames.push_back(std::move(made));
  return true;
}

void copy_results(WarpState& warp, const Frame& frame, uint32_t mask) {
  const Executor& executor = *warp.executor;
  const FunctionCode& callee = executor.launch->program->functions[frame.function];
  const uint32_t* list = executor.extra + executor.ops[frame.call_op].extra;
  for (uint32_t i = 0; i < list[1] && i < callee.return_offsets.size(); ++i)
    copy_local(warp, mask, frame.local_base + callee.return_offsets[i],
               frame.parent->local_base + list[2 + list[0] + i], callee.return_bytes[i]);
}

void release_frame(WarpState& warp, Frame* frame) {
  for (size_t i = warp.frames.size(); i-- > 0;)
    if (warp.frames[i].get() == frame) {
      warp.free_frames.push_back(std::move(warp.frames[i]));
      warp.frames.erase(warp.frames.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
}

uint32_t function_at(const Executor& executor, uint64_t address) {
  const uint64_t offset = address - Program::kCodeBase;
  if (address < Program::kCodeBase || offset % 16 != 0) return kNoIndex;
  const uint64_t index = offset / 16;
  return index < executor.launch->program->functions.size() ? static_cast<uint32_t>(index)
                                                            : kNoIndex;
}

}  // namespace fiel::vgpu
