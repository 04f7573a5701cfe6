// The text that `fiel init` writes: a kernel that compiles, says what it gets, and computes nothing
// yet.
//
//   std::string text = bare_skeleton({.task = "task.py", .inputs = …, .outputs = …});
//
// It starts wrong on purpose: fiel_run returns FIEL_UNSUPPORTED, forward raises
// NotImplementedError.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fiel::kernel {

struct SkeletonTensor {
  std::string name;
  std::string dtype;  ///< "f32", "i64" …: names of tensor/dtype.h
  std::vector<int64_t> shape;
  std::string note;  ///< "argument of forward", "parameter", "buffer"
};

struct Skeleton {
  std::string task;  ///< as the user named it
  std::vector<SkeletonTensor> inputs, outputs;
  std::string constructor;  ///< ModelNew: names of __init__'s arguments, "" for none
  std::vector<std::string> not_passed = {};  ///< forward's arguments that are no tensors
};

std::string bare_skeleton(const Skeleton& skeleton);
/// forward takes the tensors whose note is kForwardArgument.
std::string module_skeleton(const Skeleton& skeleton);

inline constexpr const char* kForwardArgument = "argument of forward";

}  // namespace fiel::kernel
