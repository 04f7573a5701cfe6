// Runs the cases of tests/vgpu/cases on a real GPU, or on the virtual one, and writes down what
// each leaves in its buffers: the text that golden/cases_sm90.txt holds and the virtual GPU must
// leave, too.
//
//   cases_on_gpu [--device cuda|virtual|virtual:avx2|virtual:avx512] [--cases FOLDER] [--case NAME]
//                [--record FILE] [--compare FILE] [--words N] [--seconds N] [--list]
//
// Exit code 0: every case did what its file expects and left what FILE says; 1: not so, each case
// named; 2: words that it does not know; 77: no such GPU, or nothing recorded to compare with.
//
// Cases run in a child process, which is replaced when it is lost: a kernel that faults or hangs
// takes its CUDA context along, and no other case.
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "../vgpu/case_memory.h"
#include "../vgpu/case_records.h"
#include "base/files.h"
#include "device/cuda_device.h"
#include "vgpu/cpu_features.h"

namespace fiel::vgpu::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSkipped = 77;
/// The virtual GPU's stack of a case. CUDA's own limit, 1 KiB, is too small for some recursions.
constexpr size_t kStackBytes = 16384;

struct Options {
  std::string device = "cuda";
  std::filesystem::path cases = FIEL_SOURCE_DIR "/tests/vgpu/cases";
  std::vector<std::string> names;  ///< empty: all
  std::string record, compare;
  size_t words = 8;
  int seconds = 60;  ///< that a case may take, with the driver's compilation of its PTX
  bool list = false;
  bool on_cuda() const { return device == "cuda"; }
};

/// The device in a child process, and everything that depends on which of the two it is.
class Machine {
 public:
  explicit Machine(const Options& options) : options_(options) {}

  /// What it is, in words; an error where there is none.
  Result<std::string> open() {
    if (!options_.on_cuda()) return open_virtual();
    FIEL_TRY(auto driver, device::CudaDriver::open());
    FIEL_TRY(auto gpu, device::CudaDevice::create(driver, 0, {}));
    if (gpu->gpu().compute_major != 9 || gpu->gpu().compute_minor != 0)
      return fail(ErrorCode::environment,
                  fmt::format("{} is of compute capability {}.{}, the text of 9.0", gpu->gpu().name,
                              gpu->gpu().compute_major, gpu->gpu().compute_minor));
    static_cast<void>(driver->context_set_limit(device::kCuLimitStackBytes, kStackBytes));
    FIEL_TRY_STATUS(gpu->capture_standard_output());
    std::string name = gpu->gpu().name + ", compute capability 9.0";
    cuda_ = gpu.get();
    device_ = std::move(gpu);
    return name;
  }

  /// The virtual GPU is made anew for each module, as small as the case wants it.
  Result<Device*> device_for(const Case& test) {
    if (cuda_ != nullptr) return device_.get();
    DeviceOptions options = test.options;
    options.isa = isa_;
    FIEL_TRY(device_, Device::create(options));
    return device_.get();
  }

  /// To its end: what could go wrong only then is in the report, too.
  LaunchReport launch(LaunchRequest& request, std::string& printed) {
    request.print = [&](std::string_view text) { printed += text; };
    if (cuda_ == nullptr) return device_->launch(request);
    LaunchReport report;
    if (auto placed = cuda_->place(1, 0, {}, false); !placed) {
      report.status = LaunchStatus::faulted;
      report.message = to_string(placed.error());
      return report;
    }
    report = device_->launch(request);
    const device::QueueEnd end = cuda_->drain(deadline_ns());
    printed += end.printed;
    if (end.cuda_error != 0 && report.status == LaunchStatus::completed) {
      report.status = end.timed_out ? LaunchStatus::cancelled : LaunchStatus::faulted;
      report.message = end.message;
    }
    return report;
  }

  bool lost() const { return lost_; }
  /// After a failure nothing on a GPU can be trusted: the next case gets a new process.
  void give_up() { lost_ = cuda_ != nullptr; }

