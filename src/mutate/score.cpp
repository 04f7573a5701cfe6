#include "mutate/score.h"

#include <algorithm>

#include "mutate/trial.h"

namespace fiel::mutate {
namespace {

void count(const MutantRecord& r, KindScore& score) {
  ++score.made;
  score.not_compiled += r.fate == Fate::not_compiled ? 1 : 0;
  score.same_code += r.fate == Fate::same_code ? 1 : 0;
  if (r.fate != Fate::judged) return;
  if (r.witness) {
    ++score.witnessed;
    for (const auto& [protocol, opinion] : r.opinions)
      if (opinion.accepted) ++score.missed[protocol].count;
    return;
  }
  ++score.unwitnessed;
  const auto quick = r.opinions.find(std::string(kStrictQuick));
  score.strict_alone += quick != r.opinions.end() && !quick->second.accepted ? 1 : 0;
}

void close(KindScore& score) {
  for (const std::string& protocol : score_columns())
    score.missed[protocol] = judge::wilson(score.missed[protocol].count, score.witnessed);
}

/// Odd shapes by what is odd about them, the task's own together.
std::string family_of(const std::string& shape) {
  return shape.starts_with("odd:") ? shape : "declared";
}

void cover(const std::vector<SubjectRecord>& subjects, const std::vector<MutantRecord>& mutants,
           Score& score) {
  std::vector<std::set<std::string>> probes, shapes;
  for (const MutantRecord& r : mutants) {
    if (!r.witness || r.seen_by.empty()) continue;
    probes.emplace_back();
    shapes.emplace_back();
    for (const ProbeAt& p : r.seen_by) {
      probes.back().insert(p.probe);
      shapes.back().insert(family_of(p.shape));
    }
  }
  std::map<std::string, double> cost;
  for (const SubjectRecord& s : subjects)
    if (s.unfit.empty())
      for (const auto& [probe, calls] : s.calls)
        cost[probe] += static_cast<double>(calls) / static_cast<double>(score.subjects);
  score.probes = greedy_cover(probes, cost);
  score.shapes = greedy_cover(shapes, {});
}

Json json_of(const KindScore& k) {
  Json j = Json::object({{"kind", k.kind.empty() ? "all" : k.kind},
                         {"made", k.made},
                         {"not_compiled", k.not_compiled},
                         {"same_code", k.same_code},
                         {"unwitnessed", k.unwitnessed},
                         {"strict_alone", k.strict_alone},
                         {"witnessed", k.witnessed}});
  j["missed"] = Json::object();
  for (const std::string& protocol : score_columns())
    j["missed"][protocol] = judge::to_json(k.missed.at(protocol));
  return j;
}

Json json_of(const std::vector<CoverRow>& rows) {
  Json list = Json::array();
  for (const CoverRow& r : rows)
    list.push_back(Json::object({{"name", r.name},
                                 {"alone", r.alone},
                                 {"marginal", r.marginal},
                                 {"seen", r.seen},
                                 {"calls", r.calls}}));
  return list;
}

}  // namespace

const std::vector<std::string>& score_columns() {
  static const std::vector<std::string> names = {
      "naive", "kernelbench", "cuda-agent", "kernelbench-verified", std::string(kStrictQuick),
      "strict"};
  return names;
}

std::vector<CoverRow> greedy_cover(const std::vector<std::set<std::string>>& seen_by,
                                   const std::map<std::string, double>& cost) {
  std::map<std::string, std::set<size_t>> unseen;
  for (const auto& [name, calls] : cost) unseen[name];
  for (size_t m = 0; m < seen_by.size(); ++m)
    for (const std::string& name : seen_by[m]) unseen[name].insert(m);
  std::map<std::string, CoverRow> rows;
  for (const auto& [name, mutants] : unseen) {
    const auto known = cost.find(name);
    rows[name] = {name, mutants.size(), 0, 0, known == cost.end() ? 0 : known->second};
  }
  std::vector<CoverRow> order;
  uint64_t seen = 0;
  while (!unseen.empty()) {
    const auto best =
        std::min_element(unseen.begin(), unseen.end(), [&](const auto& a, const auto& b) {
          if (a.second.size() != b.second.size()) return a.second.size() > b.second.size();
          return rows[a.first].calls < rows[b.first].calls;
        });
    CoverRow row = rows[best->first];
    const std::set<size_t> taken = best->second;
    row.marginal = taken.size();
    row.seen = seen += row.marginal;
    unseen.erase(best);
    for (auto& [name, mutants] : unseen)
      for (size_t m : taken) mutants.erase(m);
    order.push_back(std::move(row));
  }
  return order;
}

Score score_of(const std::vector<SubjectRecord>& subjects,
               const std::vector<MutantRecord>& mutants) {
  Score score;
  for (const SubjectRecord& s : subjects) {
    if (!s.unfit.empty()) continue;
    ++score.subjects;
    score.inputs += s.sound;
  }
  for (Kind kind : kKinds) {
    KindScore k;
    k.kind = name_of(kind);
    for (const MutantRecord& r : mutants)
      if (r.mutant.kind == kind) count(r, k);
    close(k);
    if (k.made > 0) score.kinds.push_back(std::move(k));
  }
  for (const MutantRecord& r : mutants) {
    count(r, score.total);
    const auto strict = r.opinions.find("strict");
    if (r.witness && strict != r.opinions.end() && strict->second.accepted)
      score.missed.push_back(r);
  }
  close(score.total);
  cover(subjects, mutants, score);
  return score;
}

Json to_json(const Score& s) {
  Json j = Json::object({{"subjects", s.subjects}, {"inputs", s.inputs}, {"kinds", Json::array()}});
  for (const KindScore& k : s.kinds) j["kinds"].push_back(json_of(k));
  j["all"] = json_of(s.total);
  j["probes"] = json_of(s.probes);
  j["shapes"] = json_of(s.shapes);
  j["missed"] = Json::array();
  for (const MutantRecord& r : s.missed) j["missed"].push_back(to_json(r));
  return j;
}

}  // namespace fiel::mutate
