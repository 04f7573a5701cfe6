#include "cli/pairing.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : dir_(std::move(*TempDir::create("pairing"))) {}
  std::string add(const std::string& name, const std::string& text = "x") {
    fs::create_directories((dir_.path() / name).parent_path());
    std::ofstream(dir_.path() / name) << text;
    return (dir_.path() / name).string();
  }
  std::string at(const std::string& name) const { return (dir_.path() / name).string(); }

 private:
  TempDir dir_;
};

TEST(Pairing, KernelBenchNamesSayLevelProblemAndSample) {
  const auto task = kernelbench_task("KernelBench/level2/40_Matmul_Scaling.py");
  ASSERT_TRUE(task);
  EXPECT_EQ(task->level, 2);
  EXPECT_EQ(task->problem, 40);
  const auto sample = kernelbench_sample("runs/a/level_2_problem_40_sample_13_kernel.py");
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->level, 2);
  EXPECT_EQ(sample->problem, 40);
  EXPECT_EQ(sample->sample, 13);
  for (const char* other : {"softmax.toml", "level1/Softmax.py", "12", "99999999999999999999_x.py"})
    EXPECT_FALSE(kernelbench_task(other)) << other;
  for (const char* other : {"level_1_sample_0.py", "problem_1.py", "kernel.cu"})
    EXPECT_FALSE(kernelbench_sample(other)) << other;
}

TEST(Pairing, ByNumberAcrossLevelsByStemAndByFolder) {
  Folder f;
  const std::string one = f.add("t/level1/1_A.py"), other = f.add("t/level2/1_B.py");
  const std::string softmax = f.add("t/softmax.toml");
  const std::string k0 = f.add("k/level_1_problem_1_sample_0_kernel.py");
  const std::string k1 = f.add("k/level_2_problem_1_sample_1_kernel.py");
  const std::string stem = f.add("k/softmax.cu"), inside = f.add("k/softmax/online.cu");
  f.add("k/level_3_problem_1_sample_0_kernel.py");
  f.add("k/stranger.cu");
  f.add("k/notes.txt");
  const auto p = pair_files(f.at("t"), f.at("k"));
  ASSERT_TRUE(p) << to_string(p.error());
  ASSERT_EQ(p->entries.size(), 4u);
  EXPECT_EQ(p->entries[0].task, one);
  EXPECT_EQ(p->entries[0].kernel, k0);
  EXPECT_EQ(p->entries[0].problem, "1/1");
  EXPECT_EQ(p->entries[0].sample, 0);
  EXPECT_EQ(p->entries[1].task, other);
  EXPECT_EQ(p->entries[1].kernel, k1);
  EXPECT_EQ(p->entries[2].kernel, stem);
  EXPECT_EQ(p->entries[3].kernel, inside);
  EXPECT_EQ(p->entries[3].problem, "softmax");
  EXPECT_EQ(p->unpaired.size(), 2u);
}

TEST(Pairing, AWorkFolderIsOneKernel) {
  Folder f;
  const std::string square = f.add("t/square.py");
  f.add("t/level1/23_Softmax.py");
  for (const char* run : {"square", "square/second", "level_1_problem_23_sample_4", "stranger"})
    for (const char* file : {"/model_new.py", "/model.py", "/binding.cpp", "/kernels/square.cu"})
      f.add(std::string("runs/") + run + file);
  f.add("runs/square.cu");
  const auto p = pair_files(f.at("t"), f.at("runs"));
  ASSERT_TRUE(p) << to_string(p.error());
  std::vector<std::string> kernels;
  for (const store::Entry& e : p->entries) kernels.push_back(e.kernel);
  EXPECT_EQ(kernels, (std::vector<std::string>{f.at("runs/level_1_problem_23_sample_4"),
                                               f.at("runs/square"), f.at("runs/square.cu")}));
  EXPECT_EQ(p->entries[0].sample, 4);
  EXPECT_EQ(p->entries[1].task, square);
  EXPECT_EQ(p->unpaired, std::vector<std::string>{f.at("runs/stranger")});
  const auto one = pair_files(f.at("t"), f.at("runs/square"));
  ASSERT_TRUE(one) << to_string(one.error());
  ASSERT_EQ(one->entries.size(), 1u);
  EXPECT_EQ(one->entries[0].kernel, f.at("runs/square"));
  EXPECT_EQ(pair_files(f.at("t"), f.at("runs/squ*"))->entries.size(), 2u);
}

TEST(Pairing, GlobsNameFilesAndWhatMatchesNothingIsAnError) {
  Folder f;
  f.add("t/a.toml");
  f.add("t/b.toml");
  f.add("k/a.cu");
  f.add("k/b.cu");
  const auto p = pair_files(f.at("t/a*.toml"), f.at("k/*.cu"));
  ASSERT_TRUE(p);
  EXPECT_EQ(p->entries.size(), 1u);
  EXPECT_EQ(p->unpaired.size(), 1u);
  EXPECT_EQ(pair_files(f.at("none*"), f.at("k")).error().code, ErrorCode::not_found);
}

TEST(Pairing, TasksThatShareANameAreRefusedRatherThanGuessed) {
  Folder f;
  f.add("t/x/a.toml");
  f.add("t/y/a.toml");
  f.add("k/a.cu");
  EXPECT_EQ(pair_files(f.at("t"), f.at("k")).error().code, ErrorCode::usage);
}

TEST(Pairing, AManifestNamesPairsRelativeToItself) {
  Folder f;
  const std::string good = f.add("m/pairs.jsonl",
                                 "{\"task\": \"a.toml\", \"kernel\": \"k.cu\"}\n\n"
                                 "{\"task\": \"/t/b.py\", \"kernel\": \"/k.py\", \"problem\": 7, "
                                 "\"sample\": 3, \"note\": [1]}\n");
  const auto entries = read_manifest(good);
  ASSERT_TRUE(entries) << to_string(entries.error());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].task, f.at("m/a.toml"));
  EXPECT_EQ((*entries)[1].task, "/t/b.py");
  EXPECT_EQ((*entries)[1].problem, "7");
  EXPECT_EQ((*entries)[1].sample, 3);
  for (const char* bad : {"{\"task\": \"a\"}", "[1]", "{", "{\"task\": 1, \"kernel\": 2}"}) {
    const auto refused = read_manifest(f.add("m/bad.jsonl", bad));
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::parse) << bad;
    EXPECT_NE(to_string(refused.error()).find("bad.jsonl:1"), std::string::npos) << bad;
  }
}

}  // namespace
}  // namespace fiel::cli
