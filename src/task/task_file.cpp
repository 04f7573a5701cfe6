// Reads tasks/*.toml. Every message points at a line and column of the file.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/toml.h"
#include "task/symbols.h"
#include "task/task.h"
#include "tensor/random.h"

namespace fiel::task {

namespace {

constexpr uint64_t kMaxFileBytes = 1 << 20;
constexpr size_t kMaxInputs = 64, kMaxOutputs = 16, kMaxShapeSets = 32, kMaxSymbols = 32;
constexpr size_t kMaxRank = 8;

std::string_view line_text(std::string_view text, uint32_t line) {
  for (uint32_t i = 1; i < line; ++i) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

/// The domain's own distribution, where the file names none.
std::string standard_distribution(Domain domain) {
  switch (domain) {
    case Domain::positive:
      return "uniform(0.1, 2)";
    case Domain::probability:
      return "probability";
    case Domain::index:
      return "indices";
    case Domain::mask:
      return "mask(0.5)";
    default:
      return "normal";
  }
}

/// What a distribution promises must lie within the domain: a probe may rely on it.
bool fits(const Distribution& d, Domain domain) {
  using enum DistributionKind;
  switch (domain) {
    case Domain::positive:
      return (d.kind == uniform && d.a > 0) || (d.kind == constant && d.a > 0) ||
             d.kind == probability;
    case Domain::probability:
      return d.kind == probability;
    case Domain::index:
      return d.kind == indices || d.kind == permutation;
    case Domain::mask:
      return d.kind == mask || d.kind == one_hot || (d.kind == constant && (d.a == 0 || d.a == 1));
    default:
      return true;
  }
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view file_name) : text_(text), file_(file_name) {}

  Result<Task> read(const TomlValue& document) {
    FIEL_TRY_STATUS(known_keys(document,
                               {"name", "description", "expression", "inputs", "outputs", "symbols",
                                "shapes", "tolerance", "special_values"},
                               "a task"));
    FIEL_TRY_STATUS(words(document));
    FIEL_TRY_STATUS(inputs(document));
    FIEL_TRY_STATUS(outputs(document));
    FIEL_TRY_STATUS(derived(document));
    FIEL_TRY_STATUS(shapes(document));
    FIEL_TRY_STATUS(tolerance(document));
    FIEL_TRY_STATUS(names_are_distinct(document));
    FIEL_TRY_STATUS(symbols_are_bound(document));
    return std::move(task_);
  }

 private:
  tl::unexpected<Error> error(const TomlValue& at, const std::string& message,
                              std::string hint = {}) const {
    return fail(ErrorCode::parse, caret(text_, file_, at.line, at.column, message),
                std::move(hint));
  }
  /// At a key: TOML values carry the position of the value, the key stands before it on its line.
  tl::unexpected<Error> error_at_key(const std::string& key, const TomlValue& value,
                                     const std::string& message, std::string hint = {}) const {
    const size_t column = line_text(text_, value.line).find(key);
    return fail(
        ErrorCode::parse,
        caret(text_, file_, value.line,
              column == std::string_view::npos ? value.column : static_cast<uint32_t>(column + 1),
              message),
        std::move(hint));
  }
  static std::string with_article(TomlValue::Kind kind) {
    const std::string name = name_of(kind);
    return (name == "integer" || name == "array" ? "an " : "a ") + name;
  }
  static std::string hint_for(std::string_view word, const std::vector<std::string>& known) {
    const std::string near = did_you_mean(word, known);
    if (!near.empty()) return "did you mean \"" + near + "\"?";
    std::string list;
    for (const std::string& k : known) list += (list.empty() ? "" : ", ") + k;
    return list.empty() ? "" : "known here: " + list;
  }

  Status known_keys(const TomlValue& table, const std::vector<std::string>& known,
                    const std::string& what) const {
    for (const auto& [key, value] : table.members)
      if (std::find(known.begin(), known.end(), key) == known.end())
        return error_at_key(key, value, what + " has no key \"" + printable(key, 60) + "\"",
                            hint_for(key, known));
    return {};
  }
  Result<const TomlValue*> required(const TomlValue& table, std::string_view key,
                                    TomlValue::Kind kind, const std::string& what) const {
    const TomlValue* value = table.find(key);
    if (!value) return error(table, what + " needs \"" + std::string(key) + "\"");
    if (value->kind != kind)
      return error(*value, "\"" + std::string(key) + "\" must be " + with_article(kind) + ", not " +
                               with_article(value->kind));
    return value;
  }
  Result<const TomlValue*> optional(const TomlValue& table, std::string_view key,
                                    TomlValue::Kind kind) const {
    if (!table.find(key)) return nullptr;
    return required(table, key, kind, "");
  }
  Status identifier(const std::string& name, const TomlValue& at, const std::string& what) const {
    if (is_identifier(name)) return {};
    return error_at_key(name, at,
                        what + " name \"" + printable(name, 40) +
                            "\" must be a letter, then letters, digits and underscores");
  }

  Status words(const TomlValue& document) {
    using enum TomlValue::Kind;
    FIEL_TRY(const TomlValue* name, required(document, "name", string, "a task"));
    task_.name = name->string;
    for (char c : task_.name)
      if (!is_identifier(std::string(1, c)) && !(c >= '0' && c <= '9') && c != '-')
        return error(*name, "a task's name is made of letters, digits, _ and -");
    if (task_.name.empty() || task_.name.size() > 128)
      return error(*name, "a task's name has 1 to 128 characters");
    FIEL_TRY(const TomlValue* description, optional(document, "description", string));
    if (description) task_.description = description->string;
    FIEL_TRY(const TomlValue* expression, required(document, "expression", string, "a task"));
    task_.expression = expression->string;
    task_.expression_line = expression->line;
    // A multi-line string's text starts on the line after its opening quotes.
    std::string_view opening = line_text(text_, expression->line);
    opening = trim(opening.substr(std::min<size_t>(opening.size(), expression->column - 1)));
    if (opening == "\"\"\"" || opening == "'''") ++task_.expression_line;
    FIEL_TRY(const TomlValue* special, optional(document, "special_values", string));
    if (special) {
      task_.special_values = special->string;
      if (special->string != "propagate" && special->string != "ignore")
        return error(*special, "special_values is \"propagate\" or \"ignore\"",
                     hint_for(special->string, {"propagate", "ignore"}));
    }
    return {};
  }

  Result<DType> dtype(const TomlValue& value) const {
    if (const std::optional<DType> t = parse_dtype(value.string)) return *t;
    std::vector<std::string> known;
    for (int i = 0; i < kDTypeCount; ++i) known.emplace_back(name_of(static_cast<DType>(i)));
    const struct {
      const char *torch, *ours;
    } torch_names[] = {{"float32", "f32"}, {"float", "f32"},     {"float16", "f16"},
                       {"half", "f16"},    {"bfloat16", "bf16"}, {"float64", "f64"},
                       {"double", "f64"},  {"int64", "i64"},     {"int32", "i32"},
                       {"long", "i64"},    {"int", "i32"},       {"uint8", "u8"}};
    std::string hint = hint_for(value.string, known);
    for (const auto& n : torch_names)
      if (value.string == n.torch) hint = "did you mean \"" + std::string(n.ours) + "\"?";
    return error(value, "unknown dtype \"" + printable(value.string, 40) + "\"", hint);
  }

  Result<Domain> domain(const TomlValue& value) const {
    const std::vector<std::string> names(std::begin(kDomainNames), std::end(kDomainNames));
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == value.string) return static_cast<Domain>(i);
    return error(value, "unknown domain \"" + printable(value.string, 40) + "\"",
                 hint_for(value.string, names));
  }

