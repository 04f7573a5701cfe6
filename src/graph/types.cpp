#include "graph/types.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace fiel::graph {

tl::unexpected<Error> refuse(std::string message, std::string hint) {
  return fail(ErrorCode::usage, std::move(message), std::move(hint));
}

std::string to_string(const TensorType& t) {
  return std::string(name_of(t.dtype)) + fiel::to_string(t.shape);
}

std::string argument_name(const Call& call, size_t slot) {
  size_t index = 0;
  for (const Parameter& p : call.op->parameters) {
    if (p.kind == ParameterKind::attribute) continue;
    if (p.kind == ParameterKind::tensors) return fmt::format("{}[{}]", p.name, slot - index);
    if (index++ == slot) return p.name;
  }
  return "argument";
}

int64_t saturating_product(const Shape& shape) {
  int64_t product = 1;
  for (int64_t extent : shape) {
    if (extent == 0) return 0;
    if (__builtin_mul_overflow(product, extent, &product))
      product = std::numeric_limits<int64_t>::max();
  }
  return product;
}

Status check_shape(const Shape& shape) {
  if (static_cast<int64_t>(shape.size()) > kMaxRank)
    return refuse(fmt::format("a tensor of rank {}; the most is {}", shape.size(), kMaxRank));
  int64_t product = 1;
  for (int64_t extent : shape) {
    if (extent < 0) return refuse(fmt::format("a negative extent in {}", fiel::to_string(shape)));
    // Zero extents do not excuse the others: strides are products of them.
    if (__builtin_mul_overflow(product, std::max<int64_t>(extent, 1), &product) ||
        product > kMaxElements)
      return fail(ErrorCode::limit, fmt::format("a tensor of shape {} is beyond the bound of 2^40 "
                                                "elements",
                                                fiel::to_string(shape)));
  }
  return {};
}

Result<Types> one(DType dtype, Shape shape) {
  FIEL_TRY_STATUS(check_shape(shape));
  return Types{{dtype, std::move(shape)}};
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t x = i < out.size() - a.size() ? 1 : a[i - (out.size() - a.size())];
    int64_t y = i < out.size() - b.size() ? 1 : b[i - (out.size() - b.size())];
    if (x != y && x != 1 && y != 1)
      return refuse(fmt::format("shapes {} and {} do not broadcast: {} against {} in dimension {}",
                                fiel::to_string(a), fiel::to_string(b), x, y, i));
    out[i] = x == 1 ? y : x;
  }
  return out;
}

Result<Shape> broadcast_all(const Call& call) {
  Shape out;
  for (size_t slot = 0; slot < call.inputs.size(); ++slot) {
    if (!call.given(slot)) continue;
    FIEL_TRY(out, broadcast(out, call.shape(slot)));
  }
  return out;
}

