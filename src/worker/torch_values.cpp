#include "worker/torch_values.h"

#include <algorithm>
#include <limits>

namespace fiel::worker {
namespace {

constexpr size_t kMaxRank = 16, kMaxLeaves = 1u << 16;

std::vector<int64_t> read_extents(const Json& json) {
  std::vector<int64_t> out;
  for (const Json& n : json.items())
    if (out.size() < kMaxRank) out.push_back(n.as_int());
  return out;
}

struct DTypeName {
  const char* torch;
  DType dtype;
};
constexpr DTypeName kDTypeNames[] = {
    {"float64", DType::f64},   {"float32", DType::f32},        {"float16", DType::f16},
    {"bfloat16", DType::bf16}, {"float8_e4m3fn", DType::e4m3}, {"float8_e5m2", DType::e5m2},
    {"int64", DType::i64},     {"int32", DType::i32},          {"int16", DType::i16},
    {"int8", DType::i8},       {"uint8", DType::u8},           {"bool", DType::boolean}};

}  // namespace

std::optional<DType> dtype_of(const Leaf& leaf) {
  for (const DTypeName& n : kDTypeNames)
    if (leaf.dtype == n.torch) return n.dtype;
  return std::nullopt;
}

std::string torch_name(DType dtype) {
  for (const DTypeName& n : kDTypeNames)
    if (dtype == n.dtype) return n.torch;
  return "float32";  // tf32 is stored as that
}

double read_number(const Json& json, double fallback) {
  if (!json.is_string()) return json.as_double(fallback);
  const std::string& text = json.as_string();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return fallback;
}

uint64_t read_count(const Json& json) {
  const int64_t n = json.as_int();
  return n > 0 ? static_cast<uint64_t>(n) : 0;
}

std::vector<std::string> read_strings(const Json& json) {
  std::vector<std::string> out;
  for (const Json& s : json.items()) out.push_back(s.as_string());
  return out;
}

Leaf read_leaf(const Json& json) {
  return {json["path"].as_string(), json["dtype"].as_string(), read_extents(json["shape"]),
          read_extents(json["stride"]), read_count(json["offset"])};
}

std::vector<Leaf> read_leaves(const Json& json) {
  std::vector<Leaf> out;
  for (const Json& leaf : json.items())
    if (out.size() < kMaxLeaves) out.push_back(read_leaf(leaf));
  return out;
}

TorchFacts read_facts(const Json& json) {
  TorchFacts f;
  f.torch = json["torch"].as_string();
  f.python = json["python"].as_string();
  f.cuda = json["cuda"].as_string();
  f.driver = json["driver"].as_string();
  f.device_name = json["device_name"].as_string();
  f.device_uuid = json["device_uuid"].as_string();
  const Json& capability = json["compute_capability"];
  f.compute_capability = capability.as_string();
  if (capability.size() == 2 && capability.is_array())  // [9, 0]
    f.compute_capability = std::to_string(capability.items()[0].as_int()) + "." +
                           std::to_string(capability.items()[1].as_int());
  f.memory_bytes = read_count(json["memory_bytes"]);
  f.l2_bytes = read_count(json["l2_bytes"]);
  f.multiprocessors =
      static_cast<int>(std::min<int64_t>(json["multiprocessors"].as_int(), 1 << 20));
  f.notes = read_strings(json["notes"]);
  f.no_compile = json["no_compile"].as_string();
  return f;
}

}  // namespace fiel::worker
