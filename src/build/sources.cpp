#include "build/sources.h"

#include <fmt/core.h>

#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"

namespace fiel::build {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxFile = 16u << 20, kMaxTotal = 64u << 20;
constexpr size_t kMaxFiles = 1024;

/// What the compiler is to call the kernel: a link's target may have an ending that nvcc takes for
/// something to link.
fs::path compiled_name(const fs::path& real) {
  fs::path name = real.filename();
  if (name.extension() != ".cu") name += ".cu";
  return name;
}

bool is_below(const fs::path& path, const fs::path& folder) {
  auto relative = path.lexically_relative(folder);
  return !relative.empty() && relative.begin()->string() != "..";
}

}  // namespace

std::vector<std::string> quoted_includes(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.empty() || line[0] != '#') continue;
    line = trim(line.substr(1));
    if (line.rfind("include", 0) != 0) continue;
    line = trim(line.substr(7));
    if (line.empty() || line[0] != '"') continue;
    size_t close = line.find('"', 1);
    if (close != std::string_view::npos && close > 1) names.emplace_back(line.substr(1, close - 1));
  }
  return names;
}

Result<SourceSet> collect_sources(const fs::path& source) {
  std::error_code ec;
  fs::path real = fs::canonical(source, ec);
  if (ec) return fail(ErrorCode::not_found, "no kernel file " + source.string());
  fs::path folder = real.parent_path();
  SourceSet set;
  std::set<fs::path> seen{real};
  std::vector<fs::path> open{real};
  uint64_t total = 0;
  while (!open.empty()) {
    fs::path file = open.back();
    open.pop_back();
    FIEL_TRY(std::string bytes, read_file(file, kMaxFile));
    total += bytes.size();
    if (total > kMaxTotal || set.files.size() >= kMaxFiles)
      return fail(ErrorCode::limit, fmt::format("{} includes more than {} files or {} bytes",
                                                source.string(), kMaxFiles, kMaxTotal));
    for (const std::string& name : quoted_includes(bytes))
      for (const fs::path& base : {file.parent_path(), folder}) {
        fs::path target = fs::canonical(base / name, ec);
        if (ec || !is_below(target, folder) || !fs::is_regular_file(target, ec)) continue;
        if (seen.insert(target).second) open.push_back(target);
        break;
      }
    const fs::path name = set.files.empty() ? compiled_name(real) : file.lexically_relative(folder);
    set.files.push_back({name, std::move(bytes)});
  }
  Digest digest;
  std::set<std::pair<std::string, const SourceFile*>> sorted;
  for (const SourceFile& f : set.files) sorted.emplace(f.name.string(), &f);
  digest.add(set.files[0].name.string());
  for (const auto& [name, f] : sorted) digest.add(name).add(f->bytes);
  set.digest = digest.hex();
  return set;
}

}  // namespace fiel::build
