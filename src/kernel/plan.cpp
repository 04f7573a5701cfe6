#include "kernel/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "base/text.h"
#include "base/toml.h"

namespace fiel::kernel {
namespace fs = std::filesystem;
namespace {

using Kind = PlanArgument::Kind;
constexpr size_t kMaxLaunches = 1024, kMaxArguments = 256, kMaxScratch = 64, kMaxSymbols = 256;

/// Reads one plan; every error points at its line.
class PlanReader {
 public:
  PlanReader(std::string_view text, const fs::path& file) : text_(text), file_(file) {}

  Result<LaunchPlan> read() {
    FIEL_TRY(TomlValue doc, parse_toml(text_, file_.filename().string()));
    for (const auto& [key, value] : doc.members) {
      if (key == "source") {
        FIEL_TRY(std::string name, string(value, "source"));
        plan_.source = file_.parent_path() / name;
      } else if (key == "symbols") {
        FIEL_TRY_STATUS(named(value, plan_.symbols, kMaxSymbols));
      } else if (key == "scratch") {
        FIEL_TRY_STATUS(named(value, plan_.scratch, kMaxScratch));
      } else if (key != "launch") {
        return error(value, "unknown key " + key +
                                suggestion(key, {"source", "symbols", "scratch", "launch"}));
      }
    }
    if (plan_.source.empty())
      return fail(ErrorCode::usage, file_.filename().string() + ": no `source` is named");
    const TomlValue* launches = doc.find("launch");
    if (!launches || !launches->is_array() || launches->items.empty())
      return fail(ErrorCode::usage, file_.filename().string() + ": no [[launch]]");
    if (launches->items.size() > kMaxLaunches) return error(*launches, "more than 1024 launches");
    for (const TomlValue& l : launches->items) {
      FIEL_TRY(PlanLaunch launch, read_launch(l));
      plan_.launches.push_back(std::move(launch));
    }
    return std::move(plan_);
  }

