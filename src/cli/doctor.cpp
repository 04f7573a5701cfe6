#include "cli/doctor.h"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "build/toolchain.h"
#include "cli/doctor_gpu.h"
#include "judge/environment.h"
#include "sandbox/bubblewrap.h"
#include "worker/python_environment.h"

namespace fiel::cli {
namespace {

using State = DoctorItem::State;

DoctorItem examine_cpu() {
  const judge::Environment e = judge::describe_environment();
  DoctorItem item{"cpu", "CPU", State::ok, "", "", "", true};
  const unsigned cores = std::thread::hardware_concurrency();
  item.found = fmt::format("{} with {} cores, {}", e.isa, cores, e.host);
  if (e.isa == "baseline") {
    item.state = State::missing;
    item.cost = "the virtual GPU needs AVX2";
    item.remedy = "use a machine with an x86-64-v3 CPU (2013 or later)";
  }
  return item;
}

DoctorItem examine_compiler() {
  DoctorItem item{"compiler", "CUDA compiler", State::missing, "", "", "", true};
  auto toolchain = build::find_toolchain();
  if (!toolchain) {
    item.found = toolchain.error().what;
    item.cost = "no .cu can be judged";
    item.remedy = toolchain.error().hint.empty()
                      ? "pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt "
                        "nvidia-cuda-runtime nvidia-cuda-cccl"
                      : toolchain.error().hint;
    return item;
  }
  item.state = State::ok;
  item.found = fmt::format("nvcc {} at {} (by {})", toolchain->version, toolchain->nvcc.string(),
                           toolchain->origin);
  return item;
}

DoctorItem examine_host_compiler() {
  DoctorItem item{"host-compiler",
                  "Host compiler",
                  State::missing,
                  "g++ not found",
                  "nvcc cannot compile the host half of a kernel",
                  "apt-get install g++",
                  true};
  const auto found = find_program("g++");
  if (!found) return item;
  item.state = State::ok;
  item.found = found->string();
  item.cost.clear();
  item.remedy.clear();
  if (auto r = run_process({.arguments = {"g++", "-dumpfullversion"}, .timeout_ms = 10'000});
      r && r->ok())
    item.found = fmt::format("g++ {} at {}", trim(r->out), found->string());
  return item;
}

/// One step of the sandbox, tried for real.
DoctorItem try_bwrap(std::string id, std::string title, std::vector<std::string> flags,
                     std::string cost) {
  DoctorItem item{std::move(id), std::move(title), State::missing, "", std::move(cost), "", false};
  std::vector<std::string> arguments{sandbox::bubblewrap_program().value_or("bwrap").string()};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  for (const char* word : {"--ro-bind", "/", "/", "--", "/bin/true"}) arguments.push_back(word);
  const auto r = run_process({.arguments = arguments, .timeout_ms = 10'000});
  if (r && r->ok()) {
    item.state = State::ok;
    item.found = "works";
    item.cost.clear();
    return item;
  }
  item.found = r ? printable(trim(r->err), 200) : r.error().what;
  item.remedy =
      "in a container: --security-opt seccomp=unconfined --security-opt apparmor=unconfined; on "
      "Ubuntu 24.04: sysctl kernel.apparmor_restrict_unprivileged_userns=0";
  return item;
}

void examine_sandbox(std::vector<DoctorItem>& items) {
  const std::string weaker = "candidates run less isolated; --require-isolation refuses to judge";
  const auto bwrap = sandbox::bubblewrap_program();
  DoctorItem tool{"sandbox",
                  "bubblewrap",
                  bwrap ? State::ok : State::missing,
                  bwrap ? bwrap->string() : "bwrap not found",
                  bwrap ? "" : weaker,
                  bwrap ? "" : "apt-get install bubblewrap, or name one by FIEL_BWRAP",
                  false};
  items.push_back(tool);
  if (!bwrap) return;
  items.push_back(try_bwrap("sandbox-user", "  user namespace", {"--unshare-user"}, weaker));
  items.push_back(try_bwrap("sandbox-network", "  no network", {"--unshare-net"},
                            "a candidate could reach the network"));
  items.push_back(try_bwrap("sandbox-processes", "  own processes",
                            {"--unshare-pid", "--proc", "/proc"},
                            "a candidate could see and signal other processes"));
  items.push_back(try_bwrap("sandbox-files", "  private /tmp", {"--tmpfs", "/tmp"},
                            "a candidate could leave files for the next one"));
}

DoctorItem examine_python() {
  DoctorItem item{"pytorch",
                  "PyTorch",
                  State::missing,
                  "",
                  "no PyTorch tasks and no baselines; native tasks on the virtual device need none",
                  "",
                  false};
  const auto python = worker::find_python();
  if (!python) {
    item.found = printable(python.error().what, 200);
    item.remedy = python.error().hint.empty() ? worker::python_remedy() : python.error().hint;
    return item;
  }
  item.state = State::ok;
  item.cost.clear();
  item.found =
      fmt::format("torch {} with Python {} at {} (by {})", printable(python->torch, 40),
                  printable(python->version, 40), python->executable.string(), python->origin);
  return item;
}

DoctorItem examine_cache() {
  namespace fs = std::filesystem;
  DoctorItem item{"cache", "Cache", State::ok, cache_dir().string(), "", "", false};
  std::error_code error;
  fs::create_directories(cache_dir(), error);
  if (error || access(cache_dir().c_str(), W_OK) != 0) {
    item.state = State::missing;
    item.found += " cannot be written";
    item.cost = "every kernel is compiled anew";
    item.remedy = "export FIEL_CACHE=/a/folder/you/own";
    return item;
  }
  if (const auto space = fs::space(cache_dir(), error); !error) {
    item.found += ", " + format_bytes(space.available) + " free";
    if (space.available < (256u << 20)) {
      item.state = State::limited;
      item.cost = "compiling may run out of disk";
      item.remedy = "fiel cache clear";
    }
  }
  return item;
}

DoctorItem examine_memory() {
  const auto pages = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  const auto available = static_cast<uint64_t>(std::max(0L, sysconf(_SC_AVPHYS_PAGES)));
  const auto page = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  return memory_item(pages * page, available * page);
}

}  // namespace

const char* name_of(DoctorItem::State state) {
  static constexpr const char* names[] = {"ok", "limited", "missing"};
  return names[static_cast<size_t>(state)];
}

DoctorItem memory_item(uint64_t total_bytes, uint64_t free_bytes) {
  DoctorItem item{"memory", "Memory", State::ok, "", "", "", false};
  item.found = fmt::format("{}, {} free", format_bytes(total_bytes), format_bytes(free_bytes));
  if (total_bytes < (2ull << 30)) {
    item.state = State::limited;
    item.cost = "large shape sets will not fit";
    item.remedy = "fiel judge --shapes NAME with sets that fit; fiel tasks show TASK lists them";
  }
  return item;
}

std::vector<DoctorItem> examine_machine() {
  std::vector<DoctorItem> items{examine_cpu(), examine_memory(), examine_compiler(),
                                examine_host_compiler()};
  examine_sandbox(items);
  items.push_back(examine_gpu());
  items.push_back(examine_nvml());
  items.push_back(gpu_libraries_item(device::find_nvrtc(), device::find_cupti()));
  items.push_back(examine_python());
  items.push_back(examine_cache());
  return items;
}

}  // namespace fiel::cli
