#include "build/toolchain.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <vector>

#include "base/files.h"

namespace fiel::build {
namespace {
namespace fs = std::filesystem;

/// A machine of its own: no variable names a toolkit, PATH has none, and nothing is installed.
struct ToolchainTest : ::testing::Test {
  // nvcc's answers are kept by path: no two tests may share one.
  TempDir folder = *TempDir::create("fiel-test-toolchain");
  fs::path usual = folder.path() / "usual", path = folder.path() / "path";

  struct Variable {
    std::string name;
    std::optional<std::string> before;
  };
  std::vector<Variable> variables;

  void set(const std::string& name, const std::string& value) {
    const char* before = std::getenv(name.c_str());
    variables.push_back({name, before ? std::optional<std::string>(before) : std::nullopt});
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  void SetUp() override {
    for (const char* name :
         {"FIEL_NVCC", "CUDA_HOME", "CUDA_PATH", "FIEL_CUDA_WHEELS", "FIEL_HIDE_CUDA"})
      set(name, "");
    fs::create_directories(path);
    set("PATH", path.string());  // all that a fake needs is /bin/sh
    set("FIEL_CACHE", (folder.path() / "cache").string());
  }
  void TearDown() override {
    for (auto v = variables.rbegin(); v != variables.rend(); ++v)
      if (v->before)
        ::setenv(v->name.c_str(), v->before->c_str(), 1);
      else
        ::unsetenv(v->name.c_str());
  }

  /// A program that answers --version as nvcc does.
  fs::path fake_nvcc(const fs::path& nvcc, const std::string& version) {
    fs::create_directories(nvcc.parent_path());
    std::ofstream(nvcc) << "#!/bin/sh\necho 'Cuda compilation tools, release 1.0, V" << version
                        << "'\n";
    fs::permissions(nvcc, fs::perms::owner_all);
    return nvcc;
  }
  fs::path fake_toolkit(const fs::path& root, const std::string& version) {
    return fake_nvcc(root / "bin" / "nvcc", version), root;
  }
  std::string found() {
    auto t = find_toolchain(usual);
    return t ? t->version + " by " + t->origin : t.error().what;
  }
};

TEST_F(ToolchainTest, NowhereIsAnErrorWithTheCommandThatBringsOne) {
  auto t = find_toolchain(usual);
  ASSERT_FALSE(t) << t->nvcc;
  EXPECT_EQ(t.error().code, ErrorCode::environment);
  EXPECT_NE(t.error().hint.find("CUDA_HOME"), std::string::npos);
  EXPECT_NE(t.error().hint.find("pip install nvidia-cuda-nvcc"), std::string::npos);
  EXPECT_NE(t.error().hint.find((folder.path() / "cache" / "cuda").string()), std::string::npos);
}

/// From the last place to the first: each new one goes before all that are there already.
TEST_F(ToolchainTest, EachPlaceIsFoundAndGoesBeforeThoseBehindIt) {
  const fs::path cache = folder.path() / "cache" / "cuda", wheels = folder.path() / "wheels";
  const std::string site = "lib/python3.11/site-packages/nvidia/";
  fake_toolkit(cache / (site + "cuda_nvcc"), "12.1.1");
  EXPECT_EQ(found(), "12.1.1 by PyPI wheels in " + cache.string());
  fake_toolkit(cache / (site + "cu13"), "13.1.1");
  EXPECT_EQ(found(), "13.1.1 by PyPI wheels in " + cache.string());
  fake_toolkit(wheels / (site + "cu13"), "13.1.2");
  set("FIEL_CUDA_WHEELS", wheels.string());
  EXPECT_EQ(found(), "13.1.2 by PyPI wheels in " + wheels.string());
  fake_toolkit(usual / "cuda-9.2", "9.2.3");
  EXPECT_EQ(found(), "9.2.3 by " + (usual / "cuda-9.2").string());
  fake_toolkit(usual / "cuda-13.0", "13.0.4");
  EXPECT_EQ(found(), "13.0.4 by " + (usual / "cuda-13.0").string()) << "9 is not newer than 13";
  fake_toolkit(usual / "cuda", "12.8.5");
  EXPECT_EQ(found(), "12.8.5 by " + (usual / "cuda").string());
  fake_nvcc(path / "nvcc", "12.8.6");
  EXPECT_EQ(found(), "12.8.6 by PATH");
  set("CUDA_PATH", fake_toolkit(folder.path() / "named by path", "12.8.7").string());
  EXPECT_EQ(found(), "12.8.7 by CUDA_PATH");
  set("CUDA_HOME", fake_toolkit(folder.path() / "named by home", "12.8.8").string());
  EXPECT_EQ(found(), "12.8.8 by CUDA_HOME");
  set("FIEL_NVCC", fake_nvcc(folder.path() / "odd" / "nvcc-of-mine", "12.8.9").string());
  EXPECT_EQ(found(), "12.8.9 by FIEL_NVCC");
  set("FIEL_HIDE_CUDA", "1");
  EXPECT_EQ(found(), "13.1.2 by PyPI wheels in " + wheels.string());
}

TEST_F(ToolchainTest, ItsFolderIsWhereTheLinkLeads) {
  const fs::path real = fake_toolkit(folder.path() / "opt" / "toolkit", "13.2.64");
  fs::create_symlink(real / "bin" / "nvcc", path / "nvcc");
  auto t = find_toolchain(usual);
  ASSERT_TRUE(t) << to_string(t.error());
  EXPECT_EQ(t->root, fs::canonical(real));
  EXPECT_EQ(t->nvcc, fs::canonical(real / "bin" / "nvcc"));
  EXPECT_EQ(t->major, 13);
  EXPECT_EQ(t->minor, 2);
}

TEST_F(ToolchainTest, TheSameCompilerFoundInAnotherWaySaysSo) {
  const fs::path toolkit = fake_toolkit(usual / "cuda", "13.0.1");
  EXPECT_EQ(found(), "13.0.1 by " + toolkit.string());
  set("CUDA_HOME", toolkit.string());
  EXPECT_EQ(found(), "13.0.1 by CUDA_HOME");
}

TEST_F(ToolchainTest, ABrokenOneIsPassedOverAndToldOnlyWhereNoneWorks) {
  const fs::path broken = usual / "cuda" / "bin" / "nvcc";
  fs::create_directories(broken.parent_path());
  std::ofstream(broken) << "#!/bin/sh\nexit 1\n";
  fs::permissions(broken, fs::perms::owner_all);
  EXPECT_NE(found().find("does not answer as nvcc does"), std::string::npos) << found();
  fake_toolkit(usual / "cuda-12.9", "12.9.1");
  EXPECT_EQ(found(), "12.9.1 by " + (usual / "cuda-12.9").string());
}

TEST_F(ToolchainTest, ANameThatLeadsNowhereIsNotPassedOver) {
  fake_toolkit(usual / "cuda", "13.0.1");
  set("FIEL_NVCC", (folder.path() / "none").string());
  auto t = find_toolchain(usual);
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace fiel::build