 private:
  tl::unexpected<Error> error(const TomlValue& at, const std::string& what) const {
    return fail(ErrorCode::usage,
                caret(text_, file_.filename().string(), at.line, at.column, what));
  }
  static std::string suggestion(const std::string& word, std::vector<std::string> known) {
    std::string near = did_you_mean(word, known);
    return near.empty() ? "" : "; did you mean " + near + "?";
  }
  Result<std::string> string(const TomlValue& v, const char* what) const {
    if (!v.is_string()) return error(v, fmt::format("{} has to be a string", what));
    return v.string;
  }
  Result<Expression> expression(const TomlValue& v) const {
    if (v.is_integer()) return Expression::parse(std::to_string(v.integer));
    if (!v.is_string()) return error(v, "expected a number or an expression in quotes");
    auto e = Expression::parse(v.string);
    if (!e) return error(v, e.error().what);
    return e;
  }
  Status named(const TomlValue& table, std::vector<std::pair<std::string, Expression>>& out,
               size_t max_count) const {
    if (!table.is_table()) return error(table, "has to be a table");
    if (table.members.size() > max_count) return error(table, "too many entries");
    for (const auto& [name, value] : table.members) {
      FIEL_TRY(Expression e, expression(value));
      out.emplace_back(name, std::move(e));
    }
    return {};
  }
  Result<std::vector<Expression>> dimensions(const TomlValue& v) const {
    std::vector<Expression> out;
    if (!v.is_array()) {
      FIEL_TRY(Expression e, expression(v));
      out.push_back(std::move(e));
      return out;
    }
    if (v.items.empty() || v.items.size() > 3) return error(v, "one to three numbers");
    for (const TomlValue& item : v.items) {
      FIEL_TRY(Expression e, expression(item));
      out.push_back(std::move(e));
    }
    return out;
  }
  Result<PlanLaunch> read_launch(const TomlValue& table) const {
    if (!table.is_table()) return error(table, "a launch has to be a table");
    PlanLaunch l;
    FIEL_TRY(l.shared, Expression::parse("0"));
    for (const auto& [key, value] : table.members) {
      if (key == "kernel") {
        FIEL_TRY(l.kernel, string(value, "kernel"));
      } else if (key == "grid") {
        FIEL_TRY(l.grid, dimensions(value));
      } else if (key == "block") {
        FIEL_TRY(l.block, dimensions(value));
      } else if (key == "shared") {
        FIEL_TRY(l.shared, expression(value));
      } else if (key == "cooperative") {
        if (!value.is_boolean()) return error(value, "cooperative is true or false");
        l.cooperative = value.boolean;
      } else if (key == "args") {
        if (!value.is_array()) return error(value, "args has to be an array");
        if (value.items.size() > kMaxArguments) return error(value, "more than 256 arguments");
        for (const TomlValue& a : value.items) {
          FIEL_TRY(PlanArgument argument, read_argument(a));
          l.arguments.push_back(std::move(argument));
        }
      } else {
        return error(value, "unknown key " + key +
                                suggestion(key, {"kernel", "grid", "block", "shared", "cooperative",
                                                 "args"}));
      }
    }
    if (l.kernel.empty() || l.grid.empty() || l.block.empty())
      return error(table, "a launch needs kernel, grid and block");
    return l;
  }
  /// "in3" -> 3
  static std::optional<uint32_t> index_after(std::string_view text, std::string_view prefix) {
    if (text.substr(0, prefix.size()) != prefix) return std::nullopt;
    uint32_t n = 0;
    auto [end, ec] = std::from_chars(text.data() + prefix.size(), text.data() + text.size(), n);
    if (ec != std::errc() || end != text.data() + text.size() || n >= 256) return std::nullopt;
    return n;
  }
  Result<PlanArgument> read_argument(const TomlValue& v) const {
    FIEL_TRY(std::string text, string(v, "an argument"));
    PlanArgument a;
    a.text = text;
    for (size_t i = 0; i < plan_.scratch.size(); ++i)
      if (plan_.scratch[i].first == text) {
        a.kind = Kind::scratch;
        a.index = static_cast<uint32_t>(i);
        return a;
      }
    if (auto i = index_after(text, "in")) return a.kind = Kind::input, a.index = *i, a;
    if (auto i = index_after(text, "out")) return a.kind = Kind::output, a.index = *i, a;
    struct Scalar {
      const char* name;
      Kind kind;
    };
    for (Scalar s :
         {Scalar{"i32:", Kind::i32}, Scalar{"u32:", Kind::u32}, Scalar{"i64:", Kind::i64},
          Scalar{"u64:", Kind::u64}, Scalar{"f32:", Kind::f32}, Scalar{"f64:", Kind::f64}}) {
      if (text.rfind(s.name, 0) != 0) continue;
      a.kind = s.kind;
      std::string rest = text.substr(4);
      if (s.kind == Kind::f32 || s.kind == Kind::f64) {
        auto [end, ec] = std::from_chars(rest.data(), rest.data() + rest.size(), a.number);
        if (ec != std::errc() || end != rest.data() + rest.size())
          return error(v, "not a floating-point number");
        return a;
      }
      auto e = Expression::parse(rest);
      if (!e) return error(v, e.error().what);
      a.value = std::move(*e);
      return a;
    }
    return error(v, "an argument is in0…, out0…, a scratch buffer, or a scalar such as i32:N");
  }

