#include "graph/operators.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "base/check.h"
#include "base/text.h"

namespace fiel::graph {
namespace {

AttributeType attribute_type(std::string_view word) {
  if (word == "bool") return AttributeType::boolean;
  if (word == "int") return AttributeType::integer;
  if (word == "float") return AttributeType::real;
  if (word == "str") return AttributeType::text;
  if (word == "int[]") return AttributeType::integers;
  if (word == "float[]") return AttributeType::reals;
  FIEL_CHECK(word == "padding", "attribute type of a catalogue row");
  return AttributeType::padding;
}

double number_of(std::string_view word) {
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  double v = 0;
  auto [end, ec] = std::from_chars(word.data(), word.data() + word.size(), v);
  FIEL_CHECK(ec == std::errc() && end == word.data() + word.size(), "number of a catalogue row");
  return v;
}

Attribute default_of(AttributeType type, std::string_view word) {
  switch (type) {
    case AttributeType::boolean:
      return word == "True";
    case AttributeType::integer:
      return static_cast<int64_t>(number_of(word));
    case AttributeType::real:
      return number_of(word);
    case AttributeType::text:
      return std::string(word.substr(1, word.size() - 2));
    case AttributeType::reals:
      return std::vector<double>{number_of(word)};
    case AttributeType::integers:
    case AttributeType::padding:
      if (word == "[]") return std::vector<int64_t>{};
      return std::vector<int64_t>{static_cast<int64_t>(number_of(word))};
  }
  return false;
}

Parameter parameter_of(std::string_view text) {
  Parameter p;
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    if (text.back() == '?') {
      p.kind = ParameterKind::optional_tensor;
      p.required = false;
      text.remove_suffix(1);
    } else if (text.back() == '*') {
      p.kind = ParameterKind::tensors;
      text.remove_suffix(1);
    }
    p.name = text;
    return p;
  }
  p.kind = ParameterKind::attribute;
  p.name = trim(text.substr(0, colon));
  std::string_view rest = trim(text.substr(colon + 1));
  size_t equals = rest.find('=');
  p.type = attribute_type(trim(rest.substr(0, equals)));
  if (equals != std::string_view::npos) {
    p.required = false;
    std::string_view word = trim(rest.substr(equals + 1));
    if (word != "None") p.default_value = default_of(p.type, word);
  }
  return p;
}

struct Catalogue {
  std::vector<Operator> rows;
  std::unordered_map<std::string, size_t> by_name;

  void add(const char* group, std::vector<Operator> more) {
    for (Operator& op : more) {
      op.group = group;
      complete_from_signature(op);
      FIEL_CHECK(op.infer && op.evaluate && op.cost, "a catalogue row lacks a function");
      bool fresh = by_name.emplace(op.name, rows.size()).second;
      FIEL_CHECK(fresh, "two catalogue rows of one name");
      rows.push_back(std::move(op));
    }
  }

  Catalogue() {
    add("Unary", unary_operators());
    add("Binary, comparison and selection", binary_operators());
    add("Matrix products", matmul_operators());
    add("Convolution", convolution_operators());
    add("Pooling and resampling", pooling_operators());
    add("Reductions", reduction_operators());
    add("Scans and sorting", scan_operators());
    add("Softmax", softmax_operators());
    add("Normalisation", normalization_operators());
    add("Indexing", indexing_operators());
    add("Shape", shape_operators());
    add("Losses and distances", loss_operators());
    add("Attention", attention_operators());
    add("Recurrent cells", recurrent_operators());
  }
};

const Catalogue& the_catalogue() {
  static const Catalogue instance;
  return instance;
}

}  // namespace

void complete_from_signature(Operator& op) {
  std::string_view text = op.signature;
  size_t open = text.find('(');
  FIEL_CHECK(open != std::string_view::npos && text.back() == ')', "signature of a catalogue row");
  op.name = text.substr(0, open);
  op.parameters.clear();
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  if (trim(inside).empty()) return;
  for (std::string_view part : split(inside, ','))
    op.parameters.push_back(parameter_of(trim(part)));
}

size_t Operator::tensor_parameter_count() const {
  return static_cast<size_t>(
      std::count_if(parameters.begin(), parameters.end(),
                    [](const Parameter& p) { return p.kind != ParameterKind::attribute; }));
}

size_t Operator::min_inputs() const {
  return static_cast<size_t>(
      std::count_if(parameters.begin(), parameters.end(), [](const Parameter& p) {
        return p.kind == ParameterKind::tensor || p.kind == ParameterKind::tensors;
      }));
}

bool Operator::takes_list() const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const Parameter& p) { return p.kind == ParameterKind::tensors; });
}

std::span<const Operator> catalogue() { return the_catalogue().rows; }

const Operator* find_operator(std::string_view name) {
  const Catalogue& c = the_catalogue();
  auto it = c.by_name.find(std::string(name));
  return it == c.by_name.end() ? nullptr : &c.rows[it->second];
}

std::string nearest_operator(std::string_view name) {
  std::vector<std::string> names;
  for (const Operator& op : catalogue()) names.push_back(op.name);
  return did_you_mean(name, names);
}

const Attribute* Call::find(std::string_view name) const {
  for (const auto& [key, value] : node->attributes)
    if (key == name) return &value;
  for (const Parameter& p : op->parameters)
    if (p.name == name) return p.default_value ? &*p.default_value : nullptr;
  FIEL_CHECK(false, "an operator asked for an attribute that its signature lacks");
}

bool Call::flag(std::string_view name) const {
  const Attribute* a = find(name);
  return a && std::get<bool>(*a);
}

int64_t Call::integer(std::string_view name) const {
  const Attribute* a = find(name);
  return a ? std::get<int64_t>(*a) : 0;
}

double Call::real(std::string_view name) const {
  const Attribute* a = find(name);
  return a ? std::get<double>(*a) : 0;
}

std::string Call::text(std::string_view name) const {
  const Attribute* a = find(name);
  return a && std::holds_alternative<std::string>(*a) ? std::get<std::string>(*a) : std::string();
}

std::vector<int64_t> Call::integers(std::string_view name) const {
  const Attribute* a = find(name);
  if (!a || !std::holds_alternative<std::vector<int64_t>>(*a)) return {};
  return std::get<std::vector<int64_t>>(*a);
}

std::vector<double> Call::reals(std::string_view name) const {
  const Attribute* a = find(name);
  return a ? std::get<std::vector<double>>(*a) : std::vector<double>{};
}

std::string operators_markdown() {
  std::string out =
      "# Operators\n\n"
      "Generated from the catalogue (`src/graph/ops/`); a test compares this file with it.\n\n"
      "Names, argument order, defaults and semantics are PyTorch's. In a signature `x` is a tensor "
      "(or a number, where PyTorch takes one), `x?` an optional tensor, `x*` a list of tensors, "
      "`x: type` an attribute. Where an operator has several results, take them apart with "
      "`a, b = op(...)`; a single name takes the first.\n";
  std::string group;
  for (const Operator& op : catalogue()) {
    if (op.group != group) {
      group = op.group;
      out += "\n## " + group + "\n\n| operator | meaning |\n|---|---|\n";
    }
    out += "| `" + op.signature + "` | " + op.documentation + " |\n";
  }
  return out;
}

}  // namespace fiel::graph
