#include "report/export.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "places.h"
#include "report/foreign_text.h"
#include "report/page/page.h"
#include "report/tally.h"
#include "runs.h"

namespace fiel::report {
namespace {

// Strict readers of other programs: Python's expat and json, xmllint where it is installed.
void check_with_python(const store::RunRecord& run, const std::string& what) {
  auto folder = TempDir::create("exports");
  ASSERT_TRUE(folder);
  for (const std::string& name : export_format_names()) {
    const std::string bytes = export_run(run, *parse_export_format(name));
    ASSERT_TRUE(write_file_atomic(folder->path() / name, bytes));
    EXPECT_EQ(bytes, export_run(run, *parse_export_format(name))) << name << " has other bytes";
  }
  ProcessRequest request;
  request.arguments = {"python3", in_source("tests/report/check_exports.py"),
                       folder->path().string(), what};
  const auto result = run_process(request);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_TRUE(result->ok()) << result->out << result->err;
}

TEST(Export, HostileTextAndNumbersPassStrictReaders) {
  check_with_python(hostile_run(), "hostile");
}
TEST(Export, ATimedRunPassesStrictReaders) {
  check_with_python(run_of({timed(0, "k/fast.cu", 40'000), timed(1, "k/slow.cu", 160'000)}),
                    "timed");
}
TEST(Export, ARunWithoutVerdictsPassesStrictReaders) { check_with_python(run_of({}), "empty"); }

TEST(Export, ControlCharactersAreShownAndInvalidBytesReplaced) {
  EXPECT_EQ(clean_text(std::string_view("a\x1b\0\x7F\r\nb", 7), 100), "a\u241b\u2400\u2421\nb");
  EXPECT_EQ(clean_text("\xEF\xBF\xBE|\xED\xA0\x80|\xC0\xAF|\xF5\x80|\xE2\x82", 100),
            "\uFFFD|\uFFFD\uFFFD\uFFFD|\uFFFD\uFFFD|\uFFFD\uFFFD|\uFFFD\uFFFD");
  EXPECT_EQ(clean_text("\u00e4\u20ac\U0001F600", 100), "\u00e4\u20ac\U0001F600");
  EXPECT_EQ(clean_text(std::string(100, 'a'), 10), std::string(10, 'a') + "\u2026 (90 bytes more)");
  EXPECT_EQ(csv_field("=1+2", 100), "\"'=1+2\"");
  EXPECT_EQ(github_property("a,b:c%.cu", 100), "a%2Cb%3Ac%25.cu");
}

TEST(Export, BaselinesAreARowATask) {
  store::Evidence e = timed(0, "1_Softmax.py", 100'000);
  e.verdict["measurement"]["ratios"] = Json::array();
  e.verdict["measurement"]["ratios"].push_back(ratio("eager", "default", 1));
  e.verdict["measurement"]["sides"].push_back(side("eager", "default", 90'000));
  store::RunRecord run = run_of({e});
  run.entries = {{"level1/1_Softmax.py", "level1/1_Softmax.py", "1/1", std::nullopt}};
  const std::string text = to_baselines(run);
  EXPECT_TRUE(text.starts_with("task,status,control_ratio,")) << text;
  EXPECT_NE(text.find("\"level1/1\",\"correct\",1,0.97,1.03,0.1,0.09,,0.08,,,"), std::string::npos)
      << text;
}

/// Warm caches and replayed graphs are other measurements: no table shows them as the usual one.
TEST(Export, TimesOfAnotherModeAreLabelled) {
  for (const auto& [key, value, mode] :
       {std::tuple{"cold", true, "cold"}, {"cold", false, "warm"}, {"graph", true, "graph"}}) {
    store::Evidence e = timed(0, "k.cu", 40'000);
    Json sides = Json::array();
    for (Json s : e.verdict["measurement"]["sides"].items()) {
      s[key] = value;
      sides.push_back(std::move(s));
    }
    e.verdict["measurement"]["sides"] = std::move(sides);
    const store::RunRecord run = run_of({e});
    const std::string suffix = std::string(" (") + mode + ")";
    const bool usual = std::string(mode) == "cold";
    EXPECT_NE(to_csv(run).find("\"fp32\"," + std::string(mode) + ",40000,"), std::string::npos)
        << to_csv(run);
    EXPECT_EQ(to_markdown(run).find("of compile" + suffix) == std::string::npos, usual) << mode;
    EXPECT_EQ(verdict_page(run, 0).find("compile fp32" + suffix) == std::string::npos, usual)
        << mode;
    EXPECT_EQ(verdict_page(run, 0).find("one call" + suffix) == std::string::npos, usual) << mode;
  }
}

TEST(Export, UnknownFormatsAreAnsweredWithTheNearest) {
  EXPECT_EQ(parse_export_format("junti").error().hint, "did you mean 'junit'?");
  EXPECT_EQ(parse_export_format("xlsx").error().code, ErrorCode::usage);
}

TEST(Tally, CountsWhatWasJudgedAndSaysWhatTheMeanLeavesOut) {
  store::Evidence untimed = evidence(4, verdict_json("u.cu", "correct", 0));
  const store::RunRecord run =
      run_of({timed(0, "a.cu", 40'000), timed(1, "b.cu", 160'000),
              evidence(2, verdict_json("c.cu", "incorrect", 1)),
              evidence(3, verdict_json("d.cu", "harness_fault", 3)), untimed});
  const Tally t = tally_of(run);
  EXPECT_EQ(t.total, 5u);
  EXPECT_EQ(t.judged, 4u);
  EXPECT_EQ(t.accepted, 3u);
  EXPECT_EQ(t.faster, 1u);
  // Ratios 2 and 0.5 against the compiled baseline.
  EXPECT_DOUBLE_EQ(*t.ratio_geomean, 1.0);
  EXPECT_EQ(t.left_out.at("speed not measured"), 1u);
  const std::vector<std::pair<double, size_t>> fast{{0, 3}, {1, 1}, {1.2, 1}, {1.5, 1}, {2, 0}};
  EXPECT_EQ(t.fast, fast);
  EXPECT_EQ(t.memory_measured, 2u);
}

TEST(Tally, ATimeOfZeroIsNotMeasuredAndCollapsesNoMean) {
  const Tally t = tally_of(hostile_run());
  EXPECT_EQ(t.measured, 0u);
  EXPECT_FALSE(t.ratio_geomean);
  EXPECT_FALSE(t.memory_geomean);
  const std::string text = render(t);
  for (const char* never : {"0.00", "inf", "nan"})
    EXPECT_EQ(text.find(never), std::string::npos) << text;
}

}  // namespace
}  // namespace fiel::report
