// What is shown of a failed build.
#include "judge/torch/compiler_words.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "judge/torch/fault.h"

namespace fiel::judge::torch {
namespace {

const char* const kNvcc =
    "Traceback (most recent call last):\n"
    "  File \"/usr/lib/python3/cpp_extension.py\", line 2506, in _run_ninja_build\n"
    "    subprocess.run(\n"
    "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.\n"
    "RuntimeError: Error building extension 'scale': [1/3] nvcc -DTORCH_EXTENSION_NAME=scale\n"
    "FAILED: cuda.cuda.o\n"
    "/tmp/x/cuda.cu(7): error: identifier \"blokIdx\" is undefined\n"
    "    int i = blokIdx.x;\n"
    "            ^\n"
    "\n"
    "/tmp/x/cuda.cu(9): error: expected a \";\"\n"
    "1 error detected in the compilation\n"
    "ninja: build stopped: subcommand failed.\n";

TEST(CompilerWords, ErrorsComeFirstAndTheFrameIsLeftOut) {
  const std::string words = compiler_words(kNvcc);
  EXPECT_TRUE(words.starts_with("/tmp/x/cuda.cu(7): error:")) << words;
  EXPECT_NE(words.find("cuda.cu(9): error"), std::string::npos);
  EXPECT_EQ(words.find("Traceback"), std::string::npos);
  EXPECT_EQ(words.find("ninja"), std::string::npos);
  EXPECT_EQ(first_error(kNvcc), "/tmp/x/cuda.cu(7): error: identifier \"blokIdx\" is undefined");
}

TEST(CompilerWords, AFloodIsCut) {
  std::string flood;
  for (int i = 0; i < 5000; ++i) flood += "a.cpp:1:1: error: " + std::string(5000, 'x') + "\n";
  const std::string words = compiler_words(flood);
  EXPECT_EQ(static_cast<size_t>(std::count(words.begin(), words.end(), '\n')), kCompilerLines);
  EXPECT_LT(words.size(), 20'000u);
}

TEST(CompilerWords, WithoutAnErrorTheEndIsShown) {
  const std::string words = compiler_words("Traceback\n  File \"a.py\"\nSyntaxError: bad\n");
  EXPECT_NE(words.find("SyntaxError: bad"), std::string::npos);
  EXPECT_EQ(first_error("nothing of the kind"), "");
  EXPECT_EQ(compiler_words(""), "\n");
}

TEST(CompilerWords, AreTheVerdictsReason) {
  worker::WorkerFault fault;
  fault.kind = worker::Fault::candidate;
  fault.what = "RuntimeError: Error building extension 'scale': [1/3] nvcc -DTORCH";
  fault.detail = kNvcc;
  const FaultVerdict v = verdict_of(fault, Stage::loading);
  EXPECT_EQ(v.status, VerdictStatus::compile_error);
  EXPECT_NE(v.reason.find("identifier \"blokIdx\" is undefined"), std::string::npos) << v.reason;
  EXPECT_TRUE(v.output.starts_with("/tmp/x/cuda.cu(7)")) << v.output;
}

}  // namespace
}  // namespace fiel::judge::torch
