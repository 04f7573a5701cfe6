#include "kernel/skeleton.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace fiel::kernel {
namespace {

/// A name as C++ and Python take it; state_dict's have dots.
std::string identifier(const std::string& name, size_t index) {
  std::string out;
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])))
    out = "x" + std::to_string(index);
  static constexpr const char* kTaken[] = {"inputs", "outputs", "stream", "int", "float",
                                           "double", "char",    "bool",   "new", "this",
                                           "class",  "self",    "in",     "is",  "lambda"};
  if (std::find(std::begin(kTaken), std::end(kTaken), out) != std::end(kTaken)) out += '_';
  return out;
}

const char* c_type(const std::string& dtype) {
  struct Row {
    const char *dtype, *type;
  };
  static constexpr Row kRows[] = {{"f64", "double"},  {"f32", "float"},          {"tf32", "float"},
                                  {"f16", "__half"},  {"bf16", "__nv_bfloat16"}, {"i64", "int64_t"},
                                  {"i32", "int32_t"}, {"i16", "int16_t"},        {"i8", "int8_t"},
                                  {"u8", "uint8_t"},  {"bool", "bool"}};
  for (const Row& r : kRows)
    if (dtype == r.dtype) return r.type;
  return "uint8_t";  // fp8: bits
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

/// Comments hold names of others: nothing of them may end the line or the comment.
std::string comment_text(const std::string& text) {
  std::string out = printable(text, 120);
  std::replace(out.begin(), out.end(), '\\', '/');
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

std::string table(const std::vector<SkeletonTensor>& tensors, const char* what, const char* lead) {
  std::string out;
  for (size_t i = 0; i < tensors.size(); ++i)
    out += fmt::format("{}   {}[{}]  {}: {} {}{}{}\n", lead, what, i, comment_text(tensors[i].name),
                       tensors[i].dtype, shape_text(tensors[i].shape),
                       tensors[i].note.empty() ? "" : ", ", tensors[i].note);
  return out;
}

bool uses(const Skeleton& s, const char* dtype) {
  auto is = [&](const SkeletonTensor& t) { return t.dtype == dtype; };
  return std::any_of(s.inputs.begin(), s.inputs.end(), is) ||
         std::any_of(s.outputs.begin(), s.outputs.end(), is);
}

std::string pointers(const Skeleton& s) {
  std::string out;
  std::vector<std::string> used;
  auto line = [&](const SkeletonTensor& t, size_t i, const char* array, bool constant) {
    std::string name = identifier(t.name, i);
    while (std::find(used.begin(), used.end(), name) != used.end()) name += '_';
    used.push_back(name);
    const std::string type = fmt::format("{}{}", constant ? "const " : "", c_type(t.dtype));
    out += fmt::format("  [[maybe_unused]] {}* {} = fiel_data({}, {}[{}]);\n", type, name, type,
                       array, i);
  };
  for (size_t i = 0; i < s.inputs.size(); ++i) line(s.inputs[i], i, "inputs", true);
  for (size_t i = 0; i < s.outputs.size(); ++i) line(s.outputs[i], i, "outputs", false);
  return out;
}

}  // namespace

std::string bare_skeleton(const Skeleton& s) {
  std::string out = fmt::format("// A kernel for {}.\n//\n", comment_text(s.task));
  out += table(s.inputs, "inputs", "//") + table(s.outputs, "outputs", "//");
  for (const std::string& number : s.not_passed)
    out += fmt::format("//   not passed  {}\n", comment_text(number));
  out +=
      "//\n// Shapes are those of the task; others may come, read them from the tensors.\n"
      "#include <fiel/kernel.h>\n";
  if (uses(s, "f16")) out += "#include <cuda_fp16.h>\n";
  if (uses(s, "bf16")) out += "#include <cuda_bf16.h>\n";
  out += fmt::format(
      "\nFIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,\n"
      "                         int n_outputs, cudaStream_t stream) {{\n"
      "  if (n_inputs != {} || n_outputs != {}) return FIEL_UNSUPPORTED;\n{}"
      "  (void)stream;             // launch on it\n"
      "  return FIEL_UNSUPPORTED;  // 0 once the outputs are written\n}}\n",
      s.inputs.size(), s.outputs.size(), pointers(s));
  return out;
}

std::string module_skeleton(const Skeleton& s) {
  std::string arguments;
  for (size_t i = 0; i < s.inputs.size(); ++i)
    if (s.inputs[i].note == kForwardArgument) arguments += ", " + identifier(s.inputs[i].name, i);
  std::string out = fmt::format("# A kernel for {}.\n#\n", comment_text(s.task));
  out += table(s.inputs, "tensor", "#") + table(s.outputs, "output", "#");
  out +=
      "#\n# Parameters and buffers keep the names that Model has: their values are copied by "
      "name.\n"
      "import torch\n\n\nclass ModelNew(torch.nn.Module):\n";
  if (!s.constructor.empty())
    out +=
        fmt::format("    def __init__(self, {}):\n        super().__init__()\n\n", s.constructor);
  out += fmt::format("    def forward(self{}):\n        raise NotImplementedError\n", arguments);
  return out;
}

}  // namespace fiel::kernel
