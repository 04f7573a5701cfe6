// A score as tables: for a terminal, and for a page.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "mutate/score.h"

namespace fiel::mutate {
namespace {

using Row = std::vector<std::string>;

std::string percent(const judge::Rate& r) {
  if (r.of == 0) return "-";
  return fmt::format("{:.1f} ({:.1f}-{:.1f})",
                     100.0 * static_cast<double>(r.count) / static_cast<double>(r.of), 100 * r.low,
                     100 * r.high);
}

std::vector<Row> kind_rows(const Score& s) {
  Row head = {"kind", "made", "not compiled", "same code", "no witness", "witnessed"};
  for (const std::string& column : score_columns()) head.push_back(column);
  std::vector<Row> rows = {head};
  const auto add = [&](const KindScore& k) {
    Row row = {k.kind.empty() ? "all" : k.kind};
    for (uint64_t n : {k.made, k.not_compiled, k.same_code, k.unwitnessed, k.witnessed})
      row.push_back(fmt::format("{}", n));
    for (const std::string& column : score_columns()) row.push_back(percent(k.missed.at(column)));
    rows.push_back(std::move(row));
  };
  for (const KindScore& k : s.kinds) add(k);
  add(s.total);
  return rows;
}

std::vector<Row> cover_rows(const char* what, const std::vector<CoverRow>& cover, bool cost) {
  std::vector<Row> rows = {{what, "sees", "more than those above", "seen so far"}};
  if (cost) rows.front().push_back("calls a kernel");
  for (const CoverRow& r : cover) {
    rows.push_back({r.name, fmt::format("{}", r.alone), fmt::format("{}", r.marginal),
                    fmt::format("{}", r.seen)});
    if (cost) rows.back().push_back(fmt::format("{:.1f}", r.calls));
  }
  return rows;
}

std::string plain(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c)
      line += c == 0 ? fmt::format("{:<{}}", row[c], widths[c])
                     : fmt::format("  {:>{}}", row[c], widths[c]);
    text += line + "\n";
  }
  return text;
}

/// A bar would end a cell of a Markdown table.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string markdown(const std::vector<Row>& rows) {
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    text += "|";
    for (const std::string& word : rows[r]) text += " " + cell(word) + " |";
    text += "\n";
    if (r > 0) continue;
    text += "|";
    for (size_t c = 0; c < rows[r].size(); ++c) text += c == 0 ? "---|" : "---:|";
    text += "\n";
  }
  return text;
}

std::string one_line(const std::string& source) {
  std::string text;
  for (char c : printable(source, 70)) text += c == '\n' ? ' ' : c;
  return text.empty() ? "(nothing)" : text;
}

std::string missed_line(const MutantRecord& r) {
  return fmt::format("{}:{}  `{}` -> `{}`; witness: {} at {}, {}", r.subject.kernel,
                     r.mutant.label(), one_line(r.mutant.original), one_line(r.mutant.replacement),
                     r.witness->how, r.witness->shape, r.witness->style);
}

std::string summary(const Score& s) {
  return fmt::format(
      "{} kernels, {} input sets of the search on which they are right, {} mutants; {} of the {} "
      "without a witness are rejected by strict-quick.",
      s.subjects, s.inputs, s.total.made, s.total.strict_alone, s.total.unwitnessed);
}

/// RFC 4180, line ends made visible: a line stays a record.
std::string field(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"')
      out += "\"\"";
    else
      out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

std::string csv_line(const MutantRecord& r) {
  const Mutant& m = r.mutant;
  std::string line = fmt::format("{},{},{},{},{},{},{},{},{}", field(r.subject.task),
                                 field(r.subject.kernel), m.line, m.column, name_of(m.kind), m.rule,
                                 field(m.original), field(m.replacement), name_of(r.fate));
  const FoundWitness none;
  const FoundWitness& w = r.witness ? *r.witness : none;
  line += fmt::format(",{},{},{},{}", w.how, w.shape, w.style, r.searched);
  for (const std::string& column : score_columns()) {
    const auto at = r.opinions.find(column);
    line += at == r.opinions.end() ? "," : at->second.accepted ? ",accepted" : ",rejected";
  }
  const auto strict = r.opinions.find("strict");
  const ProbeAt first = strict == r.opinions.end() ? ProbeAt() : strict->second.first;
  std::set<std::string> probes;
  for (const ProbeAt& p : r.seen_by) probes.insert(p.probe);
  std::string seen;
  for (const std::string& p : probes) seen += (seen.empty() ? "" : " ") + p;
  return line + fmt::format(",{},{},{}\n", first.probe, first.shape, seen);
}

}  // namespace

std::string to_csv(const std::vector<MutantRecord>& mutants) {
  std::string text =
      "task,kernel,line,column,kind,rule,original,replacement,fate,witness,witness_shape,"
      "witness_style,searched";
  for (const std::string& column : score_columns()) text += "," + column;
  text += ",first_probe,first_shape,seen_by\n";
  for (const MutantRecord& r : mutants) text += csv_line(r);
  return text;
}

std::string to_text(const Score& s) {
  std::string text = "missed, % of the witnessed (95 %)\n" + plain(kind_rows(s));
  text += "\n" + summary(s) + "\n";
  if (!s.probes.empty())
    text += "\nstrict's probes, the most telling first\n" +
            plain(cover_rows("probe", s.probes, true)) + "\n" +
            plain(cover_rows("shapes", s.shapes, false));
  for (const MutantRecord& r : s.missed) text += "\nmissed by strict: " + missed_line(r);
  return s.missed.empty() ? text : text + "\n";
}

std::string to_markdown(const Score& s) {
  std::string text = summary(s) + "\n\n";
  text += "Missed, % of the witnessed (95 % interval):\n\n" + markdown(kind_rows(s));
  text += "\nStrict's probes at `--budget quick`, the most telling first:\n\n" +
          markdown(cover_rows("probe", s.probes, true));
  text += "\nAnd its shapes:\n\n" + markdown(cover_rows("shapes", s.shapes, false));
  text += "\nMissed by strict:\n\n";
  for (const MutantRecord& r : s.missed) text += "- " + missed_line(r) + "\n";
  return s.missed.empty() ? text + "none.\n" : text;
}

}  // namespace fiel::mutate
