// A test case of the virtual GPU as data: tests/vgpu/cases/<name>/{kernel.ptx, case.toml}.
// README.md beside this file describes the format.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "vgpu/device.h"

namespace fiel::vgpu::test {

struct CaseBuffer {
  std::string name, type = "i32", fill = "none";
  uint64_t count = 0;
  uint64_t fill_count = ~0ull;  ///< elements that `fill` sets; the rest stays uninitialised
  double start = 0, step = 1;
  std::vector<double> values;
  bool output = false, freed = false;
  std::string differs;  ///< why real GPUs may leave other bytes in it than the virtual one
};
struct CaseLaunch {
  std::string kernel;
  Dim3 grid, block;
  uint32_t shared = 0;
  bool cooperative = false;
  std::vector<std::string> args;
  uint64_t budget = 200'000'000'000ull;
};
struct CaseExpect {
  std::string status = "completed", refusal, printed, message;
  std::string unsupported;  ///< part of what load_module says; nothing is launched then
  bool printed_given = false;
  int64_t printed_bytes = -1;
  std::string printed_end;
  struct Buffer {
    std::string name, rule;  ///< values, constant, iota, sum, copy
    double start = 0, step = 0;
    std::vector<double> values;
    std::vector<std::string> of;
  };
  struct Finding {
    std::string code, grade, detail, block, thread;
    std::string source;               ///< file:line, of any frame
    std::vector<std::string> frames;  ///< all of them: "file:line (function)", innermost first
    std::string of;                   ///< the buffer that address_offset is counted from
    int64_t address_offset = 0, bytes = -1;
    int64_t count = -1, line = -1;
  };
  struct Coverage {
    std::string name;
    int64_t written = -1, twice = -1;
    std::vector<double> missing;  ///< begin, end, begin, end …
  };
  std::vector<Buffer> buffers;
  std::vector<Finding> findings;
  std::vector<Coverage> coverage;
  std::map<std::string, double> metrics;
  std::map<uint32_t, std::map<std::string, double>> lines;  ///< the same by source line
};
struct CaseModule {
  std::string name, ptx;
};
struct Case {
  std::string name;                 ///< of its folder
  std::string virtual_only;         ///< why a real GPU does not run it
  std::vector<CaseModule> modules;  ///< the case holds for each
  std::vector<CaseBuffer> buffers;
  std::vector<CaseLaunch> launches;
  CaseExpect expect;
  std::vector<Schedule> schedules;
  Checks checks;
  DeviceOptions options;
};

Result<Case> read_case(const std::filesystem::path& folder);
/// The names of all folders below `root` that hold a case.
std::vector<std::string> case_names(const std::filesystem::path& root);
/// Runs each module under every schedule with one and with two workers; returns what was wrong. Two
/// runs of one module under one seed or quantum must agree in everything.
std::vector<std::string> run_case(const Case& test);

uint64_t bytes_of_type(const std::string& type);

}  // namespace fiel::vgpu::test
