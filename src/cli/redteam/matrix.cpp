#include "cli/redteam/matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace fiel::cli {
namespace {

using judge::Protocol;

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : ", ") + w;
  return text;
}

/// One of the case's words is a finding of the verdict, or the witness's probe.
bool shows(const CaseFolder& c, const Json& verdict) {
  if (contains(c.caught_by, verdict["witness"]["probe"].as_string())) return true;
  const auto& findings = verdict["findings"].items();
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Json& f) { return contains(c.caught_by, f["code"].as_string()); });
}

void hold_strict(const CaseFolder& c, const Json& verdict, Cell& cell) {
  const auto& allowed = c.allowed(cell.device);
  if (!contains(allowed, cell.status)) {
    cell.held = false;
    cell.why_not = fmt::format("{} in place of {}: {}", cell.status, joined(allowed), cell.reason);
  } else if (cell.status == "incorrect" && !c.caught_by.empty() && !shows(c, verdict)) {
    cell.held = false;
    cell.why_not = "none of " + joined(c.caught_by) + " shows";
  } else if (cell.outcome == Outcome::fooled && c.harmless(cell.device)) {
    cell.held = false;
    cell.why_not = "it was to gain nothing, and is faster";
  }
}

void hold_other(const CaseFolder& c, Cell& cell) {
  const auto known = c.fooled.find(cell.protocol);
  if (known == c.fooled.end() || cell.outcome == Outcome::unable) return;
  const bool accepts = cell.status == "correct";
  const bool fooled = c.honest ? !accepts : accepts;
  if (fooled == known->second) return;
  cell.held = false;
  cell.why_not = fmt::format("{} was to be {}: {}", judge::name_of(cell.protocol),
                             known->second ? "fooled" : "right", cell.reason);
}

Outcome outcome_of(const CaseFolder& c, const Cell& cell, int64_t exit_code) {
  if (exit_code == 3 || exit_code == 5) return Outcome::unable;
  const bool accepts = cell.status == "correct";
  if (c.honest) return accepts ? Outcome::accepted : Outcome::rejected;
  if (!accepts) return Outcome::caught;
  return cell.harmless ? Outcome::harmless : Outcome::fooled;
}

std::string percent(const judge::Rate& r) {
  if (r.of == 0) return "none judged";
  return fmt::format("{} of {} ({:.1f} %, 95 %: {:.1f} to {:.1f} %)", r.count, r.of,
                     100.0 * static_cast<double>(r.count) / static_cast<double>(r.of), 100 * r.low,
                     100 * r.high);
}

/// Cells of one case on one device, in the order of the matrix.
struct Row {
  const Cell* first = nullptr;
  std::vector<const Cell*> cells;  ///< by protocol; null where it was not run
};

std::vector<Row> rows_of(const Matrix& m) {
  std::vector<Row> rows;
  for (const Cell& cell : m.cells) {
    if (rows.empty() || rows.back().first->name != cell.name ||
        rows.back().first->device != cell.device)
      rows.push_back({&cell, std::vector<const Cell*>(m.protocols.size())});
    const auto at = std::find(m.protocols.begin(), m.protocols.end(), cell.protocol);
    if (at != m.protocols.end())
      rows.back().cells[static_cast<size_t>(at - m.protocols.begin())] = &cell;
  }
  return rows;
}

std::string word_of(const Cell* cell) {
  if (cell == nullptr) return "-";
  return std::string(name_of(cell->outcome)) + (cell->held ? "" : " !");
}

std::string rate_lines(const Matrix& m, std::string_view begin) {
  std::string text;
  for (Protocol p : m.protocols) {
    const Matrix::Rates r = m.rates(p);
    text += fmt::format("{}{}: cheats let through {}; honest kernels rejected {}\n", begin,
                        judge::name_of(p), percent(r.let_through), percent(r.rejected));
  }
  return text;
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  static constexpr std::array<std::string_view, 6> names = {"caught",   "FOOLED",   "harmless",
                                                            "accepted", "REJECTED", "unable"};
  return names[static_cast<size_t>(outcome)];
}

