// ncu's CSV as it was recorded, as other versions might write it, and as a candidate would forge
// it.
#include "report/counted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/files.h"
#include "base/text.h"
#include "places.h"

namespace fiel::report {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A table with these metrics, one line a launch.
std::string csv(const std::vector<std::pair<std::string, std::string>>& metrics,
                const std::vector<std::string>& kernels = {"f(float *, int)"}) {
  std::string head = R"("ID","Kernel Name","Block Size","Grid Size")", units = R"("","","","")",
              out;
  for (const auto& [name, value] : metrics) {
    head += ",\"" + name + "\"";
    units += ",\"\"";
  }
  out = "==PROF== Connected to process 1 (/tmp/counted)\n" + head + "\n" + units + "\n";
  for (size_t i = 0; i < kernels.size(); ++i) {
    out += "\"" + std::to_string(i) + "\",\"" + kernels[i] + R"x(","(32, 1, 1)","(8, 1, 1)")x";
    for (const auto& [name, value] : metrics) out += ",\"" + value + "\"";
    out += "\n";
  }
  return out;
}

std::vector<std::string> codes(const std::string& text) {
  std::vector<std::string> out;
  for (const CountedLaunch& l : read_counted(text))
    for (const Cause& c : counted_causes(l)) out.push_back(c.code);
  return out;
}

const char* const kDram = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
const char* const kTime = "gpu__time_duration.sum";
const char* const kWarps = "sm__warps_active.avg.pct_of_peak_sustained_active";