 private:
  Result<std::string> open_virtual() {
    if (options_.device == "virtual:avx2") isa_ = IsaChoice::avx2;
    if (options_.device == "virtual:avx512") isa_ = IsaChoice::avx512;
    if (isa_ == IsaChoice::avx512 && !cpu_runs_avx512())
      return fail(ErrorCode::environment, kNoAvx512);
    return options_.device == "virtual" ? "the virtual GPU" : "the virtual GPU, " + options_.device;
  }

  /// Half of the case's time: the parent's patience must not end first.
  int64_t deadline_ns() const {
    return Clock::now().time_since_epoch() / std::chrono::nanoseconds(1) +
           int64_t{options_.seconds} * 500'000'000;
  }

  const Options& options_;
  std::unique_ptr<Device> device_;
  device::CudaDevice* cuda_ = nullptr;  ///< device_, when that is a GPU
  IsaChoice isa_ = IsaChoice::automatic;
  bool lost_ = false;
};

/// What a case left, or why it did not.
struct Outcome {
  std::vector<std::string> records, problems;
};

std::string_view name_of(LaunchStatus status) {
  constexpr std::string_view kNames[] = {"completed",  "invalid",       "faulted",
                                         "deadlocked", "out of budget", "still running"};
  return kNames[static_cast<size_t>(status)];
}

/// One module of a case on the machine.
class ModuleRun {
 public:
  ModuleRun(const Case& test, const CaseModule& module, Machine& machine, size_t words)
      : test_(test), module_(module), machine_(machine), words_(words) {}

  Status run(Outcome& out) {
    FIEL_TRY(Device * device, machine_.device_for(test_));
    FIEL_TRY(const uint32_t loaded, device->load_module(module_.ptx, module_.name));
    CaseMemory memory(test_, *device);
    FIEL_TRY_STATUS(memory.make());
    for (const CaseLaunch& launch : test_.launches) {
      LaunchRequest request = memory.request(launch, loaded);
      const LaunchReport report = machine_.launch(request, printed_);
      if (report.status != LaunchStatus::completed)
        return fail(ErrorCode::environment, fmt::format("{} is {}: {}", launch.kernel,
                                                        name_of(report.status), report.message));
    }
    for (std::string& problem : memory.problems()) out.problems.push_back(std::move(problem));
    check_printed(out);
    FIEL_TRY_STATUS(write_down(memory, out));
    memory.release();
    return device->unload_module(loaded);
  }

 private:
  void check_printed(Outcome& out) const {
    const CaseExpect& expect = test_.expect;
    if (expect.printed_given && sorted_lines(printed_) != sorted_lines(expect.printed))
      out.problems.push_back(fmt::format("printed '{}', expected '{}'", printed_, expect.printed));
  }

  Status write_down(const CaseMemory& memory, Outcome& out) const {
    const auto add = [&](const std::string& what, std::span<const std::byte> bytes, size_t words) {
      out.records.push_back(record(test_, module_, what, bytes, words));
    };
    for (const CaseBuffer& b : test_.buffers) {
      if (!b.differs.empty()) continue;
      FIEL_TRY(const auto bytes, memory.bytes(b));
      add(b.name, bytes, words_);
    }
    const std::string printed = sorted_lines(printed_);
    add("(printed)", std::as_bytes(std::span(printed)), 0);
    return {};
  }

  const Case& test_;
  const CaseModule& module_;
  Machine& machine_;
  const size_t words_;
  std::string printed_;
};

Outcome run_on(Machine& machine, const Case& test, size_t words) {
  Outcome out;
  for (const CaseModule& module : test.modules) {
    if (!is_for_sm90(module) || machine.lost()) continue;
    if (Status done = ModuleRun(test, module, machine, words).run(out); !done) {
      out.problems.push_back(fmt::format("{}: {}", module.name, to_string(done.error())));
      machine.give_up();
    }
  }
  return out;
}

/// What a child tells: lines, of which the first letter says what follows.
enum class Tells : char { device = 'd', none = 'n', record = 'r', problem = 'p', end = 'e' };

