#include "judge/codes.h"

namespace fiel::judge {

std::string_view name_of(VerdictStatus status) {
  switch (status) {
#define FIEL_X(id, number, name) \
  case VerdictStatus::id:        \
    return name;
    FIEL_STATUSES(FIEL_X)
#undef FIEL_X
  }
  return "?";
}

std::string_view name_of(Probe probe) {
  switch (probe) {
#define FIEL_X(id, name) \
  case Probe::id:        \
    return name;
    FIEL_PROBES(FIEL_X)
#undef FIEL_X
  }
  return "?";
}

std::string_view name_of(JudgeFinding finding) {
  switch (finding) {
#define FIEL_X(id, name) \
  case JudgeFinding::id: \
    return name;
    FIEL_JUDGE_FINDINGS(FIEL_X)
#undef FIEL_X
  }
  return "?";
}

std::optional<VerdictStatus> parse_status(std::string_view name) {
  for (int i = 0; i < kStatusCount; ++i)
    if (name_of(static_cast<VerdictStatus>(i)) == name) return static_cast<VerdictStatus>(i);
  return std::nullopt;
}

std::optional<Probe> parse_probe(std::string_view name) {
  for (int i = 0; i < kProbeCount; ++i)
    if (name_of(static_cast<Probe>(i)) == name) return static_cast<Probe>(i);
  return std::nullopt;
}

int exit_code_of(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::correct:
      return 0;
    case VerdictStatus::harness_fault:
    case VerdictStatus::undecided:
      return 3;
    case VerdictStatus::task_void:
      return 5;
    default:
      return 1;
  }
}

}  // namespace fiel::judge
