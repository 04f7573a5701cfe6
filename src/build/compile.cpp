#include "build/compile.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/files.h"
#include "base/hash.h"
#include "build/cache.h"
#include "build/compiler_log.h"
#include "build/elf.h"
#include "build/fatbin.h"
#include "build/runtime_files.h"
#include "build/sources.h"
#include "build/toolchain.h"
#include "sandbox/process_tree.h"
#include "sandbox/spawn.h"

namespace fiel::build {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxObject = 64u << 20;
constexpr int kRecipe = 1;  ///< part of the key: raise it when what an entry holds changes

std::span<const uint8_t> bytes_of(const std::string& s) {
  return {reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}

struct Job {
  SourceSet sources;
  Toolchain cuda;
  RuntimeFiles runtime;
  std::vector<std::string> flags;
  bool ptx_only = false;
  std::string key;
};

Result<Job> prepare(const fs::path& source, const CompileOptions& options, bool ptx_only) {
  Job job;
  job.ptx_only = ptx_only;
  FIEL_TRY(job.sources, collect_sources(source));
  FIEL_TRY(job.cuda, find_toolchain());
  FIEL_TRY(job.runtime, runtime_files());
  // For the virtual GPU PTX only, uncompressed: skipping ptxas halves the time.
  std::string arch = "arch=compute_" + options.arch + ",code=compute_" + options.arch;
  if (options.machine_code)
    arch = fmt::format("arch=compute_{0},code=[sm_{0},compute_{0}]", options.arch);
  job.flags = {"-std=c++17", "-O3", "-lineinfo"};
  if (ptx_only)
    job.flags.insert(job.flags.end(), {"-ptx", "-arch=compute_" + options.arch});
  else
    job.flags.insert(job.flags.end(), {"-gencode", arch, "-no-compress", "-shared", "-Xcompiler",
                                       "-fPIC", "-cudart", "none"});
  Digest digest;
  digest.add(std::to_string(kRecipe)).add(job.sources.digest).add(job.cuda.version);
  digest.add(job.runtime.digest).add(options.resources ? "resources" : "");
  for (const std::string& f : job.flags) digest.add(f);
  job.key = digest.hex().substr(0, 40);
  return job;
}

Status write_sources(const SourceSet& set, const fs::path& folder) {
  for (const SourceFile& f : set.files) {
    std::error_code ec;
    fs::create_directories((folder / f.name).parent_path(), ec);
    FIEL_TRY_STATUS(write_file_atomic(folder / f.name, f.bytes));
  }
  return {};
}

sandbox::SpawnRequest sandboxed(const Job& job, const fs::path& folder,
                                std::vector<std::string> words) {
  sandbox::SpawnRequest q;
  q.arguments = std::move(words);
  q.environment = {{"PATH", job.cuda.nvcc.parent_path().string() + ":/usr/bin:/bin"},
                   {"HOME", "/tmp"},
                   {"TMPDIR", "/tmp"},
                   {"LANG", "C"},
                   {"LC_ALL", "C"}};
  q.read_only = {job.cuda.root, job.runtime.folder};
  // The wheels' nvcc reaches its neighbours through relative links.
  q.writable = folder;
  q.drop_root = false;
  return q;
}

struct ToolRun {
  bool timed_out = false;
  std::string limit, output;
  int exit_code = 0, signal = 0;
  sandbox::IsolationReport isolation;
};

Result<ToolRun> run_tool(const sandbox::SpawnRequest& q, const CompileOptions& options) {
  sandbox::IsolationPolicy policy = options.isolation;
  policy.limits.output_bytes = 1u << 20;
  policy.limits.file_bytes = kMaxObject;
  FIEL_TRY(auto child, sandbox::spawn(q, policy));
  int64_t deadline = sandbox::now_ms() + options.timeout_ms;
  while (child->running() && sandbox::now_ms() < deadline) child->pump(100);
  ToolRun run;
  run.timed_out = child->running();
  if (run.timed_out) child->kill();
  child->wait(5'000);
  run.limit = child->limit;
  run.output = std::move(child->output);
  run.exit_code = child->exit_code;
  run.signal = child->signal;
  run.isolation = child->isolation();
  return run;
}

/// The compiler's verdict on its own run; nothing when it went well.
bool failed(const ToolRun& run, const CompileOptions& options, CompileOutcome& out) {
  out.isolation = run.isolation;
  out.log = errors_first(run.output);
  if (run.timed_out) {
    out.status = CompileStatus::timeout;
    out.message =
        fmt::format("the compiler was still running after {} s", options.timeout_ms / 1000);
  } else if (!run.limit.empty()) {
    out.status = CompileStatus::limit;
    out.message = "the compiler reached the " + run.limit;
  } else if (run.exit_code != 0 || run.signal != 0) {
    classify_failure(run.output, out);
  } else {
    return false;
  }
  return true;
}

/// Looks into the shared object: fiel_run exported, PTX taken out.
Status inspect_object(const fs::path& folder, CompileOutcome& out) {
  FIEL_TRY(std::string object, read_file(folder / "kernel.so", kMaxObject));
  auto exports = elf_exports(bytes_of(object));
  if (std::find(exports.begin(), exports.end(), "fiel_run") == exports.end()) {
    out.status = CompileStatus::compile_error;
    out.message =
        "the kernel exports no fiel_run: include <fiel/kernel.h> and write "
        "`FIEL_KERNEL int fiel_run(…)`";
    return {};
  }
  std::string ptx;
  if (auto section = elf_section(bytes_of(object), ".nv_fatbin"))
    if (auto entries = read_fatbin(*section))
      for (const FatbinPtx& e : *entries) ptx += e.text;
  return write_file_atomic(folder / "kernel.ptx", ptx);
}

Status ask_ptxas(const Job& job, const fs::path& folder, const CompileOptions& options) {
  auto q = sandboxed(job, folder,
                     {(job.cuda.nvcc.parent_path() / "ptxas").string(), "-v",
                      "-arch=sm_" + options.arch, "kernel.ptx", "-o", "/tmp/unused.cubin"});
  FIEL_TRY(ToolRun run, run_tool(q, options));
  return write_file_atomic(folder / "ptxas.txt", run.output);
}

CompiledKernel describe(const Job& job, const fs::path& folder, bool cached) {
  CompiledKernel k;
  k.key = job.key;
  k.shared_object = folder / "kernel.so";
  k.ptx = folder / "kernel.ptx";
  k.compiler = "nvcc " + job.cuda.version;
  k.cached = cached;
  if (auto text = read_file(folder / "ptxas.txt")) k.resources = parse_ptxas(*text);
  return k;
}

Result<CompileOutcome> build(const Job& job, const CompileOptions& options,
                             const BuildCache& cache) {
  CompileOutcome out;
  FIEL_TRY(BuildCache::Slot slot, cache.begin());
  const fs::path& folder = slot.folder();
  std::error_code ec;
  fs::path work = folder / "source";
  fs::create_directory(work, ec);
  FIEL_TRY_STATUS(write_sources(job.sources, work));
  std::vector<std::string> words = {job.cuda.nvcc.string()};
  words.insert(words.end(), job.flags.begin(), job.flags.end());
  words.push_back("-I" + job.runtime.include_dir.string());
  words.push_back(job.sources.files[0].name.string());
  // Results beside the sources: the folder that the compiler may write to.
  std::string result = job.ptx_only ? "fiel-kernel.ptx" : "fiel-kernel.so";
  words.insert(words.end(), {"-o", result});
  if (!job.ptx_only)
    words.insert(words.end(), {"-L" + job.runtime.folder.string(), "-l:libcudart.so.13", "-Xlinker",
                               "--no-undefined"});
  FIEL_TRY(ToolRun run, run_tool(sandboxed(job, work, words), options));
  if (failed(run, options, out)) {
    if (disk_was_full(run.output, fs::space(work, ec).available))
      return fail(ErrorCode::io, "the disk of the cache is full: " + work.parent_path().string(),
                  "make room, or choose another folder with FIEL_CACHE");
    return out;
  }
  fs::rename(work / result, folder / (job.ptx_only ? "kernel.ptx" : "kernel.so"), ec);
  if (ec) return fail(ErrorCode::io, "the compiler succeeded and left no " + result);
  fs::remove_all(work, ec);
  if (!job.ptx_only) {
    FIEL_TRY_STATUS(inspect_object(folder, out));
    if (out.status != CompileStatus::compiled) return out;
  }
  if (options.resources) {
    FIEL_TRY_STATUS(ask_ptxas(job, folder, options));
  }
  FIEL_TRY(fs::path entry, cache.publish(std::move(slot), job.key));
  out.kernel = describe(job, entry, false);
  return out;
}

Result<CompileOutcome> compile(const fs::path& source, const CompileOptions& options,
                               bool ptx_only) {
  FIEL_TRY(Job job, prepare(source, options, ptx_only));
  const auto find = [&](const BuildCache& cache) -> std::optional<CompileOutcome> {
    const auto hit = options.use_cache ? cache.find(job.key) : std::nullopt;
    if (!hit) return std::nullopt;
    CompileOutcome out;
    out.kernel = describe(job, *hit, true);
    return out;
  };
  if (auto known = find(BuildCache::open(cache_dir()))) return *known;
  FIEL_TRY(const fs::path writable, writable_cache_dir());
  const BuildCache cache = BuildCache::open(writable);
  if (writable != cache_dir())
    if (auto known = find(cache)) return *known;
  return build(job, options, cache);
}

}  // namespace

Result<CompileOutcome> compile_kernel(const fs::path& source, const CompileOptions& options) {
  auto out = compile(source, options, false);
  if (!out) return fail(std::move(out).error().with_context("compiling " + source.string()));
  return out;
}

Result<CompileOutcome> compile_ptx(const fs::path& source, const CompileOptions& options) {
  auto out = compile(source, options, true);
  if (!out) return fail(std::move(out).error().with_context("compiling " + source.string()));
  return out;
}

}  // namespace fiel::build