  Status inputs(const TomlValue& document) {
    FIEL_TRY(const TomlValue* table,
             required(document, "inputs", TomlValue::Kind::table, "a task"));
    if (table->members.empty()) return error(*table, "a task needs at least one input");
    if (table->members.size() > kMaxInputs) return error(*table, "more than 64 inputs");
    for (const auto& [name, value] : table->members) {
      FIEL_TRY_STATUS(identifier(name, value, "input"));
      FIEL_TRY(InputSpec spec, input(name, value));
      task_.inputs.push_back(std::move(spec));
    }
    return {};
  }

  Result<InputSpec> input(const std::string& name, const TomlValue& value) const {
    using enum TomlValue::Kind;
    const std::string what = "input \"" + name + "\"";
    if (!value.is_table())
      return error(value, what + " must be a table",
                   name + " = { dtype = \"f32\", shape = [\"N\", \"C\"] }");
    FIEL_TRY_STATUS(known_keys(
        value, {"dtype", "shape", "domain", "bound", "distribution", "parameter"}, what));
    InputSpec spec;
    spec.name = name;
    FIEL_TRY(const TomlValue* type, required(value, "dtype", string, what));
    FIEL_TRY(spec.dtype, dtype(*type));
    FIEL_TRY(const TomlValue* shape, required(value, "shape", array, what));
    FIEL_TRY(spec.shape, dimensions(*shape, what));
    FIEL_TRY(const TomlValue* domain_value, optional(value, "domain", string));
    if (domain_value) {
      FIEL_TRY(spec.domain, domain(*domain_value));
    }
    FIEL_TRY(const TomlValue* parameter, optional(value, "parameter", boolean));
    if (parameter) spec.parameter = parameter->boolean;
    FIEL_TRY_STATUS(bound(value, spec));
    FIEL_TRY_STATUS(distribution(value, spec));
    return spec;
  }

