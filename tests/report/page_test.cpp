#include "report/page/page.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "places.h"
#include "report/page/charts.h"
#include "report/page/source_colour.h"
#include "runs.h"

namespace fiel::report {
namespace {

const std::string kGolden = in_source("tests/report/golden/");

/// FIEL_UPDATE_GOLDEN=1 writes what is there now; look at the difference before committing it.
void expect_golden(const std::string& name, const std::string& bytes) {
  if (std::getenv("FIEL_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(kGolden);
    ASSERT_TRUE(write_file_atomic(kGolden + name, bytes + "\n"));
  }
  const auto golden = read_file(kGolden + name);
  ASSERT_TRUE(golden) << kGolden + name;
  EXPECT_EQ(bytes + "\n", *golden) << name;
}

store::RunRecord example_run() {
  store::Evidence wrong = evidence(1, verdict_json("examples/softmax/overrun.cu", "incorrect", 1));
  wrong.verdict["reason"] = "wrong values on the outliers probe: expected 1, got 0.5";
  for (const auto& [name, ratio] :
       {std::pair{"task-inputs", 0.42}, {"outliers", 37.0}, {"ties", 0.0}}) {
    Json p = Json::object();
    p["probe"] = name;
    p["shape_set"] = "irregular";
    p["outcome"] = ratio > 1 ? "failed" : "passed";
    p["calls"] = 5;
    p["calls_compared"] = 5;
    p["worst_ratio"] = ratio;
    p["worst_error"] = ratio * 3e-7;
    p["worst_bound"] = 3e-7;
    wrong.verdict["probes"].push_back(std::move(p));
  }
  Json f = Json::object();
  f["code"] = "out-of-bounds";
  f["grade"] = "ERROR";
  f["text"] = "ERROR out-of-bounds  4-byte access\n    at overrun.cu:3";
  f["detail"] = "0 bytes past the end of 'x'";
  f["file"] = "overrun.cu";
  f["line"] = 3;
  f["count"] = 31;
  wrong.verdict["findings"].push_back(std::move(f));
  wrong.kernel_source =
      "#include <fiel/kernel.h>\n// reads beyond\n__global__ void k(const float* x) {\n"
      "  float v = x[1 << 2] * 1.5e-3f;  /* two\n  lines */ printf(\"%f\\n\", v);\n}\n";
  wrong.verdict["witness"]["probe"] = "outliers";
  wrong.verdict["witness"]["shape_set"] = "irregular";
  wrong.verdict["witness"]["flat_index"] = 5;
  wrong.verdict["witness"]["index"].push_back(5);
  wrong.verdict["witness"]["output"] = "y";
  wrong.verdict["witness"]["expected_text"] = "1";
  wrong.verdict["witness"]["got_text"] = "0.5";
  wrong.verdict["witness"]["error"] = 0.5;
  wrong.verdict["witness"]["bound"] = 3e-7;
  std::vector<store::Evidence> all{timed(0, "examples/softmax/online.cu", 41'000), wrong};
  for (int i = 0; i < 40; ++i)
    all.push_back(timed(all.size(), "runs/k" + std::to_string(i) + ".cu", 30'000 + 4'000.0 * i));
  all[0].verdict["probes"] = wrong.verdict["probes"];
  return run_of(std::move(all));
}

TEST(Page, ChartsAreTheSameBytesAsEver) {
  const store::RunRecord run = example_run();
  const auto m = measured_of(run.verdicts[0].verdict);
  ASSERT_TRUE(m);
  expect_golden("samples.svg", samples_chart(samples_of(run.verdicts[0].samples)));
  expect_golden("ratios.svg", ratios_chart(m->ratios));
  expect_golden("roofline.svg", roofline_chart(*m));
  expect_golden("memory.svg", memory_chart(*m));
  expect_golden("errors.svg", errors_chart(run.verdicts[1].verdict["probes"]));
  expect_golden("speedups.svg", speedups_chart(tally_of(run).ratios));
  expect_golden("fast.svg", fast_chart(tally_of(run)));
}

TEST(Page, OfAWorkFolderEveryFileIsShownUnderItsName) {
  store::Evidence e;
  e.verdict = verdict_json("runs/softmax", "incorrect", 1);
  e.kernel_source =
      "==== files of a work folder\n==== kernels/a<b>.cu, 7 bytes\nint x;\n\n"
      "==== model_new.py, 20 bytes\nclass ModelNew: pass\n"
      "==== weights.bin, 9 bytes, not kept, SHA-256 abc\n";
  const std::string page = verdict_page(run_of({e}), 0);
  for (const char* part : {"<strong>kernels/a&lt;b&gt;.cu</strong>", "<i class=\"k\">int</i> x;",
                           "<strong>model_new.py</strong>", "<i class=\"k\">class</i> ModelNew",
                           "<strong>weights.bin</strong> (not kept)"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("===="), std::string::npos);
}

TEST(Page, ChartsOfNothingAreNothing) {
  EXPECT_EQ(samples_chart({}), "");
  EXPECT_EQ(ratios_chart({}), "");
  EXPECT_EQ(errors_chart(Json::array()), "");
  EXPECT_EQ(roofline_chart({}), "");
  EXPECT_EQ(memory_chart({}), "");
  EXPECT_EQ(speedups_chart({}), "");
  EXPECT_EQ(fast_chart({}), "");
}

TEST(Page, AWitnessSaysHowItsCallIsMadeAgain) {
  store::RunRecord run = example_run();
  Json& witness = run.verdicts[1].verdict["witness"];
  witness["seed"] = "4711";
  witness["variant"] = 1;
  witness["amplitude"] = 0.125;
  witness["weights"] = "12";
  run.verdicts[1].place = 6;
  const std::string page = verdict_page(run, 1);
  EXPECT_NE(page.find("seed 4711, variant 1, amplitude 0.125, weights 12"), std::string::npos);
  EXPECT_NE(page.find("fiel replay " + run.header.name + " 7"), std::string::npos);
  EXPECT_EQ(verdict_page(run, 0).find("fiel replay"), std::string::npos);
}

TEST(Page, PagesLoadNothingRunNothingAndAreDeterministic) {
  for (const store::RunRecord& run : {example_run(), hostile_run(), run_of({})}) {
    std::vector<std::string> pages{run_page(run)};
    EXPECT_EQ(pages[0], run_page(run));
    for (size_t i = 0; i < run.verdicts.size(); ++i) pages.push_back(verdict_page(run, i));
    for (const std::string& page : pages) {
      for (const char* never : {"<script", "http://", "https://", "src=", "@import", "url(", "]]>",
                                "</failure>", "\x1b"})
        EXPECT_EQ(page.find(never), std::string::npos) << never;
      EXPECT_EQ(page.find('\0'), std::string::npos);
      EXPECT_LT(page.size(), 1u << 20);
    }
  }
}

TEST(Page, ANumberThatIsNotThereIsSaidInWords) {
  const store::RunRecord run = hostile_run();
  for (size_t i = 7; i < run.verdicts.size(); ++i) {
    const std::string page = verdict_page(run, i);
    EXPECT_NE(page.find("not measured"), std::string::npos);
    for (const char* never : {">0.00", "infx", "nanx", ">inf<", ">nan<"})
      EXPECT_EQ(page.find(never), std::string::npos) << never;
  }
  EXPECT_NE(verdict_page(run, 1).find("were not measured"), std::string::npos);
}

TEST(Page, TheLineOfAFindingIsMarkedInTheSource) {
  const std::string page = verdict_page(example_run(), 1);
  EXPECT_NE(page.find("<div class=\"hit\"><b>3</b><i class=\"k\">__global__</i>"),
            std::string::npos);
  EXPECT_NE(page.find("out-of-bounds  0 bytes past the end of &apos;x&apos;</div>"),
            std::string::npos);
}

TEST(SourceColour, EveryLineClosesWhatItOpens) {
  const auto lines =
      coloured_lines("/* a\n<b> */ int x = 0x1F; // \"c\"\n'\\n' \"open\n", Language::cuda, 9);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "<i class=\"c\">/* a</i>");
  EXPECT_EQ(lines[1],
            "<i class=\"c\">&lt;b&gt; */</i> <i class=\"k\">int</i> x = <i class=\"n\">0x1F</i>; "
            "<i class=\"c\">// &quot;c&quot;</i>");
  EXPECT_EQ(lines[2], "<i class=\"s\">'\\n'</i> <i class=\"s\">&quot;open</i>");
  EXPECT_EQ(coloured_lines("\"\"\"doc\nmore\"\"\" # c", Language::python, 9).size(), 2u);
  for (const char* odd : {"\\", "\"\\", "/*", "#\\", "1e", "'''", "\n\n"})
    for (Language l : {Language::cuda, Language::python, Language::toml})
      EXPECT_LE(coloured_lines(odd, l, 9).size(), 3u) << odd;
  EXPECT_EQ(coloured_lines("a\nb\nc\nd", Language::cuda, 2).size(), 2u);
}

/// FIEL_PAGES=FOLDER writes the pages, to look at them in a browser.
TEST(Page, CanBeWrittenToBeLookedAt) {
  const char* folder = std::getenv("FIEL_PAGES");
  if (folder == nullptr) GTEST_SKIP() << "FIEL_PAGES is not set";
  const store::RunRecord run = example_run();
  EXPECT_TRUE(write_file_atomic(std::string(folder) + "/run.html", run_page(run)));
  EXPECT_TRUE(write_file_atomic(std::string(folder) + "/right.html", verdict_page(run, 0)));
  EXPECT_TRUE(write_file_atomic(std::string(folder) + "/wrong.html", verdict_page(run, 1)));
}

}  // namespace
}  // namespace fiel::report