TEST(Counted, ReadsATableAsNcuWritesIt) {
  const auto text = read_file(in_source("tests/counters/ncu_raw.csv"));
  ASSERT_TRUE(text);
  const auto launches = read_counted(*text);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kernel, "transpose(const float *, float *, long, long)");
  EXPECT_EQ(launches[0].grid, "(16, 64, 1)");
  EXPECT_EQ(launches[0].values.at("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), 262144);
  EXPECT_THAT(counted_text({launches[0]}), HasSubstr("32.0 sectors a request"));
  // More than the widest access of a warp needs: known without its bytes.
  EXPECT_THAT(counted_text({launches[0]}), HasSubstr("uncoalesced-access"));
}

TEST(Counted, HundredsOfAttributesStandBesideTheMetrics) {
  std::vector<std::pair<std::string, std::string>> columns;
  for (int i = 0; i < 400; ++i) columns.emplace_back("device__attribute_" + std::to_string(i), "1");
  columns.emplace_back(kTime, "49856");
  const auto launches = read_counted(csv(columns));
  ASSERT_EQ(launches.size(), 1u) << "Nsight Compute 2025.3 writes 269 columns for one metric";
  EXPECT_EQ(launches[0].values.at(kTime), 49856);
}

TEST(Counted, NamesTheLikelyCauses) {
  const std::string loads = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
                    use = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
                    local = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
                    waves = "launch__waves_per_multiprocessor";
  EXPECT_THAT(codes(csv({{kDram, "91.2"}, {kWarps, "20"}})), ::testing::ElementsAre("dram-bound"));
  EXPECT_THAT(codes(csv({{kDram, "20"}, {kWarps, "20"}, {waves, "0.1"}})),
              ::testing::UnorderedElementsAre("low-occupancy", "small-grid"));
  EXPECT_THAT(codes(csv({{loads, "1,024"}, {use, "4"}})), Contains("uncoalesced-access"));
  EXPECT_THAT(codes(csv({{loads, "1,024"}, {use, "32"}})), IsEmpty());
  EXPECT_THAT(codes(csv({{loads, "1,024"}, {use, "0"}})), IsEmpty()) << "cp.async alone";
  EXPECT_THAT(codes(csv({{local, "100"}})), Contains("spills"));
  EXPECT_THAT(codes(csv({{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "3200"},
                         {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "3100"}})),
              Contains("bank-conflicts"));
  EXPECT_THAT(
      codes(csv({{"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "9.5"},
                 {"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "1"}})),
      ::testing::ElementsAre("stalled-barrier"));
}

TEST(Counted, EqualLaunchesAreOneAndTheLongestComeFirst) {
  std::string text = csv({{kTime, "1000"}}, {"a()", "a()", "b()", "c()", "d()", "e()", "f()"});
  const auto launches = read_counted(text);
  const std::string said = counted_text(launches);
  EXPECT_TRUE(said.starts_with("a()  grid (8, 1, 1) block (32, 1, 1)  x2")) << said;
  EXPECT_THAT(said, HasSubstr("1 µs a launch, 29% of all"));
  EXPECT_THAT(said, HasSubstr("… 2 shorter kernels"));
}

TEST(Counted, AKernelHasFortyLinesAtMost) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& m : counted_metrics()) all.emplace_back(m, "55");
  const auto launches = read_counted(csv(all, {std::string(5000, 'x')}));
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_LE(launches[0].kernel.size(), 400u);
  EXPECT_LE(split(counted_text(launches), '\n').size(), 40u);
  EXPECT_LE(counted_metrics().size(), 40u);
}

TEST(Counted, WhatIsNoNumberIsNotThere) {
  for (const char* value : {"n/a", "", "nan", "inf", "-1", "1e400", "1e30", "12x", "0x10"})
    EXPECT_THAT(read_counted(csv({{kTime, value}}))[0].values, IsEmpty()) << value;
  EXPECT_EQ(read_counted(csv({{kTime, "1,234.5"}}))[0].values.at(kTime), 1234.5);
}

TEST(Counted, UnitsAreObeyed) {
  std::string text = csv({{kTime, "2"}});
  text.replace(text.find(R"("","","","","")"), 14, R"("","","","","us")");
  EXPECT_EQ(read_counted(text).at(0).values.at(kTime), 2000);
}

TEST(Counted, ForgedTextIsBoundedAndPrintable) {
  const std::string row = csv({{kTime, "1"}});
  std::string many = row;
  for (int i = 0; i < 5000; ++i)
    many += R"("1","k","b","g","1")"
            "\n";
  EXPECT_LE(read_counted(many).size(), 256u);
  const auto odd = read_counted(csv({{kTime, "1"}}, {"\x1b[31m\x07 kernel"}));
  EXPECT_THAT(counted_text(odd), Not(HasSubstr("\x1b")));
  EXPECT_THAT(read_counted("\"ID\"" + std::string(100'000, ',') + "\n"), IsEmpty());
  EXPECT_THAT(read_counted("\"ID\",\"open\n\"0\",\"1\"\n"), IsEmpty());
  for (size_t end = 0; end < row.size(); ++end) counted_text(read_counted(row.substr(0, end)));
  std::mt19937 dice(1);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = row;
    for (int j = 0; j < 8; ++j) changed[dice() % changed.size()] = static_cast<char>(dice());
    counted_text(read_counted(changed));
    why_not_counted(changed);
  }
}

TEST(Counted, AMetricIsUnknownInWhateverFormItIsNamed) {
  const std::vector<std::string> metrics = {"flop_count_sp.sum", "flop_count_sp_pred.sum", "a.sum",
                                            "b.avg.pct", "launch__waves"};
  const auto unknown = [&](const std::string& said) { return unknown_metrics(said, metrics); };
  using Names = std::vector<std::string>;
  EXPECT_EQ(unknown("==ERROR== Failed to find metric "
                    "regex:^flop_count_sp\\.(sum|min|max|avg|pct|ratio|max_rate)$\n"),
            Names{"flop_count_sp.sum"});
  EXPECT_EQ(unknown("==ERROR== Failed to find metric regex:^flop_count_sp_pred\\.sum$\n"),
            Names{"flop_count_sp_pred.sum"});
  EXPECT_EQ(unknown("==ERROR== Failed to access the following 3 metrics: a.sum, b.avg.pct, "
                    "launch__waves\n"),
            (Names{"a.sum", "b.avg.pct", "launch__waves"}));
  EXPECT_EQ(unknown("==ERROR== Failed to find metric launch__waves"), Names{"launch__waves"});
  EXPECT_THAT(
      unknown("==ERROR== Failed to find metric my_flop_count_sp.sum, launch__waves_all, aa\n"),
      IsEmpty());
  EXPECT_THAT(unknown("==ERROR== \na.sum\n"), IsEmpty());
}

TEST(Counted, TheLastLinesAreKeptPrintable) {
  EXPECT_EQ(last_words(""), "");
  EXPECT_EQ(last_words("\n \n"), "");
  EXPECT_EQ(last_words("one\r\n==ERROR== \x1b[31mtwo\n\n"), "one\n==ERROR== \\x1b[31mtwo\n");
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "line " + std::to_string(i) + "\n";
  const std::string last = last_words(many);
  EXPECT_LE(last.size(), 4096u);
  EXPECT_GE(last.size(), 4000u);
  EXPECT_TRUE(last.starts_with("line ")) << last.substr(0, 20);
  EXPECT_TRUE(last.ends_with("\nline 9999\n"));
  EXPECT_EQ(last_words(std::string(100'000, 'x')), std::string(4096, 'x') + "\n");
}

TEST(Counted, WhatIsWrongIsSaidInOneLine) {
  EXPECT_THAT(why_not_counted("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"),
              HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_THAT(why_not_counted("==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n"),
              ::testing::AllOf(HasSubstr("cannot start its profiler"),
                               HasSubstr("NVreg_RestrictProfilingToAdminUsers=0")));
  // The sandbox's user namespace has no capability of the container's.
  EXPECT_THAT(why_not_counted("==ERROR== ERR_NVGPUCTRPERM"), Not(HasSubstr("CAP_SYS_ADMIN")));
  EXPECT_EQ(why_not_counted("x\n==ERROR== Something \x1b else\n"), "ncu: Something \\x1b else");
  EXPECT_EQ(why_not_counted("==WARNING== No kernels were profiled.\n"), "no kernel was launched");
  EXPECT_EQ(why_not_counted(""), "ncu counted nothing");
  EXPECT_EQ(unknown_metrics("==ERROR== Failed to find metric " + std::string(kDram) + "\n",
                            counted_metrics()),
            std::vector<std::string>{kDram});
  EXPECT_THAT(unknown_metrics("the program prints " + std::string(kDram), counted_metrics()),
              IsEmpty());
}

}  // namespace
}  // namespace fiel::report
