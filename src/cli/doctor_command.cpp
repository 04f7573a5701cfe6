// fiel doctor: what this machine has, and what each missing thing costs.
#include <fmt/core.h>

#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/doctor_calibrate.h"

namespace fiel::cli {
namespace {

using State = DoctorItem::State;

std::string paint(const Context& context, State state, const std::string& word) {
  if (!context.color_out) return word;
  const char* code = state == State::ok ? "32" : state == State::limited ? "33" : "31";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, word);
}

Result<int> run(const Arguments& arguments, const Context& context) {
  if (!arguments.positional.empty())
    return fail(ErrorCode::usage, "'fiel doctor' takes no words, only flags");
  if (arguments.has("--calibrate")) return calibrate(arguments, context);
  const std::vector<DoctorItem> items = examine_machine();
  bool able = true;
  for (const DoctorItem& item : items) able &= !item.required || item.state != State::missing;
  if (arguments.has("--json")) {
    Json j = Json::object();
    j["schema_version"] = 1;
    j["can_judge_on_virtual_device"] = able;
    j["items"] = Json::array();
    for (const DoctorItem& item : items) {
      Json i = Json::object();
      i["id"] = item.id;
      i["title"] = item.title;
      i["state"] = name_of(item.state);
      i["required"] = item.required;
      i["found"] = item.found;
      i["cost"] = item.cost;
      i["remedy"] = item.remedy;
      j["items"].push_back(std::move(i));
    }
    context.print_json(j);
    return able ? 0 : 3;
  }
  for (const DoctorItem& item : items) {
    const std::string word = fmt::format("{:<8}", name_of(item.state));
    context.print(
        fmt::format("  {} {:<16} {}\n", paint(context, item.state, word), item.title, item.found));
    if (!item.cost.empty()) context.print(fmt::format("{:28}costs: {}\n", "", item.cost));
    if (!item.remedy.empty()) context.print(fmt::format("{:28}helps: {}\n", "", item.remedy));
  }
  context.print(able ? "\nKernels can be judged on the virtual device.\n"
                     : "\nKernels cannot be judged here: see what is missing above.\n");
  return able ? 0 : 3;
}

}  // namespace

Command doctor_command() {
  return {
      {"doctor",
       "",
       "what this machine has, and what each missing thing costs",
       {{"--calibrate", "", "measure what the GPU can do, and try the clock; kept for judgements"},
        {"--device", "NAME", "of --calibrate: cuda:N (cuda:0)"},
        {"--python", "FILE", "of --calibrate: the Python that has PyTorch"},
        kJsonFlag},
       "Exit code 3 where kernels cannot be judged at all."},
      run};
}

}  // namespace fiel::cli
