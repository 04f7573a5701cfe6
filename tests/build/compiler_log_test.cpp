#include "build/compiler_log.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "build/elf.h"
#include "build/runtime_files.h"
#include "build/sources.h"

namespace fiel::build {
namespace {

CompileOutcome classify(const std::string& log) {
  CompileOutcome out;
  classify_failure(log, out);
  return out;
}

TEST(CompilerLog, ErrorsComeBeforeWarnings) {
  std::string log = errors_first(
      "k.cu(3): warning #550-D: unused\n    int a;\nk.cu(9): error: expected a \";\"\n      foo "
      "bar\n"
      "      ^\nmore talk\n");
  EXPECT_EQ(log.find("k.cu(9): error"), 0u) << log;
  EXPECT_LT(log.find("foo bar"), log.find("warning"));
}

TEST(CompilerLog, ALogOfMegabytesIsCut) {
  std::string log;
  while (log.size() < 4u << 20) log += "k.cu(1): error: again\n";
  EXPECT_LE(errors_first(log).size(), 40u << 10);
}

TEST(CompilerLog, LibrariesAreNamed) {
  auto o = classify(
      "/usr/bin/ld: k.o: in function `fiel_run':\nundefined reference to `cublasSgemm_v2'\n");
  EXPECT_EQ(o.status, CompileStatus::unsupported);
  EXPECT_NE(o.message.find("cuBLAS (cublasSgemm_v2)"), std::string::npos) << o.message;
  o = classify("k.cu:2:10: fatal error: cudnn.h: No such file or directory\n");
  EXPECT_EQ(o.status, CompileStatus::unsupported);
  EXPECT_NE(o.message.find("cuDNN"), std::string::npos) << o.message;
  o = classify("k.cu:2:10: fatal error: mine.h: No such file or directory\n");
  EXPECT_EQ(o.status, CompileStatus::compile_error);
  o = classify("undefined reference to `cuModuleLoadData'\n");
  EXPECT_NE(o.message.find("driver"), std::string::npos) << o.message;
  o = classify("undefined reference to `cudaCreateTextureObject'\n");
  EXPECT_EQ(o.status, CompileStatus::unsupported);
  EXPECT_NE(o.message.find("cudaCreateTextureObject"), std::string::npos) << o.message;
  o = classify("undefined reference to `my_helper'\n");
  EXPECT_EQ(o.status, CompileStatus::compile_error);
  EXPECT_NE(o.message.find("my_helper"), std::string::npos) << o.message;
}

TEST(CompilerLog, AFullDiskIsTheMachinesFaultAndOnlyWhileItIsFull) {
  const char* log = "/usr/bin/ld: final link failed: No space left on device\n";
  EXPECT_TRUE(disk_was_full(log, 4096));
  EXPECT_FALSE(disk_was_full(log, uint64_t{1} << 30));
  EXPECT_FALSE(disk_was_full("k.cu(1): error: expected a \";\"\n", 4096));
}

TEST(CompilerLog, PtxasIsRead) {
  auto k = parse_ptxas(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z4softPf' for 'sm_90'\n"
      "ptxas info    : Function properties for _Z4softPf\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 2048 bytes smem, 372 bytes cmem[0]\n");
  ASSERT_EQ(k.size(), 1u);
  EXPECT_EQ(k[0].kernel, "_Z4softPf");
  EXPECT_EQ(k[0].registers, 40u);
  EXPECT_EQ(k[0].shared_bytes, 2048u);
  EXPECT_EQ(k[0].spill_stores, 8u);
  EXPECT_EQ(k[0].spill_loads, 12u);
  EXPECT_EQ(k[0].stack_bytes, 16u);
}

TEST(Sources, QuotedIncludesAreFollowedWithinTheFolder) {
  auto dir = TempDir::create("fiel-test-sources");
  auto p = dir->path();
  std::filesystem::create_directories(p / "k" / "sub");
  std::ofstream(p / "outside.h") << "secret";
  std::ofstream(p / "k" / "a.cu") << "#include \"sub/b.cuh\"\n #  include \"../outside.h\"\n"
                                     "#include <vector>\n#include \"/etc/hostname\"\n";
  std::ofstream(p / "k" / "sub" / "b.cuh") << "#include \"c.cuh\"\n#include \"a.cu\"\n";
  std::ofstream(p / "k" / "sub" / "c.cuh") << "#include \"b.cuh\"\n";
  auto set = collect_sources(p / "k" / "a.cu");
  ASSERT_TRUE(set) << to_string(set.error());
  ASSERT_EQ(set->files.size(), 3u);
  EXPECT_EQ(set->files[0].name, "a.cu");
  std::string before = set->digest;
  std::ofstream(p / "k" / "sub" / "c.cuh") << "// changed\n#include \"b.cuh\"\n";
  EXPECT_NE(collect_sources(p / "k" / "a.cu")->digest, before);
}

TEST(Sources, ALinkThatLeadsOutsideIsNotFollowed) {
  auto dir = TempDir::create("fiel-test-sources");
  auto p = dir->path();
  std::filesystem::create_directories(p / "k");
  std::ofstream(p / "secret.h") << "secret";
  std::filesystem::create_symlink(p / "secret.h", p / "k" / "s.h");
  std::ofstream(p / "k" / "a.cu") << "#include \"s.h\"\n";
  EXPECT_EQ(collect_sources(p / "k" / "a.cu")->files.size(), 1u);
}

TEST(Sources, ALinkToAnotherEndingIsStillCuda) {
  auto dir = TempDir::create("fiel-test-sources");
  auto p = dir->path();
  std::ofstream(p / "kernel.txt") << "__global__ void k() {}\n";
  std::filesystem::create_symlink(p / "kernel.txt", p / "a.cu");
  std::filesystem::create_symlink(p / "a.cu", p / "b.txt");
  for (const char* given : {"a.cu", "b.txt", "kernel.txt"}) {
    auto set = collect_sources(p / given);
    ASSERT_TRUE(set) << to_string(set.error());
    EXPECT_EQ(set->files[0].name, "kernel.txt.cu") << given;
  }
}

TEST(RuntimeFiles, ACacheThatCannotBeWrittenGivesWayToATemporaryFolder) {
  auto dir = TempDir::create("fiel-test-cache");
  const std::filesystem::path occupied = dir->path() / "cache";
  std::ofstream(occupied) << "a file, and root cannot make folders in it either";
  ::setenv("FIEL_CACHE", occupied.c_str(), 1);
  EXPECT_TRUE(cache_complaint().empty());
  auto files = runtime_files();
  ASSERT_TRUE(files) << to_string(files.error());
  EXPECT_EQ(*read_file(files->library), embedded_library());
  EXPECT_NE(cache_complaint().find(occupied.string()), std::string::npos);
  EXPECT_EQ(*writable_cache_dir(), *writable_cache_dir());
  ::unsetenv("FIEL_CACHE");
}

TEST(RuntimeFiles, AreExtractedOnceAndRepaired) {
  auto dir = TempDir::create("fiel-test-runtime");
  ::setenv("FIEL_CACHE", dir->path().c_str(), 1);
  auto files = runtime_files();
  ASSERT_TRUE(files) << to_string(files.error());
  EXPECT_EQ(*read_file(files->library), embedded_library());
  EXPECT_EQ(*read_file(files->include_dir / "fiel" / "kernel.h"), embedded_kernel_header());
  std::ofstream(files->library) << "damaged";
  ASSERT_TRUE(runtime_files());
  EXPECT_EQ(*read_file(files->library), embedded_library());
  ::unsetenv("FIEL_CACHE");
}

TEST(RuntimeFiles, TheStandInExportsTheRuntimeAndNothingElse) {
  std::string_view library = embedded_library();
  auto names = elf_exports({reinterpret_cast<const uint8_t*>(library.data()), library.size()});
  size_t cuda = 0;
  for (const std::string& n : names) {
    bool ours = n.rfind("cuda", 0) == 0 || n.rfind("__cuda", 0) == 0 || n.rfind("__fiel", 0) == 0 ||
                n.rfind("libcudart.so", 0) == 0;
    EXPECT_TRUE(ours) << n;
    cuda += n.rfind("cuda", 0) == 0;
  }
  EXPECT_GE(cuda, 150u);
}

TEST(Elf, GarbageHasNoSections) {
  std::string text =
      "\x7f"
      "ELF\x02 and then nothing of use, for quite a while longer than a header is";
  std::span<const uint8_t> b(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  EXPECT_FALSE(elf_section(b, ".nv_fatbin"));
  EXPECT_TRUE(elf_exports(b).empty());
}

}  // namespace
}  // namespace fiel::build
