// Which Python is taken, and that the embedded package is what runs.
#include "worker/python_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/files.h"
#include "base/process.h"
#include "places.h"
#include "worker/python_package.h"

namespace fiel::worker {
namespace {
namespace fs = std::filesystem;

/// A program that answers find_python's question.
fs::path fake_python(const TempDir& folder, const std::string& name, const std::string& torch) {
  fs::path path = folder.path() / name;
  std::ofstream(path)
      << "#!/bin/sh\necho '{\"version\": \"3.99\", \"torch\": \"" << torch
      << "\", \"paths\": [\"/usr/lib\", \"/usr/lib/x86_64-linux-gnu\", \"/\", \"\", "
         "\"relative\", \"/no/such/folder\"]}'\n";
  fs::permissions(path, fs::perms(0755));
  return path;
}

TEST(PythonEnvironment, TheNamedOneIsTaken) {
  auto folder = TempDir::create("fiel-test-python");
  auto e = find_python(fake_python(*folder, "python", "2.9").string());
  ASSERT_TRUE(e) << to_string(e.error());
  EXPECT_EQ(e->torch, "2.9");
  EXPECT_EQ(e->origin, "--python");
  EXPECT_EQ(e->roots, std::vector<fs::path>{"/usr/lib"});
}

TEST(PythonEnvironment, TheVariableComesBeforePath) {
  auto folder = TempDir::create("fiel-test-python");
  ::setenv("FIEL_PYTHON", fake_python(*folder, "python", "2.8").c_str(), 1);
  auto e = find_python();
  ::unsetenv("FIEL_PYTHON");
  ASSERT_TRUE(e) << to_string(e.error());
  EXPECT_EQ(e->origin, "FIEL_PYTHON");
}

TEST(PythonEnvironment, WithoutTorchTheRemedyIsACommand) {
  auto folder = TempDir::create("fiel-test-python");
  auto e = find_python(fake_python(*folder, "python", "").string());
  ASSERT_FALSE(e);
  EXPECT_NE(e.error().what.find("has no torch"), std::string::npos) << e.error().what;
  EXPECT_NE(e.error().hint.find("pip install torch"), std::string::npos) << e.error().hint;
}

TEST(PythonEnvironment, WhatIsNoPythonIsSaidToBeNone) {
  auto e = find_python("/bin/true");
  ASSERT_FALSE(e);
  EXPECT_NE(e.error().what.find("does not answer"), std::string::npos);
  e = find_python("/no/such/python");
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().code, ErrorCode::not_found);
}

TEST(PythonPackage, TheZipIsWrittenAndRepaired) {
  auto folder = TempDir::create("fiel-test-cache");
  const char* before = std::getenv("FIEL_CACHE");
  const std::string kept = before ? before : "";
  ::setenv("FIEL_CACHE", folder->path().c_str(), 1);
  auto package = python_package();
  ASSERT_TRUE(package) << to_string(package.error());
  auto bytes = read_file(package->path);
  std::ofstream(package->path) << "something else";
  auto again = python_package();
  EXPECT_EQ(*read_file(again->path), *bytes);
  ProcessRequest q;
  q.arguments = {"python3", "-c",
                 "import sys; sys.path = [sys.argv[1]] + sys.path; "
                 "import fiel_worker; print(fiel_worker.VERSION)",
                 again->path.string()};
  auto r = run_process(q);
  before ? ::setenv("FIEL_CACHE", kept.c_str(), 1) : ::unsetenv("FIEL_CACHE");
  EXPECT_EQ(r->out, "1\n") << r->err;
}

TEST(PythonPackage, ASourceFolderMayStandInForIt) {
  ::setenv("FIEL_WORKER_PYTHON", in_source("src/worker/python").c_str(), 1);
  auto package = python_package();
  ::setenv("FIEL_WORKER_PYTHON", "/usr", 1);
  auto wrong = python_package();
  ::unsetenv("FIEL_WORKER_PYTHON");
  ASSERT_TRUE(package);
  EXPECT_EQ(package->path, in_source("src/worker/python"));
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace fiel::worker
