#include "graph/bind.h"

#include <fmt/core.h>

#include <optional>

#include "base/text.h"

namespace fiel::graph {
namespace {

using BindResult = tl::expected<BoundCall, BindError>;

const char* type_name(AttributeType t) {
  switch (t) {
    case AttributeType::boolean:
      return "True or False";
    case AttributeType::integer:
      return "an integer";
    case AttributeType::real:
      return "a number";
    case AttributeType::text:
      return "a string";
    case AttributeType::integers:
      return "an integer or a list of integers";
    case AttributeType::reals:
      return "a number or a list of numbers";
    case AttributeType::padding:
      return "an integer, a list of integers or a string";
  }
  return "";
}

std::optional<double> real_of(const Operand& v) {
  if (auto* i = std::get_if<int64_t>(&v.value)) return static_cast<double>(*i);
  if (auto* d = std::get_if<double>(&v.value)) return *d;
  return std::nullopt;
}

template <typename T, typename Read>
std::optional<Attribute> list_of(const Operand& v, Read read) {
  std::vector<T> out;
  if (const auto* list = std::get_if<OperandList>(&v.value)) {
    for (const Operand& item : *list) {
      std::optional<T> value = read(item);
      if (!value) return std::nullopt;
      out.push_back(*value);
    }
    return Attribute(std::move(out));
  }
  std::optional<T> value = read(v);
  if (!value) return std::nullopt;
  out.push_back(*value);
  return Attribute(std::move(out));
}

std::optional<Attribute> convert(AttributeType type, const Operand& v) {
  auto integer = [](const Operand& o) -> std::optional<int64_t> {
    if (auto* i = std::get_if<int64_t>(&o.value)) return *i;
    return std::nullopt;
  };
  switch (type) {
    case AttributeType::boolean:
      if (auto* b = std::get_if<bool>(&v.value)) return Attribute(*b);
      return std::nullopt;
    case AttributeType::integer:
      if (auto i = integer(v)) return Attribute(*i);
      return std::nullopt;
    case AttributeType::real:
      if (auto d = real_of(v)) return Attribute(*d);
      return std::nullopt;
    case AttributeType::text:
      if (auto* s = std::get_if<std::string>(&v.value)) return Attribute(*s);
      return std::nullopt;
    case AttributeType::padding:
      if (auto* s = std::get_if<std::string>(&v.value)) return Attribute(*s);
      return list_of<int64_t>(v, integer);
    case AttributeType::integers:
      return list_of<int64_t>(v, integer);
    case AttributeType::reals:
      return list_of<double>(v, real_of);
  }
  return std::nullopt;
}

class Binder {
 public:
  Binder(const Operator& op, std::vector<Argument> arguments, uint32_t line, uint32_t column)
      : op_(op), arguments_(std::move(arguments)), line_(line), column_(column) {
    values_.resize(op.parameters.size());
  }

  BindResult run() {
    if (auto e = match()) return tl::unexpected(*e);
    for (size_t p = 0; p < values_.size(); ++p) {
      auto e = op_.parameters[p].kind == ParameterKind::attribute ? attribute(p) : tensor(p);
      if (e) return tl::unexpected(*e);
    }
    while (!bound_.tensors.empty() &&
           std::holds_alternative<NoneValue>(bound_.tensors.back().value))
      bound_.tensors.pop_back();
    return std::move(bound_);
  }

 private:
  using Problem = std::optional<BindError>;
  Problem problem(std::string message, const Operand* at = nullptr, std::string hint = {}) const {
    if (hint.empty()) hint = "the signature is " + op_.signature;
    return BindError{op_.name + ": " + std::move(message), std::move(hint), at ? at->line : line_,
                     at ? at->column : column_};
  }

  Problem match() {
    size_t next = 0;
    for (Argument& a : arguments_) {
      if (!a.keyword.empty()) {
        if (auto e = keyword(a)) return e;
        continue;
      }
      if (next >= values_.size())
        return problem(fmt::format("takes at most {} arguments", values_.size()), &a.value);
      bool list = op_.parameters[next].kind == ParameterKind::tensors;
      if (list && !a.value.is_list() && next + 1 == values_.size()) {
        if (!values_[next]) values_[next] = Operand{OperandList{}, a.value.line, a.value.column};
        std::get<OperandList>(values_[next]->value).push_back(std::move(a.value));
        continue;
      }
      values_[next++] = std::move(a.value);
    }
    return {};
  }