namespace {

int category(DType t) { return is_floating(t) ? 2 : t == DType::boolean ? 0 : 1; }

DType promote_floating(DType a, DType b) {
  auto rank = [](DType t) { return t == DType::f64 ? 2 : t == DType::f32 ? 1 : 0; };
  if (rank(a) != rank(b)) return rank(a) > rank(b) ? a : b;
  auto wide = [](DType t) { return size_of(t) == 1 ? 0 : 1; };
  if (wide(a) != wide(b)) return wide(a) ? a : b;
  return DType::f32;  // f16 with bf16, e4m3 with e5m2: the first that holds both
}

DType promote_integer(DType a, DType b) {
  if (a == DType::u8 || b == DType::u8) {
    DType other = a == DType::u8 ? b : a;
    return other == DType::i8 ? DType::i16 : other;
  }
  return size_of(a) >= size_of(b) ? a : b;
}

DType promote_over(const Call& call, const std::vector<size_t>& slots) {
  // The three classes of Note [Type promotion] in PyTorch: with dimensions, without, numbers.
  std::optional<DType> classes[3];
  for (size_t slot : slots) {
    if (!call.given(slot)) continue;
    const ArgumentType& a = call.inputs[slot];
    auto& into = classes[a.weak ? 2 : a.type.shape.empty() ? 1 : 0];
    into = into ? promote(*into, a.type.dtype) : a.type.dtype;
  }
  std::optional<DType> result;
  for (const auto& c : classes)
    if (c && (!result || category(*c) > category(*result))) result = c;
  return result.value_or(DType::f32);
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  return is_floating(a) ? promote_floating(a, b) : promote_integer(a, b);
}

DType promote_all(const Call& call) {
  std::vector<size_t> slots(call.inputs.size());
  for (size_t i = 0; i < slots.size(); ++i) slots[i] = i;
  return promote_over(call, slots);
}

DType promote_slots(const Call& call, std::initializer_list<size_t> slots) {
  return promote_over(call, slots);
}

DType floating_or_default(DType t) { return is_floating(t) ? t : DType::f32; }

Result<int64_t> normalize_dim(int64_t dim, size_t rank) {
  int64_t n = std::max<int64_t>(static_cast<int64_t>(rank), 1);
  if (dim < -n || dim >= n)
    return refuse(fmt::format("dim {} is outside [{}, {}]", dim, -n, n - 1));
  return dim < 0 ? dim + n : dim;
}

Result<std::vector<int64_t>> normalize_dims(const std::vector<int64_t>& dims, size_t rank) {
  std::vector<int64_t> out;
  if (dims.empty())
    for (size_t i = 0; i < rank; ++i) out.push_back(static_cast<int64_t>(i));
  for (int64_t d : dims) {
    FIEL_TRY(int64_t n, normalize_dim(d, rank));
    if (std::find(out.begin(), out.end(), n) != out.end())
      return refuse(fmt::format("dim {} appears twice", d));
    out.push_back(n);
  }
  if (rank == 0) out.clear();
  std::sort(out.begin(), out.end());
  return out;
}

Status need_floating(const Call& call, size_t slot) {
  if (!call.given(slot) || is_floating(call.type(slot).dtype)) return {};
  return refuse(fmt::format("{} must be floating, not {}", argument_name(call, slot),
                            name_of(call.type(slot).dtype)),
                "cast it: to(x, \"f32\")");
}

Status need_integer(const Call& call, size_t slot) {
  if (!call.given(slot)) return {};
  DType t = call.type(slot).dtype;
  if (!is_floating(t) && t != DType::boolean) return {};
  return refuse(
      fmt::format("{} must hold integers, not {}", argument_name(call, slot), name_of(t)));
}

Status need_rank(const Call& call, size_t slot, size_t least, size_t most) {
  if (!call.given(slot)) return {};
  size_t rank = call.shape(slot).size();
  if (rank >= least && rank <= most) return {};
  std::string wanted = least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  return refuse(fmt::format("{} must have rank {}, not {} (shape {})", argument_name(call, slot),
                            wanted, rank, fiel::to_string(call.shape(slot))));
}

std::optional<DType> dtype_of_name(const std::string& name) {
  if (auto t = parse_dtype(name)) return t;
  static constexpr std::pair<const char*, DType> kTorchNames[] = {
      {"float64", DType::f64},   {"double", DType::f64},         {"float32", DType::f32},
      {"float", DType::f32},     {"float16", DType::f16},        {"half", DType::f16},
      {"bfloat16", DType::bf16}, {"float8_e4m3fn", DType::e4m3}, {"float8_e5m2", DType::e5m2},
      {"int8", DType::i8},       {"int16", DType::i16},          {"int32", DType::i32},
      {"int", DType::i32},       {"int64", DType::i64},          {"long", DType::i64},
      {"uint8", DType::u8}};
  for (const auto& [torch_name, t] : kTorchNames)
    if (name == torch_name) return t;
  return std::nullopt;
}

Result<DType> dtype_attribute(const Call& call, std::string_view name, DType otherwise) {
  if (!call.has(name)) return otherwise;
  std::string text = call.text(name);
  if (auto t = dtype_of_name(text)) return *t;
  return refuse(fmt::format("'{}' is no dtype", text),
                "f64 f32 tf32 f16 bf16 e4m3 e5m2 i8 i16 i32 i64 u8 bool");
}

Work elementwise_cost(const Call& call) {
  return {static_cast<double>(saturating_product(call.results[0].shape)), 0};
}

Work free_cost(const Call&) { return {}; }

}  // namespace fiel::graph
