#include "forge/emit.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "forge/scalar_operators.h"

namespace fiel::forge {
namespace {

constexpr std::string_view kPrelude = R"(// @what@
#include <fiel/kernel.h>
@includes@
namespace {

template <int kBytes> struct Word;
template <> struct Word<1> { using type = unsigned char; };
template <> struct Word<2> { using type = unsigned short; };
template <> struct Word<4> { using type = unsigned; };
template <> struct Word<8> { using type = uint2; };
template <> struct Word<16> { using type = uint4; };

template <typename T, int V> struct alignas(sizeof(T) * V > 16 ? 16 : sizeof(T) * V) Pack {
  T v[V];
  static constexpr int kBytes = sizeof(T) * V > 16 ? 16 : sizeof(T) * V;
  static constexpr int kWords = sizeof(T) * V / kBytes;
  using W = typename Word<kBytes>::type;
};

/// Read once: past by the caches where that is asked for.
template <typename T, int V> __device__ Pack<T, V> load(const T* p) {
  using P = Pack<T, V>;
  P pack;
  const typename P::W* from = reinterpret_cast<const typename P::W*>(p);
  typename P::W* to = reinterpret_cast<typename P::W*>(&pack);
#pragma unroll
  for (int i = 0; i < P::kWords; ++i) to[i] = @load@(from + i);
  return pack;
}

/// Read by many.
template <typename T, int V> __device__ Pack<T, V> load_shared(const T* p) {
  using P = Pack<T, V>;
  P pack;
  const typename P::W* from = reinterpret_cast<const typename P::W*>(p);
  typename P::W* to = reinterpret_cast<typename P::W*>(&pack);
#pragma unroll
  for (int i = 0; i < P::kWords; ++i) to[i] = __ldg(from + i);
  return pack;
}

template <typename T, int V> __device__ void store(T* p, const Pack<T, V>& pack) {
  using P = Pack<T, V>;
  typename P::W* to = reinterpret_cast<typename P::W*>(p);
  const typename P::W* from = reinterpret_cast<const typename P::W*>(&pack);
#pragma unroll
  for (int i = 0; i < P::kWords; ++i) @store@;
}

@conversions@
template <typename T> __device__ T rounded(float v);
@roundings@@multiprocessors@
bool aligned(const fiel_tensor& t, unsigned bytes) {
  return reinterpret_cast<unsigned long long>(t.data) % bytes == 0;
}
)";

constexpr std::string_view kMultiprocessors = R"(
int multiprocessors() {
  static const int n = [] {
    int device = 0, count = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count > 0 ? count : 132;
  }();
  return n;
}
)";

struct TypeText {
  const char *type, *include, *number, *rounded;
};
constexpr TypeText kTypes[] = {
    {"float", "", "v", "v"},
    {"unsigned char", "", "v", "v != 0.f"},
    {"long long", "", "(float)v", "(long long)v"},
    {"__half", "#include <cuda_fp16.h>\n", "__half2float(v)", "__float2half_rn(v)"},
    {"__nv_bfloat16", "#include <cuda_bf16.h>\n", "__bfloat162float(v)", "__float2bfloat16_rn(v)"},
};

bool uses(const std::vector<Operand>& operands, std::string_view type) {
  return std::any_of(operands.begin(), operands.end(),
                     [&](const Operand& o) { return c_type(o.dtype) == type; });
}

/// Operands that become numbers one by one: a tensor core takes a product's as they are.
std::vector<Operand> read_operands(const Program& p) {
  std::vector<Operand> read;
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (!p.on_tensor_cores || (i != p.left && i != p.right)) read.push_back(p.inputs[i]);
  return read;
}

const char* dtype_constant(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "FIEL_F16";
    case DType::bf16:
      return "FIEL_BF16";
    case DType::boolean:
      return "FIEL_BOOL";
    case DType::u8:
      return "FIEL_U8";
    case DType::i64:
      return "FIEL_I64";
    default:
      return "FIEL_F32";
  }
}

}  // namespace

std::string fill(std::string_view text,
                 std::initializer_list<std::pair<std::string_view, std::string>> values) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = text.find('@', at);
    const size_t end = begin == std::string_view::npos ? begin : text.find('@', begin + 1);
    out += text.substr(at, begin == std::string_view::npos ? begin : begin - at);
    if (begin == std::string_view::npos) break;
    const std::string_view name = text.substr(begin + 1, end - begin - 1);
    const auto value =
        std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == name; });
    FIEL_CHECK(value != values.end(), "a template names what is not given");
    out += value->second;
    at = end + 1;
  }
  return out;
}

const char* c_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "__half";
    case DType::bf16:
      return "__nv_bfloat16";
    case DType::boolean:
    case DType::u8:
      return "unsigned char";
    case DType::i64:
      return "long long";
    default:
      return "float";
  }
}

std::string prelude(const Program& p, const std::string& what, bool stream_loads,
                    bool stream_stores, bool persistent) {
  std::string includes, conversions, roundings;
  for (const TypeText& t : kTypes) {
    if (uses(p.inputs, t.type) || uses(p.output_types, t.type)) includes += t.include;
    if (uses(read_operands(p), t.type))
      conversions +=
          fmt::format("__device__ inline float number({} v) {{ return {}; }}\n", t.type, t.number);
    if (uses(p.output_types, t.type))
      roundings +=
          fmt::format("template <> __device__ inline {0} rounded<{0}>(float v) {{ return {1}; }}\n",
                      t.type, t.rounded);
  }
  return fill(kPrelude, {{"what", what},
                         {"includes", includes},
                         {"load", stream_loads ? "__ldcs" : "__ldg"},
                         {"store", stream_stores ? "__stcs(to + i, from[i])" : "to[i] = from[i]"},
                         {"conversions", conversions},
                         {"roundings", roundings},
                         {"multiprocessors", std::string(persistent ? kMultiprocessors : "")}});
}

