// What travels between judge and PyTorch workers, as C++ sees it (docs/torch-workers.md#values).
// Nested values stay opaque Json; only leaves are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tensor/dtype.h"

namespace fiel::worker {

/// One tensor of a value. dtype is PyTorch's name without "torch."; strides are in elements.
struct Leaf {
  std::string path, dtype;
  std::vector<int64_t> shape, stride;
  uint64_t offset = 0;  ///< from the window's begin, where it has a place
};
Leaf read_leaf(const Json& json);
/// Its dtype as a bare kernel knows it; nothing for one that fiel/kernel.h lacks (complex64).
std::optional<DType> dtype_of(const Leaf& leaf);
std::string torch_name(DType dtype);  ///< "float32"
std::vector<Leaf> read_leaves(const Json& json);

/// JSON has no NaN and no infinity: they travel as "nan", "inf", "-inf".
double read_number(const Json& json, double fallback = 0);
uint64_t read_count(const Json& json);
std::vector<std::string> read_strings(const Json& json);

/// What a worker answers to hello. Of a candidate's process: a claim.
struct TorchFacts {
  std::string torch, python, cuda, driver, device_name, device_uuid, compute_capability;
  uint64_t memory_bytes = 0, l2_bytes = 0;
  int multiprocessors = 0;
  std::vector<std::string> notes;  ///< what is missing and what it costs
  std::string no_compile;          ///< why torch.compile is not used; empty where it is
};
TorchFacts read_facts(const Json& json);

}  // namespace fiel::worker
