// What the virtual GPU found wrong with a kernel: kinds, grades, and where.
// `fiel explain CODE` prints the long text of each (vgpu/findings.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// id, code as users see it, grade unless the check decides otherwise
#define FIEL_FINDINGS(X)                                      \
  X(out_of_bounds, "out-of-bounds", error)                    \
  X(misaligned, "misaligned-access", error)                   \
  X(use_after_free, "use-after-free", error)                  \
  X(uninitialized_global, "uninitialized-global-read", error) \
  X(uninitialized_shared, "uninitialized-shared-read", error) \
  X(uninitialized_local, "uninitialized-local-read", warn)    \
  X(shared_race, "shared-race", error)                        \
  X(global_race, "global-race", error)                        \
  X(warp_synchronous, "warp-synchronous-access", warn)        \
  X(divergent_barrier, "divergent-barrier", error)            \
  X(invalid_barrier, "invalid-barrier", error)                \
  X(bad_shuffle_mask, "invalid-warp-mask", error)             \
  X(inactive_lane_read, "inactive-lane-read", error)          \
  X(in_flight_read, "read-of-bytes-in-flight", error)         \
  X(in_flight_write, "write-of-bytes-in-flight", error)       \
  X(deadlock, "deadlock", error)                              \
  X(runaway, "instruction-budget-exhausted", error)           \
  X(division_by_zero, "integer-division-by-zero", warn)       \
  X(stack_overflow, "stack-limit", error)                     \
  X(heap_exhausted, "heap-limit", warn)                       \
  X(invalid_free, "invalid-free", error)                      \
  X(assertion, "device-assert", error)                        \
  X(trap, "trap", error)                                      \
  X(bad_branch_index, "branch-table-index", error)            \
  X(bad_call_target, "call-target", error)                    \
  X(write_to_const, "write-to-read-only", error)              \
  X(same_value_race, "same-value-write", info)                \
  X(nondeterministic, "schedule-dependent-output", error)     \
  X(incomplete_output, "output-not-covered", error)           \
  X(written_twice, "output-written-twice", info)              \
  X(printf_overflow, "printf-buffer-full", info)              \
  X(contract_sensitive, "contraction-sensitive", info)

namespace fiel::vgpu {

enum class FindingKind : uint8_t {
#define FIEL_X(id, code, grade) id,
  FIEL_FINDINGS(FIEL_X)
#undef FIEL_X
};
enum class Grade : uint8_t { info, warn, error };

std::string_view code_of(FindingKind kind);     ///< "out-of-bounds"
std::string_view meaning_of(FindingKind kind);  ///< a paragraph for `fiel explain`
Grade default_grade(FindingKind kind);
std::string_view name_of(Grade grade);

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
  bool operator==(const Dim3&) const = default;
};

struct SourceFrame {  ///< innermost first: where the instruction is, then who inlined it
  std::string file, function;
  uint32_t line = 0, column = 0;
};

/// One group: same kind, same instruction (and, for races, same other instruction). `count` lane
/// occurrences were folded in; the fields below describe the first one in schedule order.
struct Finding {
  FindingKind kind{};
  Grade grade = Grade::error;
  uint64_t count = 0;
  std::string kernel;
  std::string instruction;  ///< PTX text
  uint32_t ptx_line = 0;
  std::vector<SourceFrame> source;  ///< empty without -lineinfo
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  bool has_address = false;
  uint64_t address = 0;
  uint32_t bytes = 0;                     ///< size of the access
  std::string detail;                     ///< "4 bytes past the end of 'x' (1024 bytes at 0x…)"
  std::vector<SourceFrame> other_source;  ///< races: the other access
  std::string other_instruction;
  Dim3 other_block{0, 0, 0}, other_thread{0, 0, 0};
};

/// "ERROR out-of-bounds  4-byte read … at softmax.cu:31, block (2,0,0) thread (255,0,0) …"
std::string to_string(const Finding& finding);

}  // namespace fiel::vgpu
