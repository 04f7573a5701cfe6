// The words of a verdict: statuses, probes, numerics classes, findings of the judge, exit codes.
// Each has a stable name and a paragraph that `fiel explain NAME` prints.
//
//   VerdictStatus s = VerdictStatus::incorrect;  name_of(s) == "incorrect";  number_of(s) == 1
//   exit_code_of(s) == 1
//   std::optional<Explanation> e = explain("missing word");      // with did_you_mean on failure
//
// The numbers and names are part of the JSON that others store: never renumber, never rename.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// id, number, name
#define FIEL_STATUSES(X)                     \
  X(correct, 0, "correct")                   \
  X(incorrect, 1, "incorrect")               \
  X(timing_invalid, 2, "timing_invalid")     \
  X(tampering, 3, "tampering")               \
  X(policy_violation, 4, "policy_violation") \
  X(task_void, 5, "task_void")               \
  X(compile_error, 6, "compile_error")       \
  X(runtime_error, 7, "runtime_error")       \
  X(timeout, 8, "timeout")                   \
  X(unsupported, 9, "unsupported")           \
  X(harness_fault, 10, "harness_fault")      \
  X(undecided, 11, "undecided")

// id, name
#define FIEL_PROBES(X)                    \
  X(task_inputs, "task-inputs")           \
  X(mixed_signs, "mixed-signs")           \
  X(offset_mean, "offset-mean")           \
  X(scale_range, "scale-range")           \
  X(outliers, "outliers")                 \
  X(ties, "ties")                         \
  X(constant, "constant")                 \
  X(one_hot, "one-hot")                   \
  X(special_values, "special-values")     \
  X(same_address, "same-address")         \
  X(new_address, "new-address")           \
  X(one_element, "one-element")           \
  X(weights_in_place, "weights-in-place") \
  X(guard_bands, "guard-bands")           \
  X(schedules, "schedules")               \
  X(repeated_calls, "repeated-calls")     \
  X(other_shapes, "other-shapes")         \
  X(module_state, "module-state")         \
  X(other_mode, "other-mode")             \
  X(timed_calls, "timed-calls")           \
  X(exact_products, "exact-products")

// id, name: what the judge itself finds; the virtual GPU's kinds are in vgpu/findings.h
#define FIEL_JUDGE_FINDINGS(X)                   \
  X(input_modified, "input-modified")            \
  X(guard_overwritten, "guard-band-overwritten") \
  X(work_not_joined, "work-not-joined")          \
  X(stale_output, "stale-output")                \
  X(special_value_lost, "special-value-lost")    \
  X(launch_refused, "launch-refused")            \
  X(cuda_error, "cuda-error")                    \
  X(nonzero_return, "nonzero-return")            \
  X(shape_refused, "shape-refused")              \
  X(refused_late, "refused-late")                \
  X(no_launch, "no-kernel-launched")             \
  X(output_flood, "output-flood")                \
  X(protocol_broken, "runtime-protocol-broken")  \
  X(structure_differs, "structure-differs")      \
  X(output_aliases, "output-aliases-input")      \
  X(state_differs, "state-differs")              \
  X(weights_unmatched, "weights-unmatched")      \
  X(weights_by_shape, "weights-by-shape")        \
  X(task_warning, "task-warning")                \
  X(planned_by_cost, "planned-by-cost")          \
  X(bound_widened, "bound-widened")              \
  X(worker_traceback, "worker-traceback")        \
  X(events_disbelieved, "events-disbelieved")    \
  X(below_floor, "below-physics-floor")          \
  X(library_kernels, "library-kernels")          \
  X(own_kernels, "own-kernels")                  \
  X(track_unjudged, "track-unjudged")            \
  X(policy_left_out, "policy-left-out")          \
  X(strides_differ, "strides-differ")            \
  X(baselines_discarded, "baselines-discarded")

namespace fiel::judge {

enum class VerdictStatus : uint8_t {
#define FIEL_X(id, number, name) id = number,
  FIEL_STATUSES(FIEL_X)
#undef FIEL_X
};
enum class Probe : uint8_t {
#define FIEL_X(id, name) id,
  FIEL_PROBES(FIEL_X)
#undef FIEL_X
};
enum class JudgeFinding : uint8_t {
#define FIEL_X(id, name) id,
  FIEL_JUDGE_FINDINGS(FIEL_X)
#undef FIEL_X
};
inline constexpr int kStatusCount = 12;
inline constexpr int kProbeCount = 21;

std::string_view name_of(VerdictStatus status);
std::string_view name_of(Probe probe);
std::string_view name_of(JudgeFinding finding);
std::optional<VerdictStatus> parse_status(std::string_view name);
std::optional<Probe> parse_probe(std::string_view name);
constexpr int number_of(VerdictStatus status) { return static_cast<int>(status); }

/// 0 accepted, 1 judged and not accepted, 3 could not judge, 5 nothing to judge.
int exit_code_of(VerdictStatus status);

struct Explanation {
  std::string name,
      kind;            ///< "status", "probe", "finding", "numerics class", "protocol", "speed" …
  std::string text;    ///< paragraphs, not wrapped
  std::string remedy;  ///< what to do about it; may be empty
};
/// Every word that `fiel explain` knows, grouped by kind.
std::vector<Explanation> all_explanations();
std::optional<Explanation> explain(std::string_view name);

}  // namespace fiel::judge
