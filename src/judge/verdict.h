// The verdict on one kernel for one task: a status, and the evidence for it.
//
//   judge::Verdict v = judge::judge_kernel(task, "online.cu", options);
//   if (v.status == VerdictStatus::incorrect) show(*v.witness);
//   std::string text = to_json(v).dump(2);            // docs/verdict.schema.json
//
// On the virtual device speed is `not_measured`, and two runs with the same seed on the same
// machine give the same bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "judge/codes.h"
#include "judge/measurement.h"
#include "judge/protocols/opinion.h"
#include "sandbox/isolation.h"
#include "tensor/compare.h"
#include "vgpu/findings.h"

namespace fiel::judge {

inline constexpr int kSchemaVersion = 1;

using Symbols = std::map<std::string, int64_t>;

enum class ProbeOutcome : uint8_t {
  passed,
  failed,
  dropped,  ///< the reference is not finite on this input, or the task forbids it
  skipped,  ///< left out for cost or because the verdict was already decided
};
std::string_view name_of(ProbeOutcome outcome);

/// One probe at one shape set.
struct ProbeResult {
  Probe probe{};
  std::string shape_set;
  Symbols symbols;
  ProbeOutcome outcome = ProbeOutcome::passed;
  std::string reason;       ///< why it was dropped, skipped or failed; empty when it passed
  uint32_t calls = 0;       ///< calls of fiel_run it made
  uint32_t compared = 0;    ///< of these, calls whose outputs were compared in full
  double worst_ratio = 0;   ///< largest error / bound over all elements compared; > 1 fails
  double worst_error = 0;   ///< the error there
  double worst_bound = 0;   ///< and the bound
  double relative_rms = 0;  ///< largest rms(error) / rms(expected) of an output
};

/// The first element that shows that the kernel is wrong.
struct Witness {
  Probe probe{};
  std::string shape_set;
  Symbols symbols;
  uint64_t seed = 0;     ///< of this input set
  uint32_t variant = 0;  ///< which input set of the probe
  double amplitude = 1;  ///< below 1: a milder one, where the reference was not finite
  std::string weights;   ///< PyTorch tasks: "given", or the seed that they were drawn from
  std::string output;
  int64_t flat_index = -1;  ///< -1 where no single element is to blame
  std::vector<int64_t> index;
  double expected = 0, got = 0, error = 0, bound = 0;
  uint64_t call = 0;  ///< the how-manieth call of fiel_run in its process, from 1
  uint64_t wrong_elements = 0, elements = 0;
  bool minimised = false;  ///< symbols are smaller than the shape set that failed first
  std::string note;        ///< one sentence for a person
};

struct FindingRecord {
  std::string code;
  vgpu::Grade grade = vgpu::Grade::error;
  std::string text;  ///< one line for a person
  std::string detail;
  std::string kernel, instruction;
  std::string file;  ///< innermost source line, empty when unknown
  uint32_t line = 0;
  vgpu::Dim3 block{0, 0, 0}, thread{0, 0, 0};
  bool has_place = false;  ///< block and thread mean something
  uint64_t count = 1;
  Probe probe{};
  std::string shape_set;
  uint64_t call = 0;
};

/// A wrong answer that has to be rejected before a kernel is believed.
struct VoidCheck {
  std::string impostor;  ///< "zeros", "constant", "input", "other-input"
  bool rejected = false;
  std::string rejected_by;  ///< probe and shape set that told it apart
};

struct SkippedShape {
  std::string shape_set, reason;
};

struct Environment {
  std::string fiel_version, fiel_commit;
  std::string compiler, device, isa, host;
  // Of PyTorch tasks, driver and device_uuid of any GPU; empty elsewhere.
  std::string torch, python, cuda, driver, device_uuid;
  std::vector<std::string> notes;  ///< what is missing on this machine, and what it costs
};

struct Resources {
  uint64_t calls = 0, calls_compared = 0, launches = 0;
  uint64_t thread_instructions = 0;
  uint64_t peak_device_bytes = 0, candidate_device_bytes = 0;
  uint32_t registers = 0, spill_bytes = 0;  ///< largest over the kernels; 0 where ptxas is silent
};

struct Verdict {
  VerdictStatus status = VerdictStatus::undecided;
  std::string reason;          ///< one sentence: why this status
  std::string unsupported_by;  ///< status unsupported: "kernel", "device" or ""
  std::string task, task_file, task_digest;
  std::string kernel, kernel_digest;
  std::string protocol = "strict";
  std::string device = "virtual";
  uint64_t seed = 0;
  std::optional<NumericsClass> numerics;  ///< measured; none when no output could be compared
  std::string numerics_policy = "tf32";
  std::string weights;  ///< of a PyTorch task: how they were given; empty where there are none
  std::string speed = "not_measured";
  std::optional<Measurement> measurement;       ///< on a GPU, of a kernel that was found right
  std::vector<Measurement> other_measurements;  ///< a native task's at its smaller benchmark shapes
  std::optional<Witness> witness;
  std::optional<Opinion> opinion;  ///< of another protocol than strict
  std::vector<ProbeResult> probes;
  std::vector<FindingRecord> findings;
  std::vector<VoidCheck> void_checks;
  std::vector<SkippedShape> skipped_shapes;
  std::vector<std::string> refused_shapes;  ///< the kernel answered FIEL_UNSUPPORTED there
  double missed_fraction = 1;               ///< a defect in this share of calls is caught with 95 %
  sandbox::IsolationReport isolation;
  Environment environment;
  Resources resources;
  std::string candidate_output;  ///< what it printed, bounded and made printable
  std::string compiler_output;   ///< of a compile_error, bounded
};

/// A verdict's own exit code: as its status, but 3 where the device, not the kernel, is at fault.
int exit_code_of(const Verdict& verdict);

/// −1 judged and not accepted; 1 right; 2 and 3 faster too, as its measurement says. None where
/// nothing was judged: a void task, or a fault of ours.
std::optional<int> reward_of(const Verdict& verdict);

Json to_json(const Verdict& verdict);

/// The virtual GPU's finding as the verdict keeps it.
FindingRecord to_record(const vgpu::Finding& finding, Probe probe, std::string_view shape_set,
                        uint64_t call);

}  // namespace fiel::judge