  Result<std::vector<std::string>> dimensions(const TomlValue& shape,
                                              const std::string& what) const {
    std::vector<std::string> out;
    if (shape.items.size() > kMaxRank)
      return error(shape,
                   what + " has " + std::to_string(shape.items.size()) + " dimensions; at most 8");
    for (const TomlValue& item : shape.items) {
      FIEL_TRY(std::string text, dimension(item, "a dimension"));
      out.push_back(std::move(text));
    }
    return out;
  }

  Result<std::string> dimension(const TomlValue& item, const std::string& what) const {
    if (item.is_integer()) {
      if (item.integer < 0) return error(item, what + " is negative");
      return std::to_string(item.integer);
    }
    if (!item.is_string())
      return error(item, what + " is an integer or a text over symbols such as \"4*H\", not " +
                             with_article(item.kind));
    const auto names = symbols_of(item.string);
    if (!names) return error(item, names.error().what, names.error().hint);
    return item.string;
  }

  Status bound(const TomlValue& value, InputSpec& spec) const {
    const TomlValue* bound = value.find("bound");
    if (spec.domain != Domain::index) {
      if (bound) return error(*bound, "only an input with domain = \"index\" has a bound");
      return {};
    }
    if (!bound)
      return error(value, "index input \"" + spec.name + "\" needs a bound",
                   "bound = \"V\": indices lie in [0, V)");
    FIEL_TRY(spec.bound, dimension(*bound, "the bound"));
    if (is_floating(spec.dtype) || spec.dtype == DType::boolean)
      return error(value, "index input \"" + spec.name + "\" needs an integer dtype");
    return {};
  }

  Status distribution(const TomlValue& value, InputSpec& spec) const {
    FIEL_TRY(const TomlValue* text, optional(value, "distribution", TomlValue::Kind::string));
    spec.distribution = text ? text->string : standard_distribution(spec.domain);
    // The bound of an index is known at a shape only: "indices" alone means the input's bound.
    if (spec.domain == Domain::index && trim(spec.distribution) == "indices") return {};
    const Result<Distribution> parsed = parse_distribution(spec.distribution);
    if (!parsed) return error(*text, parsed.error().what, parsed.error().hint);
    if (fits(*parsed, spec.domain)) return {};
    return error(text ? *text : value,
                 "distribution " + to_string(*parsed) + " may leave the input's domain",
                 "leave it out: the domain has its own");
  }

  Status outputs(const TomlValue& document) {
    FIEL_TRY(const TomlValue* table, optional(document, "outputs", TomlValue::Kind::table));
    if (!table) return {};
    if (table->members.empty()) return error(*table, "a task needs at least one output");
    if (table->members.size() > kMaxOutputs) return error(*table, "more than 16 outputs");
    for (const auto& [name, value] : table->members) {
      FIEL_TRY_STATUS(identifier(name, value, "output"));
      OutputSpec spec{name, std::nullopt};
      const TomlValue* type = &value;
      if (value.is_table()) {
        FIEL_TRY_STATUS(known_keys(value, {"dtype"}, "output \"" + name + "\""));
        FIEL_TRY(type, optional(value, "dtype", TomlValue::Kind::string));
      } else if (!value.is_string()) {
        return error(value, "an output is a dtype, y = \"f32\", or a table, y = {}");
      }
      if (type) {
        FIEL_TRY(spec.dtype, dtype(*type));
      }
      task_.outputs.push_back(std::move(spec));
    }
    return {};
  }

