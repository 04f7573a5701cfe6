// Graphs back to text, and comparison of graphs.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "graph/graph.h"
#include "graph/infix.h"
#include "graph/operators.h"

namespace fiel::graph {
namespace {

/// Beyond this many levels of nesting a node gets a line of its own: the parser's bound is 128.
constexpr int kMaxNesting = 60;

std::string real_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  std::string s = format_double(v);
  if (s.find_first_of(".eE") == std::string::npos) s += ".0";
  return s;
}

template <typename T, typename Print>
std::string list_text(const std::vector<T>& items, Print print) {
  if (items.size() == 1) return print(items[0]);
  std::string s = "[";
  for (size_t i = 0; i < items.size(); ++i) s += (i ? ", " : "") + print(items[i]);
  return s + "]";
}

std::string attribute_text(const Attribute& a) {
  struct Visitor {
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return real_text(v); }
    std::string operator()(const std::string& v) const { return "\"" + v + "\""; }
    std::string operator()(const std::vector<int64_t>& v) const {
      return list_text(v, [](int64_t i) { return std::to_string(i); });
    }
    std::string operator()(const std::vector<double>& v) const { return list_text(v, real_text); }
  };
  return std::visit(Visitor{}, a);
}

bool same_call(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.attributes == b.attributes;
}

class Printer {
 public:
  explicit Printer(const Graph& g)
      : g_(g), names_(g.nodes.size()), nesting_(g.nodes.size()), live_(g.nodes.size()) {
    for (const Output& o : g.outputs) live_[o.node] = true;
    for (size_t id = g.nodes.size(); id-- > 0;)
      for (uint32_t in : g.nodes[id].inputs)
        if (live_[id]) live_[in] = true;
    choose_names();
  }

  std::string run() {
    std::string out;
    for (uint32_t id = 0; id < g_.nodes.size(); ++id) {
      const Node& node = g_.nodes[id];
      if (!live_[id] || names_[id].empty() || node.op == "input" || printed_.count(id)) continue;
      out += targets(id) + " = " + text(id, 0, true) + "\n";
    }
    for (const Output& o : g_.outputs)
      if (names_[o.node] != o.name) out += o.name + " = " + text(o.node, 0, false) + "\n";
    return out;
  }

