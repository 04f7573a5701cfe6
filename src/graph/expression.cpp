// The parser of the expression language: Python's assignments and infix operators over the
// catalogue's calls. Recursive descent, bounded in depth and in nodes.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "base/text.h"
#include "graph/bind.h"
#include "graph/fold.h"
#include "graph/graph.h"
#include "graph/infix.h"
#include "graph/lexer.h"
#include "graph/source_position.h"

namespace fiel::graph {
namespace {

constexpr size_t kMaxBytes = 64u << 10;
constexpr size_t kMaxNodes = 4096;
constexpr int kMaxDepth = 128;
constexpr size_t kMaxResults = 64;

class Parser {
 public:
  Parser(std::vector<Token> tokens, const ExpressionContext& context,
         std::shared_ptr<const Source> source)
      : tokens_(std::move(tokens)), context_(context) {
    graph_.source = std::move(source);
  }

  Result<Graph> run() {
    FIEL_TRY_STATUS(declare_inputs());
    while (token().kind != TokenKind::end) {
      if (token().kind == TokenKind::line_end) {
        ++at_;
        continue;
      }
      FIEL_TRY_STATUS(statement());
    }
    FIEL_TRY_STATUS(collect_outputs());
    return std::move(graph_);
  }

 private:
  struct Binding {
    Operand value;
    bool read = false;
    uint32_t line = 0, column = 0;
  };

  // --- tokens and errors
  const Token& token() const { return tokens_[at_]; }
  bool is_symbol(std::string_view s) const {
    return token().kind == TokenKind::symbol && token().text == s;
  }
  bool take(std::string_view s) { return is_symbol(s) && (++at_, true); }
  tl::unexpected<Error> error(const std::string& message, const Token& at,
                              std::string hint = {}) const {
    return fail(error_at(ErrorCode::parse, graph_.source.get(), at.line, at.column, message,
                         std::move(hint)));
  }
  tl::unexpected<Error> error_on(const std::string& message, const Operand& at,
                                 std::string hint = {}) const {
    return fail(error_at(ErrorCode::parse, graph_.source.get(), at.line, at.column, message,
                         std::move(hint)));
  }
  std::string found() const {
    if (token().kind == TokenKind::end || token().kind == TokenKind::line_end)
      return "the end of the line";
    return fmt::format("'{}'", token().text);
  }
  Status expect(std::string_view s, const char* what) {
    if (take(s)) return {};
    return error(fmt::format("expected '{}' {}, found {}", s, what, found()), token());
  }

  // --- names
  Status declare_inputs() {
    for (const std::string& name : context_.inputs) {
      if (variables_.count(name))
        return fail(ErrorCode::parse, fmt::format("input '{}' is declared twice", name));
      Node node;
      node.op = "input";
      node.name = name;
      FIEL_TRY(uint32_t id, add(std::move(node)));
      graph_.inputs.push_back(id);
      variables_[name] = Binding{Operand{NodeRef{id}}, true, 0, 0};
    }
    return {};
  }

  Result<uint32_t> add(Node node) {
    if (graph_.nodes.size() >= kMaxNodes)
      return fail(error_at(ErrorCode::limit, graph_.source.get(), node.line, node.column,
                           fmt::format("an expression of more than {} operations", kMaxNodes)));
    graph_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(graph_.nodes.size() - 1);
  }

  // --- statements
  Status statement() {
    std::vector<Token> targets;
    const Token first = token();
    do {
      if (token().kind != TokenKind::name)
        return error(fmt::format("expected a name to assign to, found {}", found()), token(),
                     "write: y = relu(x)");
      targets.push_back(token());
      ++at_;
    } while (take(","));
    if (!is_symbol("="))
      return error(fmt::format("expected '=' after the name, found {}", found()), token(),
                   "each line assigns: y = relu(x)");
    ++at_;
    for (const Token& target : targets) FIEL_TRY_STATUS(check_target(target));
    last_call_.reset();
    FIEL_TRY(Operand value, expression());
    if (token().kind != TokenKind::line_end)
      return error(fmt::format("expected the end of the statement, found {}", found()), token());
    if (targets.size() == 1) return assign(targets[0], std::move(value));
    return assign_results(first, targets, value);
  }