  Status derived(const TomlValue& document) {
    FIEL_TRY(const TomlValue* table, optional(document, "symbols", TomlValue::Kind::table));
    if (!table) return {};
    if (table->members.size() > kMaxSymbols) return error(*table, "more than 32 symbols");
    std::set<std::string> all, seen;
    for (const auto& [name, value] : table->members) all.insert(name);
    for (const auto& [name, value] : table->members) {
      FIEL_TRY_STATUS(identifier(name, value, "symbol"));
      FIEL_TRY(std::string text, dimension(value, "symbol \"" + name + "\""));
      FIEL_TRY(const std::vector<std::string> used, symbols_of(text));
      for (const std::string& u : used)
        if (all.contains(u) && !seen.contains(u))
          return error(
              value, "symbol \"" + name + "\" uses \"" + u + "\", which is not defined before it");
      seen.insert(name);
      task_.derived.emplace_back(name, std::move(text));
    }
    return {};
  }

  Status shapes(const TomlValue& document) {
    FIEL_TRY(const TomlValue* table,
             required(document, "shapes", TomlValue::Kind::table, "a task"));
    if (table->members.empty())
      return error(*table, "a task needs at least one shape set", "[shapes.small]");
    if (table->members.size() > kMaxShapeSets) return error(*table, "more than 32 shape sets");
    for (const auto& [name, value] : table->members) {
      FIEL_TRY_STATUS(identifier(name, value, "shape set"));
      if (!value.is_table())
        return error(value, "shape set \"" + name + "\" must be a table of symbols");
      FIEL_TRY(ShapeSet set, shape_set(name, value));
      task_.shape_sets.push_back(std::move(set));
    }
    return {};
  }

  Result<ShapeSet> shape_set(const std::string& name, const TomlValue& table) const {
    ShapeSet set;
    set.name = name;
    if (table.members.size() > kMaxSymbols) return error(table, "more than 32 symbols");
    for (const auto& [symbol, value] : table.members) {
      if (symbol == "benchmark") {
        if (!value.is_boolean()) return error(value, "benchmark is true or false");
        set.benchmark = value.boolean;
        continue;
      }
      FIEL_TRY_STATUS(identifier(symbol, value, "symbol"));
      if (!value.is_integer())
        return error(
            value, "symbol \"" + symbol + "\" must be an integer, not " + with_article(value.kind));
      if (value.integer < 0 || value.integer > (int64_t{1} << 40))
        return error(value, "symbol \"" + symbol + "\" lies outside [0, 2^40]");
      if (std::any_of(task_.derived.begin(), task_.derived.end(),
                      [&name = symbol](const auto& d) { return d.first == name; }))
        return error(value, "symbol \"" + symbol + "\" is defined under [symbols] already");
      set.symbols[symbol] = value.integer;
    }
    return set;
  }

  Result<std::optional<double>> limit(const TomlValue& table, std::string_view key) const {
    const TomlValue* value = table.find(key);
    if (!value) return std::optional<double>();
    if (!value->is_number() || !std::isfinite(value->number) || value->number <= 0 ||
        value->number > 1e6)
      return error(*value, "\"" + std::string(key) + "\" must be a number in (0, 1e6]");
    return std::optional<double>(value->number);
  }

  Status tolerance(const TomlValue& document) {
    FIEL_TRY(const TomlValue* table, optional(document, "tolerance", TomlValue::Kind::table));
    if (!table) return {};
    FIEL_TRY_STATUS(known_keys(*table, {"relative_rms", "max_ulp_factor"}, "tolerance"));
    FIEL_TRY(task_.tolerance.relative_rms, limit(*table, "relative_rms"));
    FIEL_TRY(task_.tolerance.max_ulp_factor, limit(*table, "max_ulp_factor"));
    return {};
  }

  /// One name for one thing: inputs, outputs and symbols share the expression's name space.
  Status names_are_distinct(const TomlValue& document) const {
    std::set<std::string> taken;
    for (const InputSpec& spec : task_.inputs) taken.insert(spec.name);
    for (const OutputSpec& spec : task_.outputs)
      if (!taken.insert(spec.name).second)
        return error(*document.find("outputs")->find(spec.name),
                     "\"" + spec.name + "\" is an input already");
    for (const auto& [name, text] : task_.derived)
      if (!taken.insert(name).second)
        return error(*document.find("symbols")->find(name),
                     "symbol \"" + name + "\" is the name of a tensor already");
    for (const ShapeSet& set : task_.shape_sets)
      for (const auto& [symbol, value] : set.symbols)
        if (taken.contains(symbol))
          return error(*document.find("shapes")->find(set.name)->find(symbol),
                       "symbol \"" + symbol + "\" is the name of a tensor already");
    return {};
  }

