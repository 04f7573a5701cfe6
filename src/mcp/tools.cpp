#include "mcp/tools.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "agent/tools/schema.h"
#include "agent/workspace/feedback.h"
#include "agent/workspace/kernel_text.h"
#include "base/text.h"
#include "judge/codes.h"
#include "task/symbols.h"
#include "task/task.h"
#include "task/torch_task.h"

namespace fiel::mcp {
namespace {

namespace fs = std::filesystem;
using agent::KernelForm, agent::object_schema, agent::property;

constexpr size_t kMaxTasks = 2000, kMaxKernelBytes = 2u << 20, kMaxTaskBytes = 1u << 20;
constexpr int64_t kDefaultWait_s = 30, kMaxWait_s = 300;

Json tool(const char* name, const char* description, Json input, Json output, bool reads) {
  return Json::object(
      {{"name", name},
       {"description", description},
       {"inputSchema", std::move(input)},
       {"outputSchema", std::move(output)},
       {"annotations", Json::object({{"readOnlyHint", reads}, {"openWorldHint", false}})}});
}

Json kernel_input() {
  return object_schema(
      {{"task", property("string", "a name that list_tasks gives")},
       {"kernel", property("string",
                           "the whole text of a .cu file that defines fiel_run or, for a PyTorch "
                           "task, of a .py file that defines ModelNew")},
       {"wait_s", property("integer",
                           "how long to wait for the end before a job_id is given "
                           "instead: at most 300, 30 if left out")}},
      {"task", "kernel"});
}

Json job_output() {
  return object_schema(
      {{"state", property("string", "waiting, running, done, failed, cancelled")},
       {"job_id", property("string", "to ask again with the tool 'job'")},
       {"text", property("string", "for reading")},
       {"good", property("boolean", "what was asked for went well")},
       {"status", property("string", "of the verdict: correct, incorrect …")},
       {"reason", property("string", "why not, hidden shapes without their sizes")},
       {"speed", property("string", "faster, same, slower, ambiguous, not_measured")},
       {"ratio", property("number", "measured, against the fastest comparable baseline; 0: none")},
       {"ratio_low", property("number", "lower end of its 95 % interval")},
       {"reward", property("integer", "-1 wrong, 1 right, 2 and 3 faster")},
       {"left", property("integer", "judgements that are left")}},
      {"state", "text"});
}

Json make_list() {
  Json list = Json::array();
  list.push_back(tool("compile", "Compiles a kernel; errors first, registers and shared memory.",
                      kernel_input(), job_output(), true));
  list.push_back(tool(
      "verify", "Is the kernel right? Fresh inputs, hidden shapes; the worst element when not.",
      kernel_input(), job_output(), true));
  list.push_back(tool("bench", "Verifies with more work and, on a GPU, times against PyTorch.",
                      kernel_input(), job_output(), true));
  list.push_back(
      tool("profile",
           "What the kernel does to memory and warps, and why it may be slow: counted on "
           "the virtual GPU, or by ncu on a real one.",
           kernel_input(), job_output(), true));
  list.push_back(tool("submit", "Judges the kernel and keeps the verdict as evidence.",
                      kernel_input(), job_output(), false));
  list.push_back(tool("job", "State or result of long work; waits for its end, or cancels it.",
                      object_schema({{"job_id", property("string", "as a tool gave it")},
                                     {"wait_s", property("integer", "at most 300, 30 if left out")},
                                     {"cancel", property("boolean", "end it")}},
                                    {"job_id"}),
                      job_output(), false));
  list.push_back(tool("list_tasks", "The tasks that kernels can be written for; of one, its text.",
                      object_schema({{"task", property("string",
                                                       "only this one, with its file's "
                                                       "text")}},
                                    {}),
                      object_schema({{"tasks", Json::object({{"type", "array"}})},
                                     {"text", property("string", "for reading")}},
                                    {"tasks", "text"}),
                      true));
  list.push_back(
      tool("explain", "What a status, finding, probe or exit code means.",
           object_schema({{"word", property("string", "such as out-of-bounds")}}, {"word"}),
           object_schema({{"name", property("string", "the word")},
                          {"kind", property("string", "what it names")},
                          {"text", property("string", "what it means")},
                          {"remedy", property("string", "what to do")}},
                         {"name", "text"}),
           true));
  return list;
}

ToolAnswer failure(std::string text, bool known = true) {
  ToolAnswer a;
  a.known = known;
  a.failed = true;
  a.text = std::move(text);
  return a;
}

int64_t wait_ms(const Json& arguments) {
  return std::clamp<int64_t>(arguments["wait_s"].as_int(kDefaultWait_s), 0, kMaxWait_s) * 1000;
}

bool is_plain(std::string_view name) {
  return !name.empty() && name.size() <= 100 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
}

/// Of native tasks and of PyTorch's: what a name without one may mean, in this order.
constexpr std::array<std::string_view, 2> kEndings = {".toml", ".py"};
std::string_view ending_of(const std::string& name) {
  for (const std::string_view ending : kEndings)
    if (name.ends_with(ending)) return ending;
  return "";
}

/// One entry of list_tasks; null where the file is no task.
Json described(const fs::path& file, std::string name) {
  if (file.extension() == ".py") {
    if (!task::is_torch_task(file)) return {};
    return Json::object({{"name", std::move(name)}, {"description", "a PyTorch task"}});
  }
  const auto task = task::load_task(file.string());
  if (!task) return {};
  name.resize(name.size() - kEndings[0].size());
  return Json::object({{"name", std::move(name)},
                       {"description", task->description},
                       {"expression", std::string(trim(task->expression))}});
}

}  // namespace

const Json& Tools::list() {
  static const Json list = make_list();
  return list;
}

Result<fs::path> Tools::task_path(const std::string& name) const {
  const std::string_view ending = ending_of(name);
  const std::string stem = name.substr(0, name.size() - ending.size());
  const size_t slash = stem.find('/');
  const bool plain = slash == std::string::npos
                         ? is_plain(stem)
                         : is_plain(stem.substr(0, slash)) && is_plain(stem.substr(slash + 1));
  std::error_code error;
  for (const std::string_view e : kEndings) {
    const fs::path path = options_.task_folder / (stem + std::string(e));
    const bool meant = plain && (ending.empty() || ending == e);
    if (meant && fs::is_regular_file(path, error)) return path;
  }
  return fail(ErrorCode::not_found, fmt::format("there is no task '{}'", printable(name, 80)),
              "list_tasks has them");
}

Status Tools::prepare(Job& job, const fs::path& task, const std::string& kernel) const {
  const bool torch = task.extension() == ".py";
  KernelForm form = KernelForm::cu;
  if (torch) {
    FIEL_TRY_STATUS(task::load_torch_task(task).map([](auto&&) {}));
    const bool module = options_.device != "virtual";
    form = agent::form_of(kernel, module ? KernelForm::python : KernelForm::cu);
    FIEL_TRY_STATUS(agent::runs_on(form, options_.device));
  } else {
    FIEL_TRY_STATUS(task::load_task(task.string()).map([](auto&&) {}));
  }
  if (job.tool == "profile" && torch && !on_a_gpu())
    return fail(ErrorCode::unsupported,
                "without a GPU profiles are of bare kernels for native tasks",
                "fiel mcp --device cuda:0 counts modules too");
  FIEL_TRY(TempDir folder, TempDir::create("fiel-mcp"));
  job.folder = std::make_shared<TempDir>(std::move(folder));
  const std::string file = (job.folder->path() / agent::file_name_of(form)).string();
  FIEL_TRY_STATUS(write_file_atomic(file, kernel));
  job.visible_shapes = agent::visible_shapes(task);
  job.words = words_of(job.tool, task.string(), file);
  return {};
}

std::vector<std::string> Tools::words_of(const std::string& tool, const std::string& task,
                                         const std::string& kernel) const {
  if (tool == "profile" && !on_a_gpu()) return {"profile", task, kernel};
  std::vector<std::string> words;
  std::error_code error;
  if (tool == "compile")
    words = {"mcp", "--compile", kernel, "--for", fs::absolute(task, error).string()};
  else if (tool == "profile")
    words = {"profile", task, kernel};
  else
    words = {"judge", task, kernel, "--json", "--budget", tool == "verify" ? "quick" : "standard"};
  if (tool == "verify" || tool == "bench") words.push_back("--no-store");
  if (!options_.device.empty()) words.insert(words.end(), {"--device", options_.device});
  if (!options_.python.empty()) words.insert(words.end(), {"--python", options_.python});
  if (tool != "compile" && tool != "profile")
    words.insert(words.end(), options_.more.begin(), options_.more.end());
  return words;
}

ToolAnswer Tools::judge(const std::string& name, const Json& arguments) {
  const auto path = task_path(arguments["task"].as_string());
  if (!path) return failure(to_string(path.error()));
  const std::string& kernel = arguments["kernel"].as_string();
  if (kernel.size() > kMaxKernelBytes) return failure("the kernel is too long");
  const bool judges = name != "compile" && name != "profile";
  if (judges && judged_ >= options_.max_judged)
    return failure(fmt::format("no judgements are left: {} kernels were judged", judged_));
  Job job;
  job.tool = name;
  if (const Status ready = prepare(job, *path, kernel); !ready)
    return failure(to_string(ready.error()));
  auto id = jobs_.start(std::move(job));
  if (!id) return failure(to_string(id.error()));
  judged_ += judges;
  ToolAnswer a;
  a.job = *id;
  a.wait_ms = wait_ms(arguments);
  return a;
}

ToolAnswer Tools::answer_of(const Job& job) const {
  ToolAnswer a;
  a.structured = Json::object({{"state", name_of(job.state)}, {"job_id", job.id}});
  const auto say = [&](std::string text) {
    a.text = std::move(text);
    a.structured["text"] = a.text;
  };
  if (!job.ended()) {
    say(fmt::format("{} is {}; ask again: job(job_id=\"{}\")\n", job.tool, name_of(job.state),
                    job.id));
    return a;
  }
  if (job.state != Job::State::done) {
    a.failed = true;
    say(job.err.empty() ? std::string(name_of(job.state)) : printable(job.err, 600));
    return a;
  }
  const auto document = Json::parse(job.out);
  if (job.tool == "compile" && document && document->is_object()) {
    a.structured["good"] = (*document)["good"];
    say((*document)["text"].as_string());
    return a;
  }
  if (job.tool == "profile") {
    a.failed = job.exit_code != 0;
    a.structured["good"] = job.exit_code == 0;
    say(agent::bounded_lines(job.exit_code == 0 ? job.out : job.err, 2 * agent::kFeedbackLines,
                             2 * agent::kFeedbackBytes));
    return a;
  }
  if (!document || !(*document)["status"].is_string()) {
    a.failed = true;
    say("the judge could not judge: " + printable(trim(job.err), 600));
    return a;
  }
  const agent::Feedback f = agent::feedback_of(*document, job.visible_shapes);
  a.structured["good"] = f.good;
  a.structured["status"] = f.entry.status;
  a.structured["reason"] = f.entry.reason;
  a.structured["speed"] = f.entry.speed;
  a.structured["ratio"] = f.entry.ratio;
  a.structured["ratio_low"] = f.entry.ratio_low;
  a.structured["reward"] = f.entry.reward;
  a.structured["left"] = options_.max_judged - judged_;
  say(f.text);
  return a;
}

ToolAnswer Tools::job(const Json& arguments) {
  const std::string& id = arguments["job_id"].as_string();
  if (arguments["cancel"].as_bool()) jobs_.cancel(id);
  const Job* job = jobs_.find(id);
  if (job == nullptr) return failure(fmt::format("there is no job '{}'", printable(id, 60)));
  if (job->ended()) return answer_of(*job);
  ToolAnswer a;
  a.job = id;
  a.wait_ms = wait_ms(arguments);
  return a;
}

ToolAnswer Tools::explain(const Json& arguments) const {
  const std::string& word = arguments["word"].as_string();
  const auto found = judge::explain(word);
  if (!found) {
    std::vector<std::string> names;
    for (const auto& e : judge::all_explanations()) names.push_back(e.name);
    const std::string near = did_you_mean(word, names);
    return failure(fmt::format("nothing is known as '{}'{}", printable(word, 60),
                               near.empty() ? "" : fmt::format(": did you mean '{}'?", near)));
  }
  ToolAnswer a;
  a.text = found->text + (found->remedy.empty() ? "" : "\n\n" + found->remedy);
  a.structured = Json::object({{"name", found->name},
                               {"kind", found->kind},
                               {"text", found->text},
                               {"remedy", found->remedy}});
  return a;
}

std::vector<fs::path> Tools::task_files() const {
  std::vector<fs::path> files, folders = {options_.task_folder};
  for (size_t i = 0; i < folders.size(); ++i) {
    std::error_code error;
    const fs::path folder = folders[i];
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      const bool task = !ending_of(it->path().filename().string()).empty();
      std::error_code unknown;
      if (task && files.size() < kMaxTasks)
        files.push_back(it->path());
      else if (i == 0 && folders.size() < kMaxTasks && it->is_directory(unknown))
        folders.push_back(it->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

ToolAnswer Tools::list_tasks(const Json& arguments) const {
  std::vector<fs::path> files;
  const bool one = arguments["task"].is_string();
  if (one) {
    const auto path = task_path(arguments["task"].as_string());
    if (!path) return failure(to_string(path.error()));
    files = {*path};
  } else {
    files = task_files();
  }
  ToolAnswer a;
  Json tasks = Json::array();
  for (const fs::path& file : files) {
    const fs::path relative = file.lexically_relative(options_.task_folder);
    Json task = described(file, relative.string());
    if (task.is_null()) continue;
    a.text += fmt::format("{}: {}\n", task["name"].as_string(), task["description"].as_string());
    if (one) {
      const auto text = read_file(file, kMaxTaskBytes);
      if (!text) return failure(to_string(text.error()));
      task["source"] = *text;
      a.text += "\n" + *text;
    }
    tasks.push_back(std::move(task));
  }
  a.structured = Json::object({{"tasks", std::move(tasks)}, {"text", a.text}});
  return a;
}

ToolAnswer Tools::call(const std::string& name, const Json& arguments) {
  const auto& tools = list().items();
  const auto it = std::find_if(tools.begin(), tools.end(),
                               [&](const Json& t) { return t["name"].as_string() == name; });
  if (it == tools.end()) {
    std::vector<std::string> names;
    for (const Json& t : tools) names.push_back(t["name"].as_string());
    const std::string near = did_you_mean(name, names);
    return failure(fmt::format("there is no tool '{}'{}", printable(name, 60),
                               near.empty() ? "" : fmt::format(": did you mean '{}'?", near)),
                   false);
  }
  if (const std::string wrong = agent::misfit((*it)["inputSchema"], arguments); !wrong.empty())
    return failure(wrong, false);
  if (name == "explain") return explain(arguments);
  if (name == "list_tasks") return list_tasks(arguments);
  if (name == "job") return job(arguments);
  return judge(name, arguments);
}

}  // namespace fiel::mcp