std::string parameters(const Program& p) {
  std::string text;
  for (size_t i = 0; i < p.inputs.size(); ++i)
    text += fmt::format("const {}* __restrict__ in{}, ", c_type(p.inputs[i].dtype), i);
  for (size_t i = 0; i < p.output_types.size(); ++i)
    text +=
        fmt::format("{}{}* __restrict__ out{}", i ? ", " : "", c_type(p.output_types[i].dtype), i);
  return text;
}

std::string arguments(const Program& p) {
  std::string text;
  for (size_t i = 0; i < p.inputs.size(); ++i)
    text += fmt::format("fiel_data(const {}, inputs[{}]), ", c_type(p.inputs[i].dtype), i);
  for (size_t i = 0; i < p.output_types.size(); ++i)
    text += fmt::format("{}fiel_data({}, outputs[{}])", i ? ", " : "",
                        c_type(p.output_types[i].dtype), i);
  return text;
}

std::string checks(const Program& p) {
  std::string text =
      fmt::format("  if (n_inputs != {} || n_outputs != {}) return FIEL_UNSUPPORTED;\n",
                  p.inputs.size(), p.outputs.size());
  for (size_t i = 0; i < p.inputs.size(); ++i)
    text += fmt::format("  if (inputs[{}].dtype != {}) return FIEL_UNSUPPORTED;\n", i,
                        dtype_constant(p.inputs[i].dtype));
  for (size_t i = 0; i < p.outputs.size(); ++i)
    text += fmt::format("  if (outputs[{}].dtype != {}) return FIEL_UNSUPPORTED;\n", i,
                        dtype_constant(p.output_types[i].dtype));
  return text;
}

std::string extent_checks(const Program& p) {
  std::string text;
  const auto check = [&](const char* array, size_t i, const Operand& o) {
    const Span span = o.span;
    std::string extent = span == Span::full     ? "rows * columns"
                         : span == Span::column ? "columns"
                         : span == Span::row    ? "rows"
                                                : "1";
    if (p.shape_class == ShapeClass::columns || p.shape_class == ShapeClass::whole) {
      extent.clear();
      for (int g = 0; g < 3; ++g)
        if ((o.groups >> g & 1) != 0)
          extent += fmt::format("{}e[{}]", extent.empty() ? "" : " * ", g);
      if (extent.empty()) extent = "1";
    }
    text += fmt::format("  if (fiel_numel(&{}[{}]) != {}) return FIEL_UNSUPPORTED;\n", array, i,
                        extent);
  };
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (p.shape_class != ShapeClass::product || (i != p.left && i != p.right))
      check("inputs", i, p.inputs[i]);
  for (size_t i = 0; i < p.outputs.size(); ++i) check("outputs", i, p.output_types[i]);
  if (uses(p.output_types, "long long"))
    text += fmt::format("  if ({} > (1 << 24)) return FIEL_UNSUPPORTED;  // counted in float\n",
                        p.shape_class == ShapeClass::columns ? "e[1]" : "columns");
  return text;
}

std::string alignment(const Program& p) {
  std::string text;
  const auto add = [&](const char* array, size_t i, const Operand& o) {
    // What is read or written a number at a time may lie anywhere.
    const bool in_groups =
        p.shape_class == ShapeClass::columns || p.shape_class == ShapeClass::whole;
    const bool packs = in_groups ? (o.groups & 4) != 0 && (array[0] == 'i' || o.span == Span::full)
                                 : o.span == Span::full || o.span == Span::column;
    if (!packs) return;
    text +=
        fmt::format(" && aligned({}[{}], alignof(Pack<{}, kVector>))", array, i, c_type(o.dtype));
  };
  for (size_t i = 0; i < p.inputs.size(); ++i) add("inputs", i, p.inputs[i]);
  for (size_t i = 0; i < p.outputs.size(); ++i) add("outputs", i, p.output_types[i]);
  return text;
}

std::string name_of(const Program& p, uint32_t step) {
  const Step& s = p.steps[step];
  if (s.kind == Step::Kind::constant) return literal(s.constant);
  return fmt::format("{}{}", is_uniform(s) ? 's' : 'v', step);
}

std::string statement(const Program& p, uint32_t step, bool fast) {
  const Step& s = p.steps[step];
  const std::string& text = fast && !s.fast.empty() ? s.fast : s.text;
  std::string out = fmt::format("const float {} = ", name_of(p, step));
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$')
      out += name_of(p, s.arguments[static_cast<size_t>(text[++i] - '0')]);
    else
      out += text[i];
  }
  return out + ";\n";
}

std::vector<uint32_t> needed(const Program& p, const std::vector<uint32_t>& targets,
                             const std::set<uint32_t>& known) {
  std::vector<bool> want(p.steps.size(), false);
  for (uint32_t t : targets) want[t] = true;
  for (size_t i = p.steps.size(); i-- > 0;)
    if (want[i] && !known.contains(static_cast<uint32_t>(i)))
      for (uint32_t a : p.steps[i].arguments)
        if (!is_uniform(p.steps[a])) want[a] = true;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < p.steps.size(); ++i)
    if (want[i] && !is_uniform(p.steps[i])) order.push_back(i);
  return order;
}

}  // namespace fiel::forge