  std::string_view text_;
  fs::path file_;
  LaunchPlan plan_;
};

uint32_t bytes_of(Kind kind) {
  return kind == Kind::i32 || kind == Kind::u32 || kind == Kind::f32 ? 4 : 8;
}

Result<uint64_t> bits_of(const PlanArgument& a, const worker::CallRequest& request,
                         std::span<const uint64_t> scratch, const NameLookup& names) {
  auto tensor = [&](const std::vector<worker::DeviceTensor>& all) -> Result<uint64_t> {
    if (a.index >= all.size())
      return fail(ErrorCode::usage,
                  fmt::format("{}: the task has only {} of them", a.text, all.size()));
    return all[a.index].address;
  };
  switch (a.kind) {
    case Kind::input:
      return tensor(request.inputs);
    case Kind::output:
      return tensor(request.outputs);
    case Kind::scratch:
      return scratch[a.index];
    case Kind::f32: {
      auto f = static_cast<float>(a.number);
      uint32_t bits;
      std::memcpy(&bits, &f, 4);
      return bits;
    }
    case Kind::f64: {
      uint64_t bits;
      std::memcpy(&bits, &a.number, 8);
      return bits;
    }
    default:
      break;
  }
  FIEL_TRY(int64_t v, a.value.evaluate(names));
  bool fits = a.kind == Kind::i32   ? v >= INT32_MIN && v <= INT32_MAX
              : a.kind == Kind::u32 ? v >= 0 && v <= UINT32_MAX
              : a.kind == Kind::u64 ? v >= 0
                                    : true;
  if (!fits) return fail(ErrorCode::usage, fmt::format("{}: {} does not fit", a.text, v));
  return static_cast<uint64_t>(v);
}

}  // namespace

Result<LaunchPlan> parse_plan(std::string_view text, const fs::path& file) {
  return PlanReader(text, file).read();
}

NameLookup names_of(const LaunchPlan& plan, const worker::CallRequest& request) {
  // Symbols may use the tensors' sizes and the symbols above them, so the look-up cannot circle.
  auto known = std::make_shared<std::vector<std::pair<std::string, int64_t>>>();
  auto add = [&](const char* prefix, const std::vector<worker::DeviceTensor>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      std::string base = fmt::format("{}{}", prefix, i);
      known->emplace_back(base + ".numel", numel(tensors[i].shape));
      known->emplace_back(base + ".rank", static_cast<int64_t>(tensors[i].shape.size()));
      for (size_t d = 0; d < tensors[i].shape.size(); ++d)
        known->emplace_back(fmt::format("{}.shape[{}]", base, d), tensors[i].shape[d]);
    }
  };
  add("in", request.inputs);
  add("out", request.outputs);
  NameLookup lookup = [known](std::string_view name) -> std::optional<int64_t> {
    for (const auto& [key, value] : *known)
      if (key == name) return value;
    return std::nullopt;
  };
  for (const auto& [name, expression] : plan.symbols)
    if (auto value = expression.evaluate(lookup)) known->emplace_back(name, *value);
  return lookup;
}

Result<const vgpu::KernelInfo*> find_entry(std::span<const vgpu::KernelInfo> entries,
                                           std::string_view name) {
  // _Z7softmaxPKfPfi is what nvcc makes of softmax(const float*, float*, int).
  std::string mangled = fmt::format("_Z{}{}", name.size(), name);
  std::vector<const vgpu::KernelInfo*> found;
  std::vector<std::string> names;
  for (const vgpu::KernelInfo& e : entries) {
    if (e.name == name) return &e;
    if (e.name.rfind(mangled, 0) == 0) found.push_back(&e);
    names.push_back(e.name);
  }
  if (found.size() == 1) return found[0];
  std::string list;
  for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
  return fail(ErrorCode::usage,
              fmt::format("{} kernel named {}", found.empty() ? "no" : "more than one", name),
              "the PTX has " + (list.empty() ? "no kernels" : list));
}

Result<std::vector<uint8_t>> pack_arguments(const PlanLaunch& launch, const vgpu::KernelInfo& entry,
                                            const worker::CallRequest& request,
                                            std::span<const uint64_t> scratch,
                                            const NameLookup& names) {
  if (launch.arguments.size() != entry.parameter_offsets.size())
    return fail(ErrorCode::usage,
                fmt::format("{} takes {} arguments, the plan gives {}", launch.kernel,
                            entry.parameter_offsets.size(), launch.arguments.size()));
  std::vector<uint8_t> block(entry.parameter_block_bytes);
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const PlanArgument& a = launch.arguments[i];
    uint32_t bytes = entry.parameter_bytes[i], offset = entry.parameter_offsets[i];
    bool pointer = a.kind == Kind::input || a.kind == Kind::output || a.kind == Kind::scratch;
    if (bytes != bytes_of(a.kind))
      return fail(ErrorCode::usage,
                  fmt::format("argument {} of {}: {} has {} bytes, the kernel takes {}", i + 1,
                              launch.kernel, a.text, bytes_of(a.kind), bytes));
    if (pointer && i < entry.parameter_is_pointer.size() && !entry.parameter_is_pointer[i])
      return fail(ErrorCode::usage, fmt::format("argument {} of {} is no pointer, {} is", i + 1,
                                                launch.kernel, a.text));
    FIEL_TRY(uint64_t bits, bits_of(a, request, scratch, names));
    if (uint64_t{offset} + bytes > block.size())
      return fail(ErrorCode::parse, "parameter outside its block");
    std::memcpy(block.data() + offset, &bits, bytes);
  }
  return block;
}

}  // namespace fiel::kernel