  Problem keyword(Argument& a) {
    std::vector<std::string> names;
    for (size_t p = 0; p < op_.parameters.size(); ++p) {
      names.push_back(op_.parameters[p].name);
      if (op_.parameters[p].name != a.keyword) continue;
      if (values_[p]) return problem(fmt::format("'{}' is given twice", a.keyword), &a.value);
      values_[p] = std::move(a.value);
      return {};
    }
    std::string near = did_you_mean(a.keyword, names);
    return problem(fmt::format("has no argument '{}'", a.keyword), &a.value,
                   near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  }

  Problem tensor(size_t p) {
    const Parameter& parameter = op_.parameters[p];
    if (parameter.kind == ParameterKind::tensors) return tensor_list(p);
    if (!values_[p] || std::holds_alternative<NoneValue>(values_[p]->value)) {
      if (parameter.required)
        return problem(fmt::format("argument '{}' (a tensor) is missing", parameter.name));
      bound_.tensors.push_back(Operand{NoneValue{}, line_, column_});
      return {};
    }
    if (!values_[p]->is_node() && !values_[p]->is_number())
      return problem(fmt::format("argument '{}' must be a tensor, not {}", parameter.name,
                                 describe(*values_[p])),
                     &*values_[p]);
    bound_.tensors.push_back(std::move(*values_[p]));
    return {};
  }

  Problem tensor_list(size_t p) {
    const Parameter& parameter = op_.parameters[p];
    if (!values_[p] || !values_[p]->is_list())
      return problem(fmt::format("argument '{}' must be a list of tensors", parameter.name),
                     values_[p] ? &*values_[p] : nullptr);
    auto& list = std::get<OperandList>(values_[p]->value);
    if (list.empty())
      return problem(fmt::format("argument '{}' is an empty list", parameter.name), &*values_[p]);
    for (Operand& item : list) {
      if (!item.is_node() && !item.is_number())
        return problem(
            fmt::format("'{}' must hold tensors, not {}", parameter.name, describe(item)), &item);
      bound_.tensors.push_back(std::move(item));
    }
    return {};
  }

  Problem attribute(size_t p) {
    const Parameter& parameter = op_.parameters[p];
    if (!values_[p]) {
      if (parameter.required)
        return problem(fmt::format("argument '{}' ({}) is missing", parameter.name,
                                   type_name(parameter.type)));
      return {};
    }
    const Operand& v = *values_[p];
    if (std::holds_alternative<NoneValue>(v.value)) {
      if (!parameter.required && !parameter.default_value) return {};
      return problem(fmt::format("argument '{}' cannot be None", parameter.name), &v);
    }
    std::optional<Attribute> value = convert(parameter.type, v);
    if (!value)
      return problem(fmt::format("argument '{}' must be {}, not {}", parameter.name,
                                 type_name(parameter.type), describe(v)),
                     &v);
    if (!parameter.default_value || *parameter.default_value != *value)
      bound_.attributes.emplace_back(parameter.name, std::move(*value));
    return {};
  }

  const Operator& op_;
  std::vector<Argument> arguments_;
  uint32_t line_, column_;
  std::vector<std::optional<Operand>> values_;
  BoundCall bound_;
};

}  // namespace

const char* describe(const Operand& operand) {
  static constexpr const char* kNames[] = {"None",     "a bool",   "an integer", "a real number",
                                           "a string", "a tensor", "a list"};
  return kNames[operand.value.index()];
}

tl::expected<BoundCall, BindError> bind_arguments(const Operator& op,
                                                  std::vector<Argument> arguments, uint32_t line,
                                                  uint32_t column) {
  return Binder(op, std::move(arguments), line, column).run();
}

Node constant_node(const Operand& number) {
  Node node;
  node.op = "constant";
  node.line = number.line;
  node.column = number.column;
  if (auto* b = std::get_if<bool>(&number.value)) {
    node.constant = *b ? 1 : 0;
    node.attributes.emplace_back("value", *b);
  } else if (auto* i = std::get_if<int64_t>(&number.value)) {
    node.constant = static_cast<double>(*i);
    node.attributes.emplace_back("value", *i);
  } else {
    node.constant = std::get<double>(number.value);
    node.attributes.emplace_back("value", node.constant);
  }
  return node;
}

}  // namespace fiel::graph