  Status check_target(const Token& target) const {
    std::string name(target.text);
    if (name == "True" || name == "False" || name == "None" || name == "inf" || name == "nan")
      return error(fmt::format("'{}' cannot be assigned", name), target);
    auto it = variables_.find(name);
    if (it != variables_.end() && name != "_")
      return error(fmt::format("'{}' is assigned twice", name), target,
                   "give each value its own name");
    if (context_.symbols.count(name))
      return error(fmt::format("'{}' is a symbol of the task", name), target);
    return {};
  }

  Status assign(const Token& target, Operand value) {
    std::string name(target.text);
    if (name == "_") return {};
    if (!value.is_node() && !value.is_number())
      return error_on(fmt::format("'{}' would be {}; only tensors and numbers can be assigned",
                                  name, describe(value)),
                      value);
    if (auto* ref = std::get_if<NodeRef>(&value.value)) {
      Node& node = graph_.nodes[ref->node];
      if (node.name.empty() && node.op != "constant") node.name = name;
    }
    names_.push_back(name);
    variables_[name] = Binding{std::move(value), false, target.line, target.column};
    return {};
  }

  Status assign_results(const Token& first, const std::vector<Token>& targets,
                        const Operand& value) {
    const auto* ref = std::get_if<NodeRef>(&value.value);
    const Operator* op = ref && last_call_ == ref->node && ref->node + 1 == graph_.nodes.size()
                             ? find_operator(graph_.nodes[ref->node].op)
                             : nullptr;
    if (!op || op->result_count == 1)
      return error("only a call with several results can be taken apart", first,
                   "for instance: values, indices = topk(x, k=5)");
    size_t most = op->result_count == 0 ? kMaxResults : op->result_count;
    if (targets.size() > most)
      return error(fmt::format("{} has {} results, not {}", op->name, most, targets.size()), first);
    Node call = graph_.nodes[ref->node];
    graph_.nodes.pop_back();
    for (size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].text == "_") continue;
      Node node = call;
      node.result = static_cast<uint8_t>(i);
      FIEL_TRY(uint32_t id, add(std::move(node)));
      FIEL_TRY_STATUS(assign(targets[i], Operand{NodeRef{id}, call.line, call.column}));
    }
    return {};
  }

  Status collect_outputs() {
    std::vector<std::string> wanted = context_.outputs;
    if (wanted.empty())
      for (const std::string& name : names_)
        if (!variables_[name].read) wanted.push_back(name);
    for (const std::string& name : wanted) {
      auto it = variables_.find(name);
      if (it == variables_.end() ||
          context_.inputs.end() != std::find(context_.inputs.begin(), context_.inputs.end(), name))
        return fail(ErrorCode::parse, fmt::format("output '{}' is never assigned", name),
                    hint_for_name(name));
      FIEL_TRY(uint32_t id, node_of(it->second.value));
      graph_.outputs.push_back({name, id});
    }
    if (graph_.outputs.empty())
      return fail(ErrorCode::parse, "the expression assigns no output", "write: y = relu(x)");
    return {};
  }

  Result<uint32_t> node_of(const Operand& value) {
    if (auto* ref = std::get_if<NodeRef>(&value.value)) return ref->node;
    if (std::holds_alternative<NoneValue>(value.value)) {
      Node node;
      node.op = "none";
      return add(std::move(node));
    }
    return add(constant_node(value));
  }

  // --- expressions, by precedence (Python's)
  Result<Operand> expression() { return binary(0); }

  Result<Operand> binary(int level) {
    if (level == kInfixLevels) return unary();
    FIEL_TRY(Operand left, binary(level + 1));
    while (token().kind == TokenKind::symbol) {
      const Infix* infix = infix_of_symbol(token().text);
      if (!infix || infix->level != level) break;
      Token at = token();
      ++at_;
      FIEL_TRY(Operand right, binary(level + 1));
      FIEL_TRY(left, combine(*infix, at, std::move(left), std::move(right)));
      if (level == 0 && token().kind == TokenKind::symbol && infix_of_symbol(token().text) &&
          infix_of_symbol(token().text)->level == 0)
        return error("comparisons cannot be chained", token(), "write: logical_and(a < b, b < c)");
    }
    return left;
  }

  Result<Operand> combine(const Infix& infix, const Token& at, Operand left, Operand right) {
    if (left.is_number() && right.is_number()) {
      Folded folded = fold_binary(infix.symbol, left, right);
      if (!folded.error.empty()) return error(folded.error, at);
      if (folded.value) return located(std::move(*folded.value), left);
    }
    for (const Operand* side : {&left, &right})
      if (!side->is_node() && !side->is_number())
        return error_on(
            fmt::format("'{}' takes tensors and numbers, not {}", infix.symbol, describe(*side)),
            *side);
    return call_node(*find_operator(infix.op), {{"", std::move(left)}, {"", std::move(right)}},
                     at.line, at.column);
  }