/// A process that runs the cases from `first` on.
class Child {
 public:
  Child(const Options& options, const std::vector<Case>& cases, size_t first) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() == parent) work(options, cases, first, ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    from_ = Fd(ends[0]);
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Its next line; nothing when it has ended or the time has.
  std::optional<std::string> line(Clock::time_point until) {
    for (size_t end = 0; (end = pending_.find('\n')) == std::string::npos;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
      pollfd one{from_.get(), POLLIN, 0};
      const int ready =
          left.count() <= 0
              ? 0
              : ::poll(&one, 1, static_cast<int>(std::min<int64_t>(left.count(), 1000)));
      late_ = left.count() <= 0;
      if (late_) return std::nullopt;
      if (ready <= 0) continue;
      char buffer[1 << 16];
      const ssize_t n = ::read(from_.get(), buffer, sizeof buffer);
      if (n <= 0) return std::nullopt;
      pending_.append(buffer, static_cast<size_t>(n));
    }
    const size_t end = pending_.find('\n');
    std::string text = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    return text;
  }
  bool late() const { return late_; }

 private:
  static void work(const Options& options, const std::vector<Case>& cases, size_t first, int to) {
    const auto tell = [to](Tells what, std::string text) {
      for (char& c : text) c = c == '\n' ? ' ' : c;
      if (write_all(to, static_cast<char>(what) + text + "\n") != 0) ::_exit(1);
    };
    Machine machine(options);
    const Result<std::string> name = machine.open();
    tell(name ? Tells::device : Tells::none, name ? *name : to_string(name.error()));
    if (!name) return;
    for (size_t i = first; i < cases.size() && !machine.lost(); ++i) {
      const Outcome out = run_on(machine, cases[i], options.words);
      for (const std::string& line : out.records) tell(Tells::record, line);
      for (const std::string& line : out.problems) tell(Tells::problem, line);
      tell(Tells::end, cases[i].name);
    }
  }

  pid_t pid_ = -1;
  Fd from_;
  std::string pending_;
  bool late_ = false;
};

struct Results {
  std::string device;
  std::string no_device;  ///< why there is none
  std::vector<std::string> records, problems;
};

/// Runs all cases, each to its end or to that of its time.
class Conductor {
 public:
  Conductor(const Options& options, const std::vector<Case>& cases)
      : options_(options), cases_(cases) {}

  Results run() {
    while (next_ < cases_.size() && results_.no_device.empty()) {
      Child child(options_, cases_, next_);
      follow(child);
    }
    return std::move(results_);
  }

 private:
  /// Until the child has no more to tell; a case that it began and did not end has failed.
  void follow(Child& child) {
    const size_t first = next_;
    begin_case();
    while (next_ < cases_.size() && results_.no_device.empty()) {
      const std::optional<std::string> line = child.line(until_);
      if (!line && next_ > first && !child.late() && !heard_) return;  // it ended between two cases
      if (!line) return give_up(child.late() ? "it hangs" : "its process ended");
      hear(static_cast<Tells>(line->front()), line->substr(1));
    }
  }
  void begin_case() {
    heard_ = false;
    until_ = Clock::now() + std::chrono::seconds(options_.seconds);
  }
  void hear(Tells what, std::string text) {
    switch (what) {
      case Tells::device:
        results_.device = std::move(text);
        return;
      case Tells::none:
        if (results_.device.empty()) {
          results_.no_device = std::move(text);
        } else {  // there was one, until a case took it along
          results_.problems.push_back("no device any more: " + text);
          next_ = cases_.size();
        }
        return;
      case Tells::record:
        heard_ = true;
        results_.records.push_back(std::move(text));
        return;
      case Tells::problem:
        heard_ = true;
        results_.problems.push_back(cases_[next_].name + ": " + text);
        return;
      case Tells::end:
        ++next_;
        return begin_case();
    }
  }
  void give_up(const char* why) {
    results_.problems.push_back(cases_[next_].name + ": " + why);
    ++next_;
  }

  const Options& options_;
  const std::vector<Case>& cases_;
  size_t next_ = 0;
  bool heard_ = false;  ///< something of the present case
  Clock::time_point until_;
  Results results_;
};