  /// Symbols that shapes, bounds and other symbols use, and the place of the first use.
  std::map<std::string, const TomlValue*> used_symbols(const TomlValue& document) const {
    std::map<std::string, const TomlValue*> used;
    auto add = [&](const std::string& text, const TomlValue* at) {
      const Result<std::vector<std::string>> names = symbols_of(text);
      for (const std::string& n : names ? *names : std::vector<std::string>()) used.emplace(n, at);
    };
    const TomlValue& inputs = *document.find("inputs");
    for (const InputSpec& spec : task_.inputs) {
      for (const std::string& d : spec.shape) add(d, inputs.find(spec.name)->find("shape"));
      if (!spec.bound.empty()) add(spec.bound, inputs.find(spec.name)->find("bound"));
    }
    for (const auto& [name, text] : task_.derived) add(text, document.find("symbols")->find(name));
    for (const auto& [name, text] : task_.derived) used.erase(name);
    return used;
  }

  bool expression_mentions(const std::string& word) const {
    auto is_word = [](char c) {
      return is_identifier(std::string(1, c)) || (c >= '0' && c <= '9');
    };
    const std::string& e = task_.expression;
    for (size_t at = e.find(word); at != std::string::npos; at = e.find(word, at + 1))
      if ((at == 0 || !is_word(e[at - 1])) &&
          (at + word.size() == e.size() || !is_word(e[at + word.size()])))
        return true;
    return false;
  }

  Status symbols_are_bound(const TomlValue& document) const {
    const auto used = used_symbols(document);
    std::set<std::string> bound_somewhere;
    for (const ShapeSet& set : task_.shape_sets)
      for (const auto& [symbol, value] : set.symbols) bound_somewhere.insert(symbol);
    std::vector<std::string> known;
    for (const auto& [symbol, at] : used) {
      known.push_back(symbol);
      if (!bound_somewhere.contains(symbol))
        return error(*at, "symbol \"" + symbol + "\" is bound by no shape set",
                     hint_for(symbol, {bound_somewhere.begin(), bound_somewhere.end()}));
    }
    for (const ShapeSet& set : task_.shape_sets) {
      const TomlValue& table = *document.find("shapes")->find(set.name);
      for (const auto& [symbol, value] : set.symbols)
        if (!used.contains(symbol) && !expression_mentions(symbol))
          return error_at_key(symbol, *table.find(symbol),
                              "symbol \"" + symbol + "\" is used nowhere in the task",
                              hint_for(symbol, known));
      for (const std::string& symbol : bound_somewhere)
        if (!set.symbols.contains(symbol))
          return error(table,
                       "shape set \"" + set.name + "\" does not bind symbol \"" + symbol + "\"");
    }
    return {};
  }

  std::string_view text_, file_;
  Task task_;
};

}  // namespace

Result<Task> parse_task(std::string_view text, std::string_view file_name) {
  if (text.size() > kMaxFileBytes)
    return fail(ErrorCode::limit, std::string(file_name) + " has " + format_bytes(text.size()) +
                                      "; a task has at most 1 MiB");
  FIEL_TRY(const TomlValue document, parse_toml(text, file_name));
  FIEL_TRY(Task task, Reader(text, file_name).read(document));
  task.source_file = std::string(file_name);
  task.digest = sha256_hex(text);
  for (const ShapeSet& set : task.shape_sets) {
    Result<Instance> at = task.instantiate(set);
    if (at) continue;
    Error error = std::move(at).error();
    // The graph's messages point into the expression already; the others have no place yet.
    if (error.what.find('\n') == std::string::npos) {
      const TomlValue& where = *document.find("shapes")->find(set.name);
      error.what = caret(text, file_name, where.line, where.column, error.what);
    }
    return fail(std::move(error).with_context("task \"" + task.name + "\", shape set \"" +
                                              set.name + "\""));
  }
  return task;
}

Result<Task> load_task(const std::string& path) {
  const auto parsed = [&]() -> Result<Task> {
    FIEL_TRY(const std::string text, read_file(path, kMaxFileBytes));
    return parse_task(text, path);
  };
  Result<Task> task = parsed();
  // What is no file, or too large to be taken, is the user's mistake: the machine could not do
  // better.
  if (!task && (task.error().code == ErrorCode::io || task.error().code == ErrorCode::limit))
    task.error().code = ErrorCode::usage;
  return task;
}

}  // namespace fiel::task
