#include "cli/pairing.h"

#include <fmt/core.h>
#include <glob.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "kernel/torch_kernel.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 200'000;

bool is_plan(const fs::path& path) { return path.filename().string().ends_with(".plan.toml"); }
bool is_task(const fs::path& path) {
  return (path.extension() == ".toml" && !is_plan(path) && path.filename() != "expect.toml") ||
         path.extension() == ".py";
}
/// A work folder is one kernel, and its files are none.
bool is_kernel(const fs::path& path) {
  return path.extension() == ".cu" || is_plan(path) || kernel::is_torch_kernel(path);
}

std::string stem_of(const fs::path& path) {
  std::string name = path.filename().string();
  if (is_plan(path)) return name.substr(0, name.size() - std::string_view(".plan.toml").size());
  return path.stem().string();
}

// "level_" then digits: the number behind `word` in `text`, if it is there.
std::optional<int64_t> number_after(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const char* begin = text.data() + at + word.size();
  int64_t value = 0;
  const auto parsed = std::from_chars(begin, text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr == begin || value < 0) return std::nullopt;
  return value;
}

Status collect(const std::string& path, bool (*wanted)(const fs::path&),
               std::set<std::string>& found) {
  std::error_code error;
  const bool one = wanted(path) && kernel::is_work_folder(path);
  if (one || !fs::is_directory(path, error)) {
    found.insert(path);
    return {};
  }
  const auto skip = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(path, skip, error), end; !error && it != end;
       it.increment(error)) {
    if (wanted(it->path())) {
      found.insert(it->path().string());
      it.disable_recursion_pending();
    }
    if (found.size() > kMaxFiles)
      return fail(ErrorCode::limit, fmt::format("more than {} files in {}", kMaxFiles, path));
  }
  return {};
}

Result<std::vector<std::string>> expand(const std::string& pattern,
                                        bool (*wanted)(const fs::path&)) {
  glob_t matches = {};
  const int code = glob(pattern.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &matches);
  std::set<std::string> found;
  Status status;
  for (size_t i = 0; code == 0 && status && i < matches.gl_pathc; ++i)
    status = collect(matches.gl_pathv[i], wanted, found);
  globfree(&matches);
  if (!status) return fail(status.error());
  if (found.empty())
    return fail(ErrorCode::not_found, fmt::format("nothing matches '{}'", printable(pattern, 300)),
                "quote the pattern, so that the shell leaves it alone");
  return std::vector<std::string>(found.begin(), found.end());
}

/// Tasks by their KernelBench number and by their stem.
class TaskIndex {
 public:
  Status add(const std::string& path) {
    if (const auto name = kernelbench_task(path)) {
      FIEL_TRY_STATUS(put(by_number_, {name->level, name->problem}, path));
      problems_[name->problem].push_back(path);
    }
    return put(by_stem_, stem_of(path), path);
  }

  const std::string* of_kernel(const std::string& path) const {
    if (const auto name = kernelbench_sample(path)) {
      const auto exact = by_number_.find({name->level, name->problem});
      if (exact != by_number_.end()) return &exact->second;
      // A list of tasks outside a level folder has no level; the problem alone must be enough.
      const auto problem = problems_.find(name->problem);
      if (problem != problems_.end() && problem->second.size() == 1)
        return &problem->second.front();
      return nullptr;
    }
    for (const std::string& stem :
         {stem_of(path), fs::path(path).parent_path().filename().string()}) {
      const auto found = by_stem_.find(stem);
      if (found != by_stem_.end() && found->second != path) return &found->second;
    }
    return nullptr;
  }

 private:
  template <typename Key>
  static Status put(std::map<Key, std::string>& map, const Key& key, const std::string& path) {
    const auto [place, fresh] = map.emplace(key, path);
    if (fresh) return {};
    return fail(
        ErrorCode::usage,
        fmt::format("two tasks cannot be told apart by name: {} and {}", place->second, path),
        "name the pairs in a file: --manifest PAIRS.jsonl");
  }
  std::map<std::pair<int64_t, int64_t>, std::string> by_number_;
  std::map<int64_t, std::vector<std::string>> problems_;
  std::map<std::string, std::string> by_stem_;
};

