#include "task/torch_spelling.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/text.h"

namespace fiel::task {
namespace {

using graph::Attribute;
using graph::ParameterKind;

/// Operators of torch.nn.functional; all others are torch's own.
constexpr std::string_view kFunctional[] = {"relu",
                                            "relu6",
                                            "leaky_relu",
                                            "elu",
                                            "selu",
                                            "celu",
                                            "gelu",
                                            "silu",
                                            "mish",
                                            "softplus",
                                            "softsign",
                                            "softshrink",
                                            "hardshrink",
                                            "tanhshrink",
                                            "hardtanh",
                                            "hardsigmoid",
                                            "hardswish",
                                            "logsigmoid",
                                            "rrelu",
                                            "threshold",
                                            "prelu",
                                            "glu",
                                            "linear",
                                            "bilinear",
                                            "conv1d",
                                            "conv2d",
                                            "conv3d",
                                            "conv_transpose1d",
                                            "conv_transpose2d",
                                            "conv_transpose3d",
                                            "max_pool1d",
                                            "max_pool2d",
                                            "max_pool3d",
                                            "avg_pool1d",
                                            "avg_pool2d",
                                            "avg_pool3d",
                                            "lp_pool1d",
                                            "lp_pool2d",
                                            "lp_pool3d",
                                            "adaptive_avg_pool1d",
                                            "adaptive_avg_pool2d",
                                            "adaptive_avg_pool3d",
                                            "adaptive_max_pool1d",
                                            "adaptive_max_pool2d",
                                            "adaptive_max_pool3d",
                                            "interpolate",
                                            "unfold",
                                            "fold",
                                            "softmax",
                                            "log_softmax",
                                            "softmin",
                                            "layer_norm",
                                            "rms_norm",
                                            "group_norm",
                                            "batch_norm",
                                            "instance_norm",
                                            "normalize",
                                            "local_response_norm",
                                            "mse_loss",
                                            "l1_loss",
                                            "smooth_l1_loss",
                                            "huber_loss",
                                            "soft_margin_loss",
                                            "hinge_embedding_loss",
                                            "poisson_nll_loss",
                                            "kl_div",
                                            "binary_cross_entropy",
                                            "binary_cross_entropy_with_logits",
                                            "margin_ranking_loss",
                                            "gaussian_nll_loss",
                                            "cross_entropy",
                                            "nll_loss",
                                            "multi_margin_loss",
                                            "cosine_similarity",
                                            "pairwise_distance",
                                            "triplet_margin_loss",
                                            "cosine_embedding_loss",
                                            "scaled_dot_product_attention",
                                            "embedding",
                                            "one_hot",
                                            "pixel_shuffle",
                                            "pixel_unshuffle",
                                            "pad"};

struct Infix {
  std::string_view name, sign;
};
constexpr Infix kInfix[] = {{"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"div", "/"}, {"lt", "<"},
                            {"le", "<="}, {"gt", ">"},  {"ge", ">="}, {"eq", "=="}, {"ne", "!="}};

/// Tensors alone: a number becomes the tensor that it stands for.
constexpr std::string_view kTensorsOnly[] = {
    "maximum",   "minimum",    "fmax",        "fmin",       "atan2",       "hypot",
    "logaddexp", "logaddexp2", "logical_and", "logical_or", "logical_xor", "copysign"};

/// A list of one means the same for every dimension; PyTorch's say it by a number.
constexpr std::string_view kNumberForOne[] = {
    "lp_pool1d",           "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "split"};

constexpr const char* kRotary = R"(def rotary_embedding(x, cos, sin, interleaved=False):
    half = x.shape[-1] // 2
    if cos.shape[-1] == half and half != x.shape[-1]:
        if interleaved:
            cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
        else:
            cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)
    if interleaved:
        rotated = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    else:
        rotated = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * cos + rotated * sin
)";

constexpr const char* kRecurrent = R"(def recurrent_cell(f, x, *states_and_weights):
    """torch's cells take batches only."""
    states = 2 if f is torch.lstm_cell else 1
    states, weights = states_and_weights[:states], states_and_weights[states:]
    if x.dim() > 1:
        return f(x, states if f is torch.lstm_cell else states[0], *weights)
    wide = [s.unsqueeze(0) for s in states]
    out = f(x.unsqueeze(0), wide if f is torch.lstm_cell else wide[0], *weights)
    return tuple(t.squeeze(0) for t in out) if isinstance(out, tuple) else out.squeeze(0)
)";

template <typename Range>
bool has(const Range& range, std::string_view name) {
  return std::find(std::begin(range), std::end(range), name) != std::end(range);
}

std::string real_literal(double v) {
  if (std::isnan(v)) return "float(\"nan\")";
  if (std::isinf(v)) return v > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::string text = format_double(v);
  if (text.find_first_of(".eE") == std::string::npos) text += ".0";
  return text;
}

std::string text_literal(const std::string& v) {
  std::string out = "\"";
  for (char c : v) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

template <typename T, typename F>
std::string list_literal(const std::vector<T>& values, F&& each) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + each(values[i]);
  return out + "]";
}

bool is_whole(double v) { return std::fabs(v) < 0x1p53 && v == std::floor(v); }

std::string literal(const std::string& op, std::string_view name, const Attribute& value) {
  if (const auto* v = std::get_if<bool>(&value)) return *v ? "True" : "False";
  if (const auto* v = std::get_if<int64_t>(&value)) return std::to_string(*v);
  // Integer tensors are scaled by whole numbers alone.
  if (const auto* v = std::get_if<double>(&value))
    return name == "alpha" && is_whole(*v) ? std::to_string(static_cast<int64_t>(*v))
                                           : real_literal(*v);
  const auto* whole = std::get_if<std::vector<int64_t>>(&value);
  if (whole != nullptr && whole->size() == 1 && has(kNumberForOne, op))
    return std::to_string(whole->front());
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value))
    return list_literal(*v, [](int64_t n) { return std::to_string(n); });
  if (const auto* v = std::get_if<std::vector<double>>(&value))
    return list_literal(*v, real_literal);
  const std::string& text = std::get<std::string>(value);
  if (auto dtype = parse_dtype(text); dtype && name == "dtype") return torch_name(*dtype);
  return text_literal(text);
}