 private:
  static bool inlined_always(const Node& n) { return n.op == "constant" || n.op == "none"; }
  bool multiple(const Node& n) const {
    const Operator* op = find_operator(n.op);
    return op && op->result_count != 1;
  }

  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 1; !used_.insert(name).second; ++n) name = fmt::format("{}_{}", wanted, n);
    return name;
  }

  void choose_names() {
    std::vector<int> uses(g_.nodes.size());
    for (size_t id = 0; id < g_.nodes.size(); ++id)
      for (uint32_t in : g_.nodes[id].inputs) uses[in] += live_[id];
    for (uint32_t id : g_.inputs) used_.insert(names_[id] = g_.nodes[id].name);
    // Output names first: they are the graph's interface, a node's own name is only a wish.
    for (const Output& o : g_.outputs)
      if (names_[o.node].empty() && !inlined_always(g_.nodes[o.node]) &&
          used_.insert(o.name).second)
        names_[o.node] = o.name;
    for (const Output& o : g_.outputs) used_.insert(o.name);
    for (uint32_t id = 0; id < g_.nodes.size(); ++id) {
      const Node& n = g_.nodes[id];
      if (n.op == "input" || inlined_always(n) || !live_[id]) continue;
      int deepest = 0;
      for (uint32_t in : n.inputs)
        if (names_[in].empty()) deepest = std::max(deepest, nesting_[in]);
      nesting_[id] = deepest + 1;
      if (!names_[id].empty()) continue;
      bool needs_name = uses[id] > 1 || nesting_[id] > kMaxNesting || multiple(n);
      if (n.name.empty() && needs_name)
        names_[id] = fresh("t" + std::to_string(id));
      else if (!n.name.empty() && uses[id] > 0)
        names_[id] = fresh(n.name);
    }
  }

  /// "v, _, i" of a call with several results, together with its siblings; else the name.
  std::string targets(uint32_t id) {
    const Node& node = g_.nodes[id];
    if (!multiple(node)) return names_[id];
    std::map<int, std::string> by_result;
    for (uint32_t other = id; other < g_.nodes.size() && same_call(g_.nodes[other], node); ++other)
      if (live_[other] && !names_[other].empty() && !by_result.count(g_.nodes[other].result)) {
        by_result[g_.nodes[other].result] = names_[other];
        printed_.insert(other);
      }
    if (by_result.size() == 1 && node.result == 0) return names_[id];
    std::string out;
    int last = std::max(by_result.rbegin()->first, 1);
    for (int r = 0; r <= last; ++r)
      out += (r ? ", " : "") + (by_result.count(r) ? by_result[r] : std::string("_"));
    return out;
  }

  static std::string wrap(std::string s, bool parenthesis) {
    return parenthesis ? "(" + s + ")" : s;
  }

  std::string text(uint32_t id, int level, bool definition) const {
    const Node& n = g_.nodes[id];
    if (!definition && !names_[id].empty()) return names_[id];
    if (n.op == "none") return "None";
    if (n.op == "constant") {
      std::string s =
          n.attributes.empty() ? real_text(n.constant) : attribute_text(n.attributes[0].second);
      return wrap(s, s[0] == '-' && level >= kUnaryLevel);
    }
    if (n.attributes.empty() && n.inputs.size() == 2 && infix_of_operator(n.op) &&
        !(is_constant(n.inputs[0]) && is_constant(n.inputs[1])))
      return infix(n, *infix_of_operator(n.op), level);
    if ((n.op == "neg" || n.op == "bitwise_not") && n.inputs.size() == 1 &&
        !is_constant(n.inputs[0]))
      return wrap((n.op == "neg" ? "-" : "~") + text(n.inputs[0], kUnaryLevel, false),
                  level > kUnaryLevel);
    return call(n);
  }

  bool is_constant(uint32_t id) const { return g_.nodes[id].op == "constant"; }

  std::string infix(const Node& n, const Infix& i, int level) const {
    bool power = i.level == kPowerLevel;
    // Comparisons do not chain, so both their sides bind tighter.
    std::string left = text(n.inputs[0], power ? kPrimaryLevel : i.level + (i.level == 0), false);
    std::string right = text(n.inputs[1], power ? kUnaryLevel : i.level + 1, false);
    return wrap(fmt::format("{} {} {}", left, i.symbol, right), level > i.level);
  }

  std::string call(const Node& n) const {
    const Operator* op = find_operator(n.op);
    std::string out = n.op + "(";
    bool first = true;
    auto item = [&](const std::string& s) {
      out += (first ? "" : ", ") + s;
      first = false;
    };
    bool list = op && op->takes_list();
    // Written with keywords, a call of numbers alone is not worked out while parsing.
    bool keywords = !list && std::all_of(n.inputs.begin(), n.inputs.end(),
                                         [&](uint32_t in) { return is_constant(in); });
    size_t slot = 0;
    if (!op) return out + ")";
    for (const Parameter& p : op->parameters) {
      if (p.kind == ParameterKind::attribute) {
        bool found = false;
        for (const auto& [key, value] : n.attributes)
          if (key == p.name) {
            bool positional = p.required && !keywords;
            item(positional ? attribute_text(value) : key + "=" + attribute_text(value));
            found = true;
          }
        keywords = keywords || !found || !p.required;
        continue;
      }
      if (p.kind == ParameterKind::tensors && list) {
        std::string items;
        for (; slot < n.inputs.size(); ++slot)
          items += (items.empty() ? "" : ", ") + text(n.inputs[slot], 0, false);
        item(keywords ? p.name + "=[" + items + "]" : "[" + items + "]");
        continue;
      }
      if (slot < n.inputs.size()) {
        std::string value = text(n.inputs[slot++], 0, false);
        if (value == "None")
          keywords = true;
        else
          item(keywords ? p.name + "=" + value : value);
      } else {
        keywords = true;
      }
    }
    return out + ")";
  }

  const Graph& g_;
  std::vector<std::string> names_;
  std::vector<int> nesting_;
  std::vector<bool> live_;  ///< nodes that no output needs are left out
  std::set<std::string> used_;
  std::set<uint32_t> printed_;
};

using Numbers = std::map<std::string, int>;

/// A number for each node such that equal computations get equal numbers.
std::vector<int> value_numbers(const Graph& g, Numbers& table) {
  std::vector<int> numbers(g.nodes.size());
  for (uint32_t id = 0; id < g.nodes.size(); ++id) {
    const Node& n = g.nodes[id];
    std::string key = fmt::format("{}#{}", n.op, n.result);
    for (uint32_t in : n.inputs) key += fmt::format(",{}", numbers[in]);
    for (const auto& [name, value] : n.attributes)
      key += fmt::format(";{}={}:{}", name, value.index(), attribute_text(value));
    if (n.op == "input") {
      size_t position = 0;
      while (position < g.inputs.size() && g.inputs[position] != id) ++position;
      key += fmt::format("@{}:{}", position, n.name);
    }
    numbers[id] = table.emplace(key, static_cast<int>(table.size())).first->second;
  }
  return numbers;
}

}  // namespace

std::string to_expression(const Graph& graph) { return Printer(graph).run(); }

bool same_computation(const Graph& a, const Graph& b) {
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return false;
  Numbers table;
  std::vector<int> in_a = value_numbers(a, table), in_b = value_numbers(b, table);
  for (size_t i = 0; i < a.inputs.size(); ++i)
    if (in_a[a.inputs[i]] != in_b[b.inputs[i]]) return false;
  for (size_t i = 0; i < a.outputs.size(); ++i)
    if (a.outputs[i].name != b.outputs[i].name ||
        in_a[a.outputs[i].node] != in_b[b.outputs[i].node])
      return false;
  return true;
}

}  // namespace fiel::graph
