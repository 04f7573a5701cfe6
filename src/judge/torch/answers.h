// One answer of a candidate, as the oracle saw it: right or wrong, with the evidence.
//
//   Answer a = judge_answer(verified, c, called, {policy, call_number, "given"});
//   if (!a.right) …a.reason, a.witness…
//
// Pure: the same reply gives the same words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/options.h"
#include "judge/torch/oracle_side.h"
#include "judge/verdict.h"

namespace fiel::judge::torch {

struct AnswerContext {
  NumericsPolicy numerics = NumericsPolicy::tf32;
  uint64_t call = 0;
  std::string shape_set;
};

struct Errors {
  NumericsClass numerics = NumericsClass::integer;
  double relative_rms = 0, componentwise = 0;
  void take(const Errors& other);
};

struct JudgedAnswer {
  bool right = true;
  VerdictStatus status = VerdictStatus::incorrect;
  std::string reason;
  std::optional<Witness> witness;
  std::vector<FindingRecord> findings;
  Errors errors;
  double worst_ratio = 0, worst_error = 0, worst_bound = 0;
};

JudgedAnswer judge_answer(const worker::Verified& seen, const Case& c,
                          const std::vector<std::string>& aliases, const AnswerContext& context);

/// Accepted by itself, or by a policy that takes lower classes.
bool accepted(const worker::Comparison& c, NumericsPolicy policy);
std::optional<NumericsClass> parse_numerics(std::string_view name);
FindingRecord finding(JudgeFinding kind, vgpu::Grade grade, std::string detail, Probe probe,
                      const std::string& shape_set, uint64_t call);

}  // namespace fiel::judge::torch