/// The arguments of a call by the catalogue's signature.
class Arguments {
 public:
  explicit Arguments(const TorchCall& call) {
    size_t slot = 0;
    for (const graph::Parameter& p : call.op->parameters) {
      if (p.kind == ParameterKind::attribute) {
        for (const auto& [name, value] : call.node->attributes)
          if (name == p.name) add(p, literal(call.op->name, name, value));
      } else if (p.kind == ParameterKind::tensors) {
        std::vector<std::string> rest;
        for (; slot < call.inputs.size(); ++slot) rest.push_back(call.inputs[slot]);
        add(p, list_literal(rest, [](const std::string& s) { return s; }));
      } else if (slot < call.inputs.size()) {
        if (call.inputs[slot] != "None") add(p, call.inputs[slot]);
        ++slot;
      }
    }
  }
  bool given(std::string_view name) const { return values_.count(std::string(name)) > 0; }
  std::string value(std::string_view name, const std::string& fallback = "None") const {
    auto it = values_.find(std::string(name));
    return it == values_.end() ? fallback : it->second;
  }
  std::string list() const { return list_; }
  void keyword(const std::string& name, const std::string& value) {
    list_ += (list_.empty() ? "" : ", ") + name + "=" + value;
  }

 private:
  /// Optional ones by name: PyTorch's Python functions have parameters between that we do not have.
  void add(const graph::Parameter& p, const std::string& text) {
    list_ += list_.empty() ? "" : ", ";
    list_ += p.required ? text : p.name + "=" + text;
    values_[p.name] = text;
  }
  std::map<std::string, std::string> values_;
  std::string list_;
};

std::string slice_expression(const TorchCall& call, const Arguments& a) {
  auto dim = std::stoll(a.value("dim", "0"));
  if (dim < 0) dim += static_cast<int64_t>(call.ranks[0]);
  std::string index;
  for (int64_t i = 0; i < dim; ++i) index += ":, ";
  index += a.value("start", "") + ":" + a.value("end", "");
  if (a.given("step")) index += ":" + a.value("step");
  return call.inputs[0] + "[" + index + "]";
}

std::string cell_expression(const TorchCall& call, std::set<std::string>& helpers) {
  helpers.insert(kRecurrent);
  std::string out = "recurrent_cell(torch." + call.op->name;
  for (const std::string& input : call.inputs) out += ", " + input;
  return out + ")";
}

/// PyTorch updates running statistics that it is given in training: it gets copies.
std::string copied(const Arguments& a, std::string_view name, bool updates) {
  return updates && a.given(name) ? a.value(name) + ".clone()" : a.value(name);
}

std::string norm_expression(const TorchCall& call, const Arguments& a) {
  const bool batch = call.op->name == "batch_norm";
  const bool updates =
      batch ? a.value("training") == "True" : a.value("use_input_stats") != "False";
  std::string out =
      fmt::format("F.{}({}, {}, {}", call.op->name, call.inputs[0],
                  copied(a, "running_mean", updates), copied(a, "running_var", updates));
  for (const char* name : {"weight", "bias", "training", "use_input_stats", "momentum", "eps"})
    if (a.given(name)) out += fmt::format(", {}={}", name, a.value(name));
  return out + ")";
}

