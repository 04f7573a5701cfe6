// What a study says: which share of the witnessed mutants each protocol misses, by kind; how many
// each probe of strict sees that those before it do not, and what it costs.
//
//   Score s = score_of(file.subjects(), file.mutants());
//   s.total.missed.at("strict");  to_json(s);  to_text(s);  to_markdown(s);
//
// Rates carry Wilson's 95 % interval. Witnessed means by the search alone: a mutant that only
// strict found wrong is counted beside them, never among them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "judge/rate.h"
#include "mutate/record.h"

namespace fiel::mutate {

struct KindScore {
  std::string kind;  ///< empty: all of them
  uint64_t made = 0, not_compiled = 0, same_code = 0;
  uint64_t unwitnessed = 0;   ///< equivalent, for all that is known
  uint64_t strict_alone = 0;  ///< of these, rejected by strict at --budget quick
  uint64_t witnessed = 0;
  std::map<std::string, judge::Rate> missed;  ///< of the witnessed, by protocol
};

/// One row of a greedy cover: what is taken next because it sees most of what is still unseen.
struct CoverRow {
  std::string name;
  uint64_t alone = 0;     ///< mutants that it sees
  uint64_t marginal = 0;  ///< of these, unseen by the rows before it
  uint64_t seen = 0;      ///< by it and the rows before it
  double calls = 0;       ///< of a kernel that is right, on average
};
/// `seen_by`: a set of names a mutant. Names of equal gain go by cost, then by name; the rows that
/// gain nothing come last.
std::vector<CoverRow> greedy_cover(const std::vector<std::set<std::string>>& seen_by,
                                   const std::map<std::string, double>& cost);

struct Score {
  uint64_t subjects = 0, inputs = 0;  ///< inputs of the search, all subjects together
  std::vector<KindScore> kinds;       ///< those that occur
  KindScore total;
  std::vector<CoverRow> probes, shapes;  ///< of strict at --budget quick
  std::vector<MutantRecord> missed;      ///< witnessed, and accepted by strict
};

/// The protocols of a score's columns, strict last.
const std::vector<std::string>& score_columns();

Score score_of(const std::vector<SubjectRecord>& subjects,
               const std::vector<MutantRecord>& mutants);

Json to_json(const Score& score);
std::string to_text(const Score& score);
std::string to_markdown(const Score& score);
/// A line a mutant, for spreadsheets and for publishing: what was accepted, and which probes of
/// strict at --budget quick see it.
std::string to_csv(const std::vector<MutantRecord>& mutants);

}  // namespace fiel::mutate
