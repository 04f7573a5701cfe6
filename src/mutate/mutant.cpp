#include "mutate/mutant.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "judge/probe_inputs.h"
#include "mutate/rules.h"

namespace fiel::mutate {
namespace {

constexpr std::array<std::string_view, kKinds.size()> kNames = {
    "bounds", "index", "operation", "constant", "barrier", "term", "precision", "neutral"};

// Precision is where a judge has most to weigh: twice a round.
constexpr std::array kTurns = {Kind::bounds,    Kind::index,     Kind::operation,
                               Kind::precision, Kind::constant,  Kind::barrier,
                               Kind::term,      Kind::precision, Kind::neutral};

/// Headers that a replacement needs and its source may lack.
std::string headers_for(const std::string& replacement) {
  std::string text;
  if (replacement.find("__float2half") != std::string::npos) text += "#include <cuda_fp16.h>\n";
  if (replacement.find("__float2bfloat16") != std::string::npos) text += "#include <cuda_bf16.h>\n";
  return text;
}

}  // namespace

std::string_view name_of(Kind kind) { return kNames[static_cast<size_t>(kind)]; }

std::optional<Kind> parse_kind(std::string_view name) {
  for (Kind k : kKinds)
    if (name_of(k) == name) return k;
  return std::nullopt;
}

std::vector<std::string> kind_names() { return {kNames.begin(), kNames.end()}; }

std::string Mutant::label() const {
  return fmt::format("{}:{} {}: {}", line, column, name_of(kind), rule);
}

std::string Site::source(size_t first, size_t last) const {
  if (first >= last) return {};
  const size_t begin = token(first).begin;
  return std::string(text.substr(begin, token(last - 1).end - begin));
}

void Site::replace(Kind kind, std::string_view rule, size_t first, size_t last,
                   std::string replacement) const {
  Mutant m;
  m.kind = kind;
  m.rule = rule;
  m.function = function.name;
  m.begin = token(first).begin;
  m.end = first == last ? m.begin : token(last - 1).end;
  m.line = token(first).line;
  m.column = token(first).column;
  m.original = source(first, last);
  m.replacement = std::move(replacement);
  if (m.original != m.replacement) mutants.push_back(std::move(m));
}

size_t Site::statement_begin(size_t i) const {
  while (i > function.begin) {
    const Token& before = token(i - 1);
    if (before.is(";") || before.is("{") || before.is("}") || before.is("else")) return i;
    if (before.is("]") || before.is(")")) {
      // `if (…) acc += v;`, `for (…) acc += v;`: the head stays.
      const size_t open = place(i - 1).partner;
      if (before.is(")") && open > 0 &&
          (is(open - 1, "if") || is(open - 1, "for") || is(open - 1, "while")))
        return i;
      i = open;
    } else {
      --i;
    }
  }
  return i;
}

Result<std::vector<Mutant>> mutants_of(std::string_view source) {
  FIEL_TRY(const DeviceCode code, read_device_code(source));
  std::vector<Mutant> all;
  for (const Function& function : code.functions) {
    const Site site{source, code, function, all};
    for (auto rules : {bounds_rules, index_rules, operation_rules, number_rules, barrier_rules,
                       term_rules, precision_rules})
      rules(site);
  }
  const auto place = [](const Mutant& m) { return std::tuple(m.begin, m.end); };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Mutant& a, const Mutant& b) { return place(a) < place(b); });
  // Two changes may come out as one: `h < 32 - 1` is a loop's end and a number.
  std::set<std::string> texts;
  std::erase_if(all, [&](const Mutant& m) { return !texts.insert(mutated(source, m)).second; });
  return all;
}

std::string mutated(std::string_view source, const Mutant& m) {
  std::string text = headers_for(m.replacement);
  text += source.substr(0, m.begin);
  text += m.replacement;
  text += source.substr(m.end);
  return text;
}

std::vector<Mutant> sample(const std::vector<Mutant>& mutants, size_t count, uint64_t seed) {
  std::vector<std::vector<size_t>> by_kind(kKinds.size());
  for (size_t i = 0; i < mutants.size(); ++i)
    by_kind[static_cast<size_t>(mutants[i].kind)].push_back(i);
  for (auto& list : by_kind)
    std::stable_sort(list.begin(), list.end(), [&](size_t a, size_t b) {
      return judge::derive_seed(seed, a) < judge::derive_seed(seed, b);
    });
  std::set<size_t> chosen;
  std::vector<size_t> taken(kKinds.size());
  while (chosen.size() < std::min(count, mutants.size()))
    for (Kind turn : kTurns) {
      const auto kind = static_cast<size_t>(turn);
      if (taken[kind] == by_kind[kind].size() || chosen.size() == count) continue;
      chosen.insert(by_kind[kind][taken[kind]++]);
    }
  std::vector<Mutant> result;
  for (size_t i : chosen) result.push_back(mutants[i]);
  return result;
}

}  // namespace fiel::mutate
