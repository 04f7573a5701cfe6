#include "judge/protocols/words.h"

#include <fmt/core.h>

#include "base/text.h"

namespace fiel::judge {
namespace {

struct Words {
  Protocol protocol;
  std::string_view text, remedy;
};

constexpr Words kWords[] = {
    {Protocol::strict,
     "Fiel's own protocol and the default: secret seeds, a float64 reference, a bound that follows "
     "the scale and the length of the sums, probes of values, addresses and weights, several "
     "shapes, "
     "and a candidate in a process of its own that holds no answer.",
     "docs/protocol.md has the steps and the rule behind each."},
    {Protocol::naive,
     "A first evaluator, deliberately vulnerable: one set of inputs drawn once, the reference run "
     "after the candidate on the same tensors, an absolute tolerance, a host clock that does not "
     "wait for the device. Memoised answers, zeros where outputs are small, half precision and "
     "work "
     "left behind pass.",
     "Read its verdict as an opinion: `fiel compare` shows it beside strict's."},
    {Protocol::kernelbench,
     "KernelBench's evaluator re-created: inputs from a public seed, both modules built from it, "
     "one "
     "output tensor compared by allclose relative to the candidate's own values, events on the "
     "current stream, eager as the baseline.",
     "Read its verdict as an opinion. docs/protocols.md has file and line of every rule."},
    {Protocol::cuda_agent,
     "CUDA-Agent's verification and profiling scripts re-created: unseeded inputs, clones for the "
     "candidate, eval mode, torch.nn.functional refused inside the candidate's forward while "
     "values "
     "are checked and not while it is timed, device times summed by the profiler, eager and "
     "torch.compile as baselines.",
     "Read its verdict as an opinion. docs/protocols.md has file and line of every rule."},
    {Protocol::kernelbench_verified,
     "KernelBench-Verified's evaluator re-created: KernelBench's rules under a wider tolerance, "
     "then "
     "hidden inputs at several scales, a baseline with TF32, and the peak of PyTorch's allocator.",
     "Read its verdict as an opinion. docs/protocols.md has file and line of every rule."},
};

std::string tolerance(const ToleranceRule& t) {
  return t.rtol == 0 ? format_double(t.atol) + " absolute"
                     : fmt::format("{} absolute and {} relative", format_double(t.atol),
                                   format_double(t.rtol));
}

std::string figures(const ProtocolRules& r) {
  const std::string hidden =
      r.hidden_scales.empty() ? "" : fmt::format(" and {} hidden", r.hidden_scales.size());
  return fmt::format(
      " Trials: {}{}. Tolerance in fp32: {}; in half precision: {}. Re-created from: {}.", r.trials,
      hidden, tolerance(r.fp32), tolerance(r.half), r.source);
}

}  // namespace

ProtocolWords words_of(Protocol protocol) {
  for (const Words& w : kWords) {
    if (w.protocol != protocol) continue;
    const std::string own = protocol == Protocol::strict ? "" : figures(rules_of(protocol));
    return {std::string(w.text) + own, std::string(w.remedy)};
  }
  return {};
}

}  // namespace fiel::judge
