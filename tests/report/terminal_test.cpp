#include "report/terminal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fiel::report {
namespace {

judge::Verdict wrong_verdict() {
  judge::Verdict v;
  v.status = judge::VerdictStatus::incorrect;
  v.reason = "wrong values on the offset-mean probe: expected 1, got nan";
  v.task = "softmax";
  v.task_file = "tasks/softmax.toml";
  v.kernel = "k.cu";
  v.seed = 7;
  judge::Witness w;
  w.probe = judge::Probe::offset_mean;
  w.shape_set = "odd:ones";
  w.symbols = {{"C", 1}, {"N", 1}};
  w.output = "y";
  w.flat_index = 0;
  w.index = {0, 0};
  w.expected = 1;
  w.got = NAN;
  w.error = INFINITY;
  w.bound = 1e-7;
  w.call = 4;
  w.minimised = true;
  v.witness = w;
  judge::ProbeResult p;
  p.probe = judge::Probe::offset_mean;
  p.outcome = judge::ProbeOutcome::failed;
  p.calls = p.compared = 1;
  p.worst_ratio = INFINITY;
  v.probes.push_back(p);
  v.resources.calls = v.resources.calls_compared = 1;
  judge::FindingRecord f;
  f.code = "shared-race";
  f.text = "ERROR shared-race  k.cu:31";
  f.count = 3;
  v.findings.push_back(f);
  return v;
}

TEST(Terminal, ShowsStatusWitnessFindingsAndWhatToDoNext) {
  const std::string text = render(wrong_verdict(), {});
  for (const char* part :
       {"INCORRECT  k.cu for softmax", "offset-mean at odd:ones (C=1 N=1), call 4",
        "y[0, 0]  expected 1  got nan", "the smallest shape found", "shared-race  k.cu:31",
        "(3 times)", "fiel explain shared-race", "fiel judge tasks/softmax.toml k.cu --seed 7",
        "not measured", "failed", "reward    -1"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Terminal, HasNoEscapesUnlessColourIsAskedFor) {
  EXPECT_EQ(render(wrong_verdict(), {}).find('\x1b'), std::string::npos);
  EXPECT_NE(render(wrong_verdict(), {.color = true}).find('\x1b'), std::string::npos);
  EXPECT_EQ(render_line(wrong_verdict(), {}).find('\x1b'), std::string::npos);
}

TEST(Terminal, ACorrectVerdictNeedsNoNextStep) {
  judge::Verdict v = wrong_verdict();
  v.status = judge::VerdictStatus::correct;
  v.witness.reset();
  v.findings.clear();
  v.numerics = NumericsClass::tf32;
  const std::string text = render(v, {});
  EXPECT_EQ(text.find("next"), std::string::npos);
  EXPECT_NE(text.find("tf32"), std::string::npos);
}

}  // namespace
}  // namespace fiel::report