  static Operand located(Operand value, const Operand& like) {
    value.line = like.line;
    value.column = like.column;
    return value;
  }

  struct Depth {
    int& depth;
    explicit Depth(int& d) : depth(++d) {}
    ~Depth() { --depth; }
  };

  Result<Operand> unary() {
    Depth guard(depth_);
    if (depth_ > kMaxDepth)
      return fail(error_at(ErrorCode::limit, graph_.source.get(), token().line, token().column,
                           fmt::format("nested more than {} deep", kMaxDepth),
                           "name intermediate values on lines of their own"));
    Token at = token();
    if (take("+")) return unary();
    if (!is_symbol("-") && !is_symbol("~")) return power();
    ++at_;
    FIEL_TRY(Operand value, unary());
    if (at.text == "-" && value.is_number()) {
      Folded folded = fold_negative(value);
      if (!folded.value) return error(folded.error, at);
      folded.value->line = at.line;
      folded.value->column = at.column;
      return std::move(*folded.value);
    }
    return call_node(*find_operator(at.text == "-" ? "neg" : "bitwise_not"),
                     {{"", std::move(value)}}, at.line, at.column);
  }

  Result<Operand> power() {
    FIEL_TRY(Operand base, primary());
    if (!is_symbol("**")) return base;
    Token at = token();
    ++at_;
    FIEL_TRY(Operand exponent, unary());  // right-associative, and binds -x on its right
    return combine(*infix_of_symbol("**"), at, std::move(base), std::move(exponent));
  }

  Result<Operand> primary() {
    Token at = token();
    ++at_;
    Operand value{NoneValue{}, at.line, at.column};
    switch (at.kind) {
      case TokenKind::integer:
      case TokenKind::real:
        return number(at);
      case TokenKind::text:
        value.value = std::string(at.text);
        return value;
      case TokenKind::name:
        if (is_symbol("(")) return call(at);
        return name(at);
      case TokenKind::symbol:
        if (at.text == "[") return list(at, "]");
        if (at.text == "(") return parenthesis(at);
        break;
      default:
        break;
    }
    --at_;
    return error(fmt::format("expected a value, found {}", found()), at);
  }

