#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <regex>

#include "case_memory.h"
#include "isa_builds.h"

namespace fiel::vgpu::test {
namespace {

/// Addresses differ from device to device, nothing else may.
std::string without_addresses(const std::string& text) {
  static const std::regex address("0x[0-9a-f]{9,}");
  return std::regex_replace(text, address, "0x?");
}

std::string frame_text(const SourceFrame& frame) {
  const std::string place = fmt::format("{}:{}", frame.file, frame.line);
  return frame.function.empty() ? place : fmt::format("{} ({})", place, frame.function);
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool same_frames(const std::vector<SourceFrame>& have, const std::vector<std::string>& wanted) {
  return std::equal(have.begin(), have.end(), wanted.begin(), wanted.end(),
                    [](const SourceFrame& frame, const std::string& text) {
                      return ends_with(frame_text(frame), text);
                    });
}

std::string mix_name(MixClass c) {
  std::string name = std::string("mix_") + name_of(c);
  for (char& letter : name)
    if (letter == ' ' || letter == '/') letter = '_';
  return name;
}

/// Everything that one run needs and leaves behind.
class Run {
 public:
  explicit Run(const Case& test) : test_(test) {}

  std::vector<std::string> problems;
  std::string trace;  ///< all that the run left behind, addresses apart

  void go(const std::string& ptx, const Schedule& schedule, uint32_t threads) {
    DeviceOptions options = test_.options;
    options.threads = threads;
    auto device = Device::create(options);
    if (!device) return problem(to_string(device.error()));
    gpu_ = std::move(*device);
    if (options.isa != IsaChoice::automatic && gpu_->isa_name() != name_of(options.isa))
      problem(fmt::format("{} runs, not {}", gpu_->isa_name(), name_of(options.isa)));
    auto module = gpu_->load_module(ptx, "kernel.ptx");
    if (!test_.expect.unsupported.empty()) return check_unsupported(module);
    if (!module) return problem(to_string(module.error()));
    memory_ = std::make_unique<CaseMemory>(test_, *gpu_);
    if (auto made = memory_->make(); !made) return problem(to_string(made.error()));
    LaunchReport report;
    for (const CaseLaunch& launch : test_.launches) {
      LaunchRequest request = memory_->request(launch, *module);
      request.schedule = schedule;
      request.checks = test_.checks;
      request.print = [&](std::string_view text) { printed_ += text; };
      report = gpu_->launch(request);
      trace_launch(report);
      findings_.insert(findings_.end(), report.findings.begin(), report.findings.end());
      if (report.status != LaunchStatus::completed) break;
    }
    check_report(report);
    for (std::string& text : memory_->problems()) problem(std::move(text));
    for (const CaseExpect::Coverage& expected : test_.expect.coverage) check_coverage(expected);
    trace_buffers();
  }

 private:
  void problem(std::string text) { problems.push_back(std::move(text)); }

  void check_unsupported(const Result<uint32_t>& module) {
    if (module) return problem("the module was loaded");
    const std::string text = to_string(module.error());
    if (module.error().code != ErrorCode::unsupported ||
        text.find(test_.expect.unsupported) == std::string::npos)
      problem(fmt::format("'{}' is not unsupported '{}'", text, test_.expect.unsupported));
  }

  void trace_launch(const LaunchReport& report) {
    trace += fmt::format("status {} {}\n", static_cast<int>(report.status),
                         without_addresses(report.message));
    for (const Finding& f : report.findings) trace += without_addresses(to_string(f)) + "\n";
    std::map<std::string, double> numbers = numbers_of(report.metrics.total);
    numbers["thread_instructions"] = static_cast<double>(report.thread_instructions);
    for (const auto& [name, value] : numbers) trace += fmt::format("{} {}\n", name, value);
  }

  void trace_buffers() {
    trace += printed_ + "\n";
    for (const CaseBuffer& b : test_.buffers) {
      if (b.freed) continue;
      trace += b.name;
      const auto bytes = memory_->bytes(b);
      if (!bytes) return problem(to_string(bytes.error()));
      for (const std::byte value : *bytes) trace += fmt::format(" {:02x}", value);
      trace += "\n";
    }
  }

  void check_report(const LaunchReport& report) {
    static const char* const kStatus[] = {"completed",  "invalid",       "faulted",
                                          "deadlocked", "out_of_budget", "cancelled"};
    const CaseExpect& expect = test_.expect;
    if (expect.status != kStatus[static_cast<size_t>(report.status)])
      problem(fmt::format("status {} ({}), expected {}",
                          kStatus[static_cast<size_t>(report.status)], report.message,
                          expect.status));
    static const char* const kRefusal[] = {"",
                                           "invalid_value",
                                           "invalid_configuration",
                                           "too_many_resources",
                                           "cooperative_too_large",
                                           "missing_symbol"};
    if (expect.refusal != kRefusal[static_cast<size_t>(report.refusal)])
      problem(fmt::format("refusal {} ({})", kRefusal[static_cast<size_t>(report.refusal)],
                          report.message));
    if (report.message.find(expect.message) == std::string::npos)
      problem(fmt::format("message '{}' lacks '{}'", report.message, expect.message));
    if (expect.printed_given && printed_ != expect.printed)
      problem(fmt::format("printed '{}', expected '{}'", printed_, expect.printed));
    if (expect.printed_bytes >= 0 && printed_.size() != static_cast<size_t>(expect.printed_bytes))
      problem(fmt::format("{} bytes were printed", printed_.size()));
    if (!ends_with(printed_, expect.printed_end))
      problem(fmt::format("what was printed ends in '{}'",
                          printed_.substr(printed_.size() - std::min<size_t>(printed_.size(), 9))));
    check_findings();
    check_metrics(report);
  }

  static std::map<std::string, double> numbers_of(const LineMetrics& m) {
    std::map<std::string, double> have = {
        {"thread_instructions", static_cast<double>(m.thread_instructions)},
        {"warp_instructions", static_cast<double>(m.warp_instructions)},
        {"branches", static_cast<double>(m.branches)},
        {"divergent_branches", static_cast<double>(m.divergent_branches)},
        {"predicated_off", static_cast<double>(m.predicated_off)},
        {"barriers", static_cast<double>(m.barriers)},
        {"flops", static_cast<double>(m.flops)},
        {"atomic_contention", static_cast<double>(m.atomic_contention)}};
    const auto add = [&](const std::string& name, uint64_t value) {
      have[name] = static_cast<double>(value);
    };
    for (const auto& [name, c] : {std::pair{"global_load", &m.global_loads},
                                  {"global_store", &m.global_stores},
                                  {"local", &m.local_memory},
                                  {"atomic", &m.atomics}}) {
      add(std::string(name) + "_requests", c->requests);
      add(std::string(name) + "_sectors", c->sectors);
      add(std::string(name) + "_ideal_sectors", c->ideal_sectors);
      add(std::string(name) + "_bytes", c->bytes);
    }
    for (const auto& [name, c] :
         {std::pair{"shared_load", &m.shared_loads}, {"shared_store", &m.shared_stores}}) {
      add(std::string(name) + "_requests", c->requests);
      add(std::string(name) + "_wavefronts", c->wavefronts);
      add(std::string(name) + "_ideal_wavefronts", c->ideal_wavefronts);
    }
    for (size_t i = 0; i < m.mix.size(); ++i) add(mix_name(static_cast<MixClass>(i)), m.mix[i]);
    if (m.warp_instructions > 0)
      have["mean_active_lanes"] =
          static_cast<double>(m.thread_instructions) / static_cast<double>(m.warp_instructions);
    return have;
  }

  void check_numbers(const std::string& where, const std::map<std::string, double>& have,
                     const std::map<std::string, double>& wanted) {
    for (const auto& [name, value] : wanted)
      if (have.count(name) == 0 || have.at(name) != value)
        problem(fmt::format("metric {} of {} is {}, expected {}", name, where,
                            have.count(name) == 0 ? -1 : have.at(name), value));
  }

  void check_metrics(const LaunchReport& report) {
    std::map<std::string, double> total = numbers_of(report.metrics.total);
    total["thread_instructions"] = static_cast<double>(report.thread_instructions);
    total["unique_bytes_read"] = static_cast<double>(report.metrics.unique_global_bytes_read);
    total["unique_bytes_written"] = static_cast<double>(report.metrics.unique_global_bytes_written);
    check_numbers("the kernel", total, test_.expect.metrics);
    for (const auto& [line, wanted] : test_.expect.lines) {
      const LineMetrics* found = nullptr;
      for (const LineMetrics& m : report.metrics.lines)
        if (m.line == line) found = &m;
      if (found == nullptr) {
        problem(fmt::format("no metrics of source line {}", line));
        continue;
      }
      check_numbers(fmt::format("line {}", line), numbers_of(*found), wanted);
    }
  }

  bool at_its_address(const Finding& f, const CaseExpect::Finding& wanted) const {
    if (wanted.bytes >= 0 && (!f.has_address || f.bytes != static_cast<uint32_t>(wanted.bytes)))
      return false;
    if (wanted.of.empty()) return true;
    const uint64_t base = memory_->address(wanted.of);
    return base != 0 && f.has_address &&
           f.address == base + static_cast<uint64_t>(wanted.address_offset);
  }

  void check_findings() {
    std::vector<bool> used(findings_.size(), false);
    for (const CaseExpect::Finding& wanted : test_.expect.findings) {
      bool found = false;
      for (size_t i = 0; i < findings_.size() && !found; ++i) {
        const Finding& f = findings_[i];
        const auto place = [](const Dim3& d) { return fmt::format("{},{},{}", d.x, d.y, d.z); };
        if (used[i] || code_of(f.kind) != wanted.code ||
            (!wanted.grade.empty() && name_of(f.grade) != wanted.grade) ||
            (wanted.count >= 0 && f.count != static_cast<uint64_t>(wanted.count)) ||
            (wanted.line >= 0 && f.ptx_line != wanted.line) ||
            f.detail.find(wanted.detail) == std::string::npos ||
            to_string(f).find(wanted.source) == std::string::npos ||
            (!wanted.frames.empty() && !same_frames(f.source, wanted.frames)) ||
            !at_its_address(f, wanted) ||
            (!wanted.block.empty() && place(f.block) != wanted.block) ||
            (!wanted.thread.empty() && place(f.thread) != wanted.thread))
          continue;
        used[i] = found = true;
      }
      if (!found)
        problem(fmt::format("no finding {} {} count {} line {} '{}' {}", wanted.grade, wanted.code,
                            wanted.count, wanted.line, wanted.detail, wanted.source));
    }
    for (size_t i = 0; i < findings_.size(); ++i)
      if (!used[i]) problem("unexpected: " + to_string(findings_[i]));
  }

  void check_coverage(const CaseExpect::Coverage& expected) {
    auto coverage = gpu_->coverage(memory_->address(expected.name));
    if (!coverage) return problem(to_string(coverage.error()));
    std::vector<double> missing;
    for (const Coverage::Run& run : coverage->missing) {
      missing.push_back(static_cast<double>(run.begin));
      missing.push_back(static_cast<double>(run.end));
    }
    if (expected.written >= 0 && coverage->written != static_cast<uint64_t>(expected.written))
      problem(fmt::format("{}: {} bytes written", expected.name, coverage->written));
    if (expected.twice >= 0 &&
        coverage->written_more_than_once != static_cast<uint64_t>(expected.twice))
      problem(fmt::format("{}: {} bytes written twice", expected.name,
                          coverage->written_more_than_once));
    if (missing != expected.missing)
      problem(fmt::format("{}: {} missing runs, first at {}", expected.name, missing.size() / 2,
                          missing.empty() ? -1 : missing[0]));
  }

  const Case& test_;
  std::unique_ptr<Device> gpu_;
  std::unique_ptr<CaseMemory> memory_;
  std::vector<Finding> findings_;  ///< of all launches
  std::string printed_;
};

/// With one worker and with two.
void run_twice(const Case& test, const CaseModule& module, const Schedule& schedule,
               std::vector<std::string>& out) {
  std::string trace;
  for (const uint32_t threads : {1u, 2u}) {
    Run run(test);
    run.go(module.ptx, schedule, threads);
    const bool ordered = schedule.seed != 0 || schedule.quantum != 0;
    if (ordered && threads == 2 && run.trace != trace)
      run.problems.push_back("two runs under one schedule differ:\n" + trace + "and\n" + run.trace);
    trace = std::move(run.trace);
    for (const std::string& problem : run.problems)
      out.push_back(fmt::format("{} seed {} quantum {} threads {}: {}", module.name, schedule.seed,
                                schedule.quantum, threads, problem));
  }
}

}  // namespace

std::vector<std::string> run_case(const Case& test) {
  std::vector<std::string> out;
  for (const CaseModule& module : test.modules)
    for (const Schedule& schedule : test.schedules) run_twice(test, module, schedule, out);
  return out;
}

}  // namespace fiel::vgpu::test