/// Operators whose PyTorch spelling is not their name with these arguments; "" for all others.
std::string own_spelling(const TorchCall& call, const Arguments& a,
                         std::set<std::string>& helpers) {
  const std::string& name = call.op->name;
  auto x = [&] { return call.inputs[0]; };
  auto optional = [&](std::initializer_list<const char*> names) {
    std::string out;
    for (const char* n : names)
      if (a.given(n)) out += fmt::format(", {}={}", n, a.value(n));
    return out;
  };
  if (name == "to") return fmt::format("{}.to({})", x(), a.value("dtype"));
  if (name == "expand") return fmt::format("{}.expand({})", x(), a.value("size"));
  if (name == "repeat") return fmt::format("{}.repeat({})", x(), a.value("repeats"));
  if (name == "heaviside" && call.number[1])  // a tensor of the input's dtype
    return fmt::format("torch.heaviside({0}, ({0}).new_tensor({1}))", x(), call.inputs[1]);
  if (name == "slice") return slice_expression(call, a);
  if (name == "norm")
    return fmt::format("torch.linalg.vector_norm({}, {}{})", x(), a.value("p", "2.0"),
                       optional({"dim", "keepdim"}));
  if (name == "var" || name == "std" || name == "var_mean")
    return fmt::format("torch.{}({}, dim={}{})", name, x(), a.value("dim"),
                       optional({"correction", "keepdim"}));
  if (name == "count_nonzero")
    return a.given("dim")
               ? fmt::format("({} != 0).sum(dim={}{})", x(), a.value("dim"), optional({"keepdim"}))
               : fmt::format("torch.count_nonzero({})", x());
  if (name == "sort" || name == "argsort")
    return fmt::format("torch.{}({}, stable=True{})", name, x(), optional({"dim", "descending"}));
  if (name == "median")
    return fmt::format("torch.median({}, dim={}{})", x(), a.value("dim", "-1"),
                       optional({"keepdim"}));
  if (name == "cdist")
    return fmt::format("torch.cdist({}, compute_mode=\"donot_use_mm_for_euclid_dist\")", a.list());
  if (name == "batch_norm" || name == "instance_norm") return norm_expression(call, a);
  if (name.size() > 5 && name.compare(name.size() - 5, 5, "_cell") == 0)
    return cell_expression(call, helpers);
  if (name == "rotary_embedding") {
    helpers.insert(kRotary);
    return fmt::format("rotary_embedding({})", a.list());
  }
  return {};
}

/// The 0-dim tensor of a Python number. Reals in float64: PyTorch's default dtype would round them,
/// and no tensor with dimensions becomes wider by it.
std::string number_tensor(const std::string& number) {
  const bool whole = number.find_first_not_of("0123456789-()") == std::string::npos;
  const bool truth = number == "True" || number == "False";
  return fmt::format("torch.tensor({}{})", number, whole || truth ? "" : ", dtype=torch.float64");
}

}  // namespace

std::string torch_name(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "torch.float64";
    case DType::f32:
    case DType::tf32:
      return "torch.float32";
    case DType::f16:
      return "torch.float16";
    case DType::bf16:
      return "torch.bfloat16";
    case DType::e4m3:
      return "torch.float8_e4m3fn";
    case DType::e5m2:
      return "torch.float8_e5m2";
    case DType::i8:
      return "torch.int8";
    case DType::i16:
      return "torch.int16";
    case DType::i32:
      return "torch.int32";
    case DType::i64:
      return "torch.int64";
    case DType::u8:
      return "torch.uint8";
    case DType::boolean:
      return "torch.bool";
  }
  return "torch.float32";
}

Result<std::string> torch_expression(const TorchCall& asked, std::set<std::string>& helpers) {
  TorchCall call = asked;
  const std::string& name = call.op->name;
  const bool plain = call.node->attributes.empty();
  for (const Infix& i : kInfix)
    if (name == i.name && plain && call.inputs.size() == 2)
      return fmt::format("{} {} {}", call.inputs[0], i.sign, call.inputs[1]);
  if (name == "neg") return "-" + call.inputs[0];
  for (size_t i = 0; i < call.inputs.size(); ++i)
    if (call.number[i] && (has(kTensorsOnly, name) || (i == 0 && name != "pow")))
      call.inputs[i] = number_tensor(call.inputs[i]);
  Arguments arguments(call);
  if (std::string own = own_spelling(call, arguments, helpers); !own.empty()) return own;
  if (call.inputs.empty()) arguments.keyword("device", call.device);
  return fmt::format("{}.{}({})", has(kFunctional, name) ? "F" : "torch", name, arguments.list());
}

}  // namespace fiel::task