Cell cell_of(const CaseFolder& c, Protocol protocol, const std::string& device,
             const Json& verdict) {
  Cell cell;
  cell.name = c.name;
  cell.id = c.id;
  cell.title = c.title;
  cell.device = device;
  cell.honest = c.honest;
  cell.harmless = c.harmless(device) && verdict["measurement"]["speed"].as_string() != "faster";
  cell.protocol = protocol;
  cell.status = verdict["status"].as_string();
  cell.reason = verdict["reason"].as_string();
  cell.outcome = outcome_of(c, cell, verdict["exit_code"].as_int(3));
  protocol == Protocol::strict ? hold_strict(c, verdict, cell) : hold_other(c, cell);
  return cell;
}

/// Cheats that gain nothing are no measure of anything here, nor what could not be judged.
Matrix::Rates Matrix::rates(Protocol protocol) const {
  uint64_t cheats = 0, fooled = 0, honest = 0, rejected = 0;
  for (const Cell& c : cells) {
    if (c.protocol != protocol || c.outcome == Outcome::unable || c.harmless) continue;
    honest += c.honest ? 1 : 0;
    cheats += c.honest ? 0 : 1;
    fooled += c.outcome == Outcome::fooled ? 1 : 0;
    rejected += c.outcome == Outcome::rejected ? 1 : 0;
  }
  return {judge::wilson(fooled, cheats), judge::wilson(rejected, honest)};
}

bool Matrix::held() const {
  return std::all_of(cells.begin(), cells.end(), [](const Cell& c) { return c.held; });
}

bool Matrix::unable() const {
  return std::any_of(cells.begin(), cells.end(),
                     [](const Cell& c) { return c.outcome == Outcome::unable; });
}

Json to_json(const Matrix& m) {
  Json j = Json::object();
  j["cells"] = Json::array();
  for (const Cell& c : m.cells) {
    Json cell = Json::object();
    cell["case"] = c.name;
    cell["id"] = c.id;
    cell["title"] = c.title;
    cell["honest"] = c.honest;
    cell["device"] = c.device;
    cell["protocol"] = judge::name_of(c.protocol);
    cell["outcome"] = name_of(c.outcome);
    cell["status"] = c.status;
    cell["reason"] = c.reason;
    cell["held"] = c.held;
    cell["why_not"] = c.why_not;
    j["cells"].push_back(std::move(cell));
  }
  j["rates"] = Json::object();
  for (Protocol p : m.protocols) {
    const Matrix::Rates r = m.rates(p);
    j["rates"][judge::name_of(p)] = Json::object(
        {{"let_through", judge::to_json(r.let_through)}, {"rejected", judge::to_json(r.rejected)}});
  }
  j["held"] = m.held();
  return j;
}

std::string to_text(const Matrix& m) {
  size_t width = 4;
  for (const Cell& c : m.cells) width = std::max(width, c.name.size());
  std::string text = fmt::format("{:<{}}  {:<8}", "case", width, "device");
  for (Protocol p : m.protocols) text += fmt::format("  {:<{}}", judge::name_of(p), 10);
  text += "\n";
  for (const Row& row : rows_of(m)) {
    text += fmt::format("{:<{}}  {:<8}", row.first->name, width, row.first->device);
    for (size_t i = 0; i < m.protocols.size(); ++i)
      text += fmt::format("  {:<{}}", word_of(row.cells[i]),
                          std::max<size_t>(10, judge::name_of(m.protocols[i]).size()));
    text += "\n";
  }
  text += "\n" + rate_lines(m, "");
  for (const Cell& c : m.cells)
    if (!c.held)
      text += fmt::format("\nnot as {}/expect.toml says ({}, {}): {}\n", c.name,
                          judge::name_of(c.protocol), c.device, c.why_not);
  return text;
}

std::string to_markdown(const Matrix& m) {
  std::string text = "| case | what it does | device |";
  std::string rule = "|---|---|---|";
  for (Protocol p : m.protocols) {
    text += fmt::format(" {} |", judge::name_of(p));
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const Row& row : rows_of(m)) {
    std::string title = row.first->title;
    std::replace(title.begin(), title.end(), '|', '/');
    text += fmt::format("| {} | {} | {} |", row.first->name, title, row.first->device);
    for (const Cell* cell : row.cells) text += fmt::format(" {} |", word_of(cell));
    text += "\n";
  }
  return text + "\n" + rate_lines(m, "- ");
}

}  // namespace fiel::cli
