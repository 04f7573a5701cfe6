#include "judge/torch/replay.h"

#include <charconv>

namespace fiel::judge::torch {
namespace {

std::optional<uint64_t> weights_seed(const std::string& words) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), seed);
  return error == std::errc() ? std::optional(seed) : std::nullopt;
}

}  // namespace

Status run_replay(TorchCourse& course, const ReplayCall& call) {
  FIEL_TRY(const bool loaded, course.load());
  if (!loaded) return {};
  const std::string shapes = call.shape_set == kGivenShapes ? "" : call.shape_set;
  FIEL_TRY(const Case c, course.oracle().prepare(call.probe, call.variant, call.seed,
                                                 weights_seed(call.weights), shapes));
  if (c.prepared.dropped)
    return fail(ErrorCode::unsupported, "no such input set: " + *c.prepared.dropped);
  ProbeResult result = blank(call.probe, call.shape_set);
  FIEL_TRY(const bool right, course.check(c, {}, result));
  course.finish(std::move(result));
  if (!right) return {};
  course.verdict().status = VerdictStatus::correct;
  course.verdict().reason = "this call alone is right";
  return {};
}

}  // namespace fiel::judge::torch