Result<store::Entry> manifest_entry(const Json& line, const fs::path& folder) {
  const std::string &task = line["task"].as_string(), &kernel = line["kernel"].as_string();
  if (task.empty() || kernel.empty())
    return fail(ErrorCode::parse, "a line needs \"task\" and \"kernel\"",
                R"({"task": "softmax.toml", "kernel": "online.cu"})");
  store::Entry entry = entry_of((folder / task).string(), (folder / kernel).string());
  const Json& problem = line["problem"];
  if (problem.is_string()) entry.problem = problem.as_string();
  if (problem.is_integer()) entry.problem = std::to_string(problem.as_int());
  if (line["sample"].is_integer()) entry.sample = line["sample"].as_int();
  return entry;
}

}  // namespace

std::optional<KernelBenchName> kernelbench_task(const std::string& path) {
  const fs::path file(path);
  const std::string name = file.filename().string();
  int64_t problem = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), problem);
  if (parsed.ec != std::errc() || parsed.ptr == name.data() + name.size() || *parsed.ptr != '_')
    return std::nullopt;
  const std::string folder = file.parent_path().filename().string();
  return KernelBenchName{number_after(folder, "level").value_or(0), problem, 0};
}

std::optional<KernelBenchName> kernelbench_sample(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const auto problem = number_after(name, "problem_");
  if (!name.starts_with("level_") || !problem) return std::nullopt;
  return KernelBenchName{number_after(name, "level_").value_or(0), *problem,
                         number_after(name, "sample_").value_or(0)};
}

store::Entry entry_of(const std::string& task, const std::string& kernel) {
  store::Entry entry{task, kernel, stem_of(task), std::nullopt};
  if (const auto name = kernelbench_task(task))
    entry.problem = fmt::format("{}/{}", name->level, name->problem);
  if (const auto name = kernelbench_sample(kernel)) {
    entry.problem = fmt::format("{}/{}", name->level, name->problem);
    entry.sample = name->sample;
  }
  return entry;
}

Result<Pairing> pair_files(const std::string& tasks, const std::string& kernels) {
  FIEL_TRY(const std::vector<std::string> task_files, expand(tasks, is_task));
  FIEL_TRY(const std::vector<std::string> kernel_files, expand(kernels, is_kernel));
  TaskIndex index;
  for (const std::string& path : task_files) FIEL_TRY_STATUS(index.add(path));
  Pairing pairing;
  for (const std::string& path : kernel_files) {
    const std::string* task = index.of_kernel(path);
    if (task == nullptr)
      pairing.unpaired.push_back(path);
    else
      pairing.entries.push_back(entry_of(*task, path));
  }
  std::stable_sort(pairing.entries.begin(), pairing.entries.end(),
                   [](const auto& a, const auto& b) { return a.task < b.task; });
  return pairing;
}

Result<std::vector<store::Entry>> tasks_alone(const std::string& tasks) {
  FIEL_TRY(const std::vector<std::string> files, expand(tasks, is_task));
  std::vector<store::Entry> entries;
  for (const std::string& path : files)
    if (fs::path(path).extension() == ".py") entries.push_back(entry_of(path, path));
  return entries;
}

Result<std::vector<store::Entry>> read_manifest(const std::string& path) {
  FIEL_TRY(const std::string text, read_file(path));
  const fs::path folder = fs::path(path).parent_path();
  std::vector<store::Entry> entries;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const std::string where = fmt::format("{}:{}", path, number);
    auto json = Json::parse(line);
    if (!json) return fail(std::move(json).error().with_context(where));
    auto entry = manifest_entry(*json, folder);
    if (!entry) return fail(std::move(entry).error().with_context(where));
    entries.push_back(std::move(*entry));
    if (entries.size() > kMaxFiles)
      return fail(ErrorCode::limit, fmt::format("{} has more than {} lines", path, kMaxFiles));
  }
  return entries;
}

}  // namespace fiel::cli