  Result<Operand> number(const Token& at) {
    std::string digits;
    for (char c : at.text)
      if (c != '_') digits += c;
    Operand value{NoneValue{}, at.line, at.column};
    if (at.kind == TokenKind::integer) {
      int64_t i = 0;
      auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), i);
      if (ec != std::errc()) return error("an integer beyond 64 bits", at, "write 1e30 for a real");
      value.value = i;
      return value;
    }
    double d = 0;
    auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), d);
    if (ec != std::errc()) return error("a number outside the range of double", at);
    value.value = d;
    return value;
  }

  Result<Operand> name(const Token& at) {
    std::string word(at.text);
    auto it = variables_.find(word);
    if (it != variables_.end()) {
      it->second.read = true;
      Operand value = it->second.value;
      value.line = at.line;
      value.column = at.column;
      return value;
    }
    Operand value{NoneValue{}, at.line, at.column};
    auto symbol = context_.symbols.find(word);
    if (symbol != context_.symbols.end())
      value.value = symbol->second;
    else if (word == "True" || word == "False")
      value.value = word == "True";
    else if (word == "inf")
      value.value = std::numeric_limits<double>::infinity();
    else if (word == "nan")
      value.value = std::numeric_limits<double>::quiet_NaN();
    else if (word == "pi")
      value.value = M_PI;
    else if (word != "None")
      return error(fmt::format("'{}' is not known here", word), at, hint_for_name(word));
    return value;
  }

  std::string hint_for_name(const std::string& word) const {
    std::vector<std::string> known;
    for (const auto& [name, binding] : variables_) known.push_back(name);
    for (const auto& [name, value] : context_.symbols) known.push_back(name);
    std::string near = did_you_mean(word, known);
    if (!near.empty()) return fmt::format("did you mean '{}'?", near);
    if (find_operator(word)) return fmt::format("'{}' is an operator: call it", word);
    return "inputs, symbols and names assigned above can be used";
  }

  Result<Operand> parenthesis(const Token& at) {
    if (is_symbol(")")) return list(at, ")");
    FIEL_TRY(Operand value, expression());
    if (take(")")) return value;
    if (!take(",")) return expect(")", "to close the parenthesis").map([&] { return value; });
    FIEL_TRY(Operand rest, list(at, ")"));
    auto& items = std::get<OperandList>(rest.value);
    items.insert(items.begin(), std::move(value));
    return rest;
  }

  Result<Operand> list(const Token& at, std::string_view close) {
    OperandList items;
    while (!is_symbol(close)) {
      FIEL_TRY(Operand item, expression());
      if (items.size() >= kMaxNodes) return error("a list of too many items", at);
      items.push_back(std::move(item));
      if (!take(",")) break;
    }
    FIEL_TRY_STATUS(expect(close, "to close the list"));
    return Operand{std::move(items), at.line, at.column};
  }

  // --- calls
  Result<Operand> call(const Token& at) {
    ++at_;  // "("
    const Operator* op = find_operator(at.text);
    if (!op) {
      std::string near = nearest_operator(at.text);
      return error(
          fmt::format("there is no operator '{}'", at.text), at,
          near.empty() ? "docs/operators.md lists them" : fmt::format("did you mean '{}'?", near));
    }
    std::vector<Argument> arguments;
    FIEL_TRY_STATUS(call_arguments(arguments));
    bool numbers = true;
    std::vector<Operand> values;
    for (const Argument& a : arguments) {
      numbers = numbers && a.keyword.empty() && a.value.is_number();
      if (numbers) values.push_back(a.value);
    }
    if (numbers) {
      Folded folded = fold_call(at.text, values);
      if (!folded.error.empty()) return error(folded.error, at);
      if (folded.value) {
        folded.value->line = at.line;
        folded.value->column = at.column;
        return std::move(*folded.value);
      }
    }
    // torch.max(a, b) of two tensors is the elementwise maximum.
    if ((op->name == "max" || op->name == "min") && arguments.size() == 2 &&
        arguments[1].keyword.empty() && arguments[1].value.is_node())
      op = find_operator(op->name == "max" ? "maximum" : "minimum");
    return call_node(*op, std::move(arguments), at.line, at.column);
  }

  Status call_arguments(std::vector<Argument>& arguments) {
    while (!is_symbol(")")) {
      Argument a;
      if (token().kind == TokenKind::name && tokens_[at_ + 1].kind == TokenKind::symbol &&
          tokens_[at_ + 1].text == "=") {
        a.keyword = token().text;
        at_ += 2;
      } else if (!arguments.empty() && !arguments.back().keyword.empty()) {
        return error("a positional argument after a keyword argument", token());
      }
      FIEL_TRY(a.value, expression());
      if (arguments.size() >= kMaxNodes) return error("too many arguments", token());
      arguments.push_back(std::move(a));
      if (!take(",")) break;
    }
    return expect(")", "to close the call");
  }

  Result<Operand> call_node(const Operator& op, std::vector<Argument> arguments, uint32_t line,
                            uint32_t column) {
    auto bound = bind_arguments(op, std::move(arguments), line, column);
    if (!bound)
      return fail(error_at(ErrorCode::parse, graph_.source.get(), bound.error().line,
                           bound.error().column, bound.error().message, bound.error().hint));
    Node node;
    node.op = op.name;
    node.line = line;
    node.column = column;
    node.attributes = std::move(bound->attributes);
    for (const Operand& input : bound->tensors) {
      FIEL_TRY(uint32_t id, node_of(input));
      node.inputs.push_back(id);
    }
    FIEL_TRY(uint32_t id, add(std::move(node)));
    last_call_ = id;
    return Operand{NodeRef{id}, line, column};
  }

  std::vector<Token> tokens_;
  const ExpressionContext& context_;
  Graph graph_;
  std::map<std::string, Binding> variables_;
  std::vector<std::string> names_;     ///< in the order assigned
  std::optional<uint32_t> last_call_;  ///< what `a, b = …` may take apart
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Graph> parse_expression(std::string_view text, const ExpressionContext& context) {
  if (text.size() > kMaxBytes)
    return fail(ErrorCode::limit,
                fmt::format("an expression of {} bytes; the most is {}", text.size(), kMaxBytes));
  auto source =
      std::make_shared<Source>(Source{context.file_name, std::string(text), context.first_line});
  FIEL_TRY(std::vector<Token> tokens, tokenize(*source));
  return Parser(std::move(tokens), context, std::move(source)).run();
}

}  // namespace fiel::graph
