// fiel tasks: which native tasks there are, and what Fiel understood of one.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/command.h"
#include "graph/graph.h"
#include "judge/shapes.h"
#include "task/task.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxDescription = 2000;

std::vector<std::string> task_files(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".toml") files.push_back(it->path().string());
  std::sort(files.begin(), files.end());
  return files;
}

Json to_json(const task::Task& t) {
  Json j = Json::object();
  j["name"] = t.name;
  j["description"] = t.description;
  j["file"] = t.source_file;
  j["digest"] = t.digest;
  j["expression"] = t.expression;
  j["special_values"] = t.special_values;
  j["inputs"] = Json::array();
  for (const task::InputSpec& in : t.inputs) {
    Json i = Json::object();
    i["name"] = in.name;
    i["dtype"] = fiel::name_of(in.dtype);
    i["shape"] = Json::array();
    for (const std::string& s : in.shape) i["shape"].push_back(s);
    i["domain"] = name_of(in.domain);
    i["distribution"] = in.distribution;
    i["parameter"] = in.parameter;
    j["inputs"].push_back(std::move(i));
  }
  j["outputs"] = Json::array();
  for (const task::OutputSpec& out : t.outputs) {
    Json o = Json::object();
    o["name"] = out.name;
    o["dtype"] = out.dtype ? Json(fiel::name_of(*out.dtype)) : Json();
    j["outputs"].push_back(std::move(o));
  }
  j["shape_sets"] = Json::array();
  for (const task::ShapeSet& set : t.shape_sets) {
    Json s = Json::object();
    s["name"] = set.name;
    s["benchmark"] = set.benchmark;
    s["symbols"] = Json::object();
    for (const auto& [name, value] : set.symbols) s["symbols"][name] = value;
    j["shape_sets"].push_back(std::move(s));
  }
  return j;
}

std::string shape_text(const std::vector<std::string>& shape) {
  std::string text;
  for (const std::string& s : shape) text += (text.empty() ? "" : ", ") + s;
  return "(" + text + ")";
}

std::string describe(const task::Task& t) {
  std::string text = fmt::format("{}\n  {}\n\n", t.name, printable(t.description, kMaxDescription));
  text += "  inputs\n";
  for (const task::InputSpec& in : t.inputs)
    text += fmt::format("    {:<12}{:<6}{:<18}{}{}, {}\n", in.name, fiel::name_of(in.dtype),
                        shape_text(in.shape), name_of(in.domain), in.parameter ? ", parameter" : "",
                        in.distribution);
  text += "  outputs\n";
  for (const task::OutputSpec& out : t.outputs)
    text += fmt::format("    {:<12}{}\n", out.name,
                        out.dtype ? fiel::name_of(*out.dtype) : std::string_view("inferred"));
  text += "  expression\n";
  for (std::string_view line : split(trim(t.expression), '\n'))
    text += fmt::format("    {}\n", trim(line));
  text += "  shape sets\n";
  for (const task::ShapeSet& set : t.shape_sets) {
    text += fmt::format("    {:<12}{}{}", set.name, judge::to_string(set.symbols),
                        set.benchmark ? "  (benchmark)" : "");
    if (auto instance = t.instantiate(set))
      text += fmt::format("  {:.3g} FLOP, {} at least, sums of {:.0f}", instance->cost.flops,
                          format_bytes(static_cast<uint64_t>(instance->cost.bytes_compulsory)),
                          instance->cost.reduction_length);
    text += "\n";
  }
  return text;
}

Result<int> show(const std::string& file, const Arguments& arguments, const Context& context) {
  FIEL_TRY(const task::Task t, task::load_task(file));
  if (arguments.has("--json")) {
    Json j = Json::object();
    j["schema_version"] = 1;
    j["task"] = to_json(t);
    context.print_json(j);
  } else {
    context.print(describe(t));
  }
  return 0;
}

Result<int> list(const std::string& folder, const Arguments& arguments, const Context& context) {
  const std::vector<std::string> files = task_files(folder);
  if (files.empty()) {
    context.story(fmt::format("fiel: no .toml task in '{}'\n", printable(folder, 200)));
    return 5;
  }
  Json j = Json::object();
  j["schema_version"] = 1;
  j["tasks"] = Json::array();
  bool broken = false;
  for (const std::string& file : files) {
    auto t = task::load_task(file);
    if (!t) {
      broken = true;
      context.story("fiel: error: " + shown(t.error()) + "\n");
      continue;
    }
    if (arguments.has("--json")) {
      j["tasks"].push_back(to_json(*t));
    } else {
      const std::string_view first_line = split(t->description, '\n').front();
      context.print(fmt::format("{:<32}{}\n", t->name, printable(first_line, kMaxDescription)));
    }
  }
  if (arguments.has("--json")) context.print_json(j);
  return broken ? 2 : 0;
}

Result<int> run(const Arguments& arguments, const Context& context) {
  const auto& words = arguments.positional;
  const std::string what = words.empty() ? "list" : words[0];
  if (what == "list") {
    if (words.size() > 2) return fail(ErrorCode::usage, "'fiel tasks list' takes one folder");
    return list(words.size() == 2 ? words[1] : "tasks", arguments, context);
  }
  if (what == "show") {
    if (words.size() != 2) return fail(ErrorCode::usage, "'fiel tasks show' needs a task file");
    return show(words[1], arguments, context);
  }
  const std::vector<std::string> known{"list", "show"};
  const std::string near = did_you_mean(what, known);
  return fail(ErrorCode::usage, fmt::format("'fiel tasks' does not know '{}'", printable(what, 60)),
              near.empty() ? "it knows: list, show" : fmt::format("did you mean '{}'?", near));
}

}  // namespace

Command tasks_command() {
  return {{"tasks",
           "list [FOLDER] | show FILE",
           "the native tasks of a folder, or one of them in full",
           {kJsonFlag},
           ""},
          run};
}

}  // namespace fiel::cli