/// The cases to run; those that are left out are said with --list.
Result<std::vector<Case>> cases_to_run(const Options& options) {
  std::vector<Case> cases;
  size_t left_out = 0;
  for (const std::string& name :
       options.names.empty() ? case_names(options.cases) : options.names) {
    FIEL_TRY(Case test, read_case(options.cases / name));
    const std::string why = why_not_recorded(test);
    if (options.list || (!why.empty() && !options.names.empty()))
      fmt::print("{}{}{}\n", name, why.empty() ? "" : ": left out: ", why);
    left_out += why.empty() ? 0 : 1;
    if (why.empty()) cases.push_back(std::move(test));
  }
  if (options.list) fmt::print("{} run, {} are left out\n", cases.size(), left_out);
  return cases;
}

std::string text_of(const Results& results) {
  std::string text = fmt::format("# tests/vgpu/cases on {}\n", results.device);
  for (const std::string& line : results.records) text += line + "\n";
  return text;
}

/// Whether `text` is what `path` holds, as far as that holds it.
int compare(const Options& options, const std::string& text) {
  auto now = read_records(text, "what has been left");
  if (!now) return fmt::print("{}\n", to_string(now.error())), 1;
  if (!std::filesystem::exists(options.compare)) {
    fmt::print("no golden text recorded yet: {}\n", options.compare);
    return options.on_cuda() ? 0 : kSkipped;
  }
  const auto golden = read_file(options.compare);
  if (!golden) return fmt::print("{}\n", to_string(golden.error())), 1;
  auto recorded = read_records(*golden, options.compare);
  if (!recorded) return fmt::print("{}\n", to_string(recorded.error())), 1;
  if (!options.names.empty())
    std::erase_if(*recorded, [&](const auto& r) {
      const std::string name = r.first.substr(0, r.first.find(' '));
      return std::find(options.names.begin(), options.names.end(), name) == options.names.end();
    });
  const RecordComparison c = compare_records(*recorded, *now);
  for (const std::string& line : c.differences) fmt::print("DIFFERS {}\n", line);
  for (const std::string& line : c.unrecorded) fmt::print("not recorded yet: {}\n", line);
  fmt::print("{} buffers recorded, {} differ\n", recorded->size(), c.differences.size());
  return c.differences.empty() ? 0 : 1;
}

int run(const Options& options) {
  const auto cases = cases_to_run(options);
  if (!cases) return fmt::print(stderr, "{}\n", to_string(cases.error())), 1;
  if (options.list) return 0;
  const Results results = Conductor(options, *cases).run();
  if (!results.no_device.empty()) return fmt::print("skipped: {}\n", results.no_device), kSkipped;
  for (const std::string& line : results.problems) fmt::print(stderr, "FAILED {}\n", line);
  const std::string text = text_of(results);
  if (!options.record.empty()) {
    if (auto written = write_file_atomic(options.record, text); !written)
      return fmt::print(stderr, "{}\n", to_string(written.error())), 1;
  } else if (options.compare.empty()) {
    fmt::print("{}", text);
  }
  const int compared = options.compare.empty() ? 0 : compare(options, text);
  return results.problems.empty() ? compared : 1;
}

std::optional<Options> options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--list") {
      options.list = true;
      continue;
    }
    const char* value = ++i < argc ? argv[i] : nullptr;
    if (value == nullptr) return std::nullopt;
    if (word == "--device")
      options.device = value;
    else if (word == "--cases")
      options.cases = value;
    else if (word == "--case")
      options.names.emplace_back(value);
    else if (word == "--record")
      options.record = value;
    else if (word == "--compare")
      options.compare = value;
    else if (word == "--words")
      options.words = std::strtoull(value, nullptr, 10);
    else if (word == "--seconds")
      options.seconds = std::atoi(value);
    else
      return std::nullopt;
  }
  const std::string& d = options.device;
  const bool known = d == "cuda" || d == "virtual" || d == "virtual:avx2" || d == "virtual:avx512";
  return known ? std::optional(options) : std::nullopt;
}

}  // namespace
}  // namespace fiel::vgpu::test

int main(int argc, char** argv) {
  const auto options = fiel::vgpu::test::options_of(argc, argv);
  if (options) return fiel::vgpu::test::run(*options);
  fmt::print(stderr,
             "usage: cases_on_gpu [--device cuda|virtual|virtual:avx2|virtual:avx512] [--cases "
             "FOLDER] [--case NAME]\n"
             "                    [--record FILE] [--compare FILE] [--words N] [--seconds N] "
             "[--list]\n");
  return 2;
}
