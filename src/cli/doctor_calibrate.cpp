#include "cli/doctor_calibrate.h"

#include <fmt/core.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/pairing.h"
#include "cli/torch_judging.h"
#include "judge/calibration.h"
#include "judge/torch/gpu_turn.h"
#include "worker/python_environment.h"
#include "worker/torch_oracle.h"

namespace fiel::cli {
namespace {

namespace torch = judge::torch;

/// Two programs that the clock is tried on against themselves: one short and bound by memory, one
/// long and bound by arithmetic.
struct Control {
  const char* name;
  const char* source;
};
constexpr Control kControls[] = {
    {"relu of 64 MB",
     "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
     "        return torch.relu(x)\n\n\ndef get_inputs():\n    return [torch.randn(4096, "
     "4096)]\n\n\n"
     "def get_init_inputs():\n    return []\n"},
    {"product of 4096",
     "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, a, b):\n"
     "        return torch.matmul(a, b)\n\n\ndef get_inputs():\n"
     "    return [torch.randn(4096, 4096), torch.randn(4096, 4096)]\n\n\n"
     "def get_init_inputs():\n    return []\n"},
};

struct Measured {
  worker::TorchFacts machine;
  Json figures;
};

Result<Measured> measure(const Arguments& arguments, const std::string& device,
                         const Context& context) {
  FIEL_TRY(const worker::PythonEnvironment python,
           worker::find_python(arguments.value("--python").value_or("")));
  FIEL_TRY(auto process, worker::TorchWorker::start({worker::Role::oracle, python, device}));
  worker::TorchOracle oracle(*process);
  Measured m;
  auto machine = oracle.hello(device);
  if (!machine) return fail(worker::to_error(machine.error()).with_context("starting PyTorch"));
  m.machine = std::move(*machine);
  FIEL_TRY(torch::GpuTurn turn,
           torch::GpuTurn::open(cache_dir() / "gpu", m.machine.device_uuid, context.interrupted));
  FIEL_TRY_STATUS(turn.take(torch::Share::exclusive));
  context.story("fiel: measuring, about ten seconds\n");
  auto figures = oracle.measure();
  if (!figures) return fail(worker::to_error(figures.error()).with_context("measuring"));
  m.figures = std::move(*figures);
  return m;
}

std::string per_second(double value, double unit, const char* name) {
  return value > 0 ? fmt::format("{:.1f} {}", value / unit, name) : "not measured";
}

std::string time_text(double ns) { return ns > 0 ? format_duration_ns(ns) : "not measured"; }

std::string table(const Measured& m, const judge::Calibration& c) {
  const auto row = [](const char* name, const std::string& value) {
    return fmt::format("  {:<26}{}\n", name, value);
  };
  std::string text = fmt::format("{} {}\n", m.machine.device_name, m.machine.device_uuid);
  text += row("copy, read and written", per_second(c.copy_bytes_per_s, 1e9, "GB/s"));
  text += row("products, fp32", per_second(c.fp32_flops, 1e12, "TFLOP/s"));
  text += row("products, tf32", per_second(c.tf32_flops, 1e12, "TFLOP/s"));
  text += row("products, fp16", per_second(c.fp16_flops, 1e12, "TFLOP/s"));
  text += row("products, bf16", per_second(c.bf16_flops, 1e12, "TFLOP/s"));
  text += row("smallest kernel", time_text(c.launch_ns));
  text += row("launch, of the host", time_text(m.figures["host_launch_ns"].as_double()));
  text += row("gap of the clock", fmt::format("{} [{}, {}]", time_text(c.gap_ns),
                                              time_text(c.gap_low_ns), time_text(c.gap_high_ns)));
  const int64_t l2 = m.figures["l2_bytes"].as_int();
  text += row("L2", l2 > 0 ? format_bytes(static_cast<uint64_t>(l2)) : "not known");
  for (const Json& note : m.figures["notes"].items())
    text += "  note: " + printable(note.as_string(), 300) + "\n";
  return text;
}

/// The reference against itself, by the whole course.
Result<judge::Verdict> control_verdict(const Control& control, const Arguments& arguments,
                                       const std::string& device, const Context& context) {
  FIEL_TRY(const TempDir folder, TempDir::create("fiel-control"));
  const std::string path = (folder.path() / "control.py").string();
  FIEL_TRY_STATUS(write_file_atomic(path, control.source));
  Arguments words;
  words.flags = {{"--device", device},        {"--self", ""},
                 {"--baselines", "eager"},    {"--policies", "default"},
                 {"--baseline-cache", "off"}, {"--time-budget", "20"}};
  if (const auto python = arguments.value("--python")) words.flags["--python"] = *python;
  judge::JudgeRequest base;
  base.options.effort = judge::Effort::quick;
  base.options.interrupted = context.interrupted;
  TorchJudging judging(words);
  return judging.judge(entry_of(path, path), base);
}

struct ControlRow {
  std::string text;
  Json json;
  bool sound = false;
};

ControlRow row_of(const Control& control, const Result<judge::Verdict>& v) {
  ControlRow row;
  row.json = Json::object({{"name", control.name}, {"ratio", Json()}});
  std::string why = v ? std::string(v->reason) : to_string(v.error());
  if (v && v->measurement && !v->measurement->ratios.empty()) {
    const judge::Ratio& r = v->measurement->ratios.front();
    row.sound = r.decision == judge::SpeedDecision::same;
    row.json["ratio"] = r.value;
    row.json["low"] = r.low;
    row.json["high"] = r.high;
    why = fmt::format("{:.3f} [{:.3f}, {:.3f}] in {} rounds: {}", r.value, r.low, r.high, r.rounds,
                      judge::name_of(r.decision));
  } else if (v && v->measurement) {
    why = v->measurement->why;
  }
  row.text = fmt::format("  {:<26}{}\n", control.name, printable(why, 300));
  return row;
}

}  // namespace

Result<int> calibrate(const Arguments& arguments, const Context& context) {
  FIEL_TRY(const auto chosen, device_of(arguments));
  const std::string device = chosen.value_or("cuda:0");
  if (!device.starts_with("cuda"))
    return fail(ErrorCode::usage, "only a GPU is calibrated", "--device cuda:0");
  FIEL_TRY(const Measured m, measure(arguments, device, context));
  const judge::Calibration c = judge::parse_calibration(m.figures);
  FIEL_TRY_STATUS(judge::save_calibration(cache_dir(), m.machine.device_uuid, m.machine.driver, c));
  const bool json = arguments.has("--json");
  if (!json) context.print(table(m, c) + "\nThe same program on both sides of the clock:\n");
  bool sound = true;
  Json controls = Json::array();
  for (const Control& control : kControls) {
    const ControlRow row = row_of(control, control_verdict(control, arguments, device, context));
    if (!json) context.print(row.text);
    controls.push_back(row.json);
    sound &= row.sound;
  }
  if (json)
    context.print_json(Json::object({{"schema_version", 1},
                                     {"device_uuid", m.machine.device_uuid},
                                     {"figures", m.figures},
                                     {"controls", controls}}));
  return sound ? 0 : 3;
}

}  // namespace fiel::cli
