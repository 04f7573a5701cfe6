#include "search/record.h"

#include <algorithm>

#include "base/text.h"

namespace fiel::search {
namespace {

/// NaN and infinities have no place in JSON; 0 stands for "none" everywhere here.
Json number_or_null(double v) { return v > 0 ? Json(v) : Json(); }

Json spent_json(const Spent& s) {
  return Json::object({{"proposals", s.proposals},
                       {"input_tokens", s.input_tokens},
                       {"output_tokens", s.output_tokens},
                       {"cost", s.cost}});
}

Json outcome_json(const Outcome& o) {
  Json j = Json::object();
  j["status"] = o.status;
  j["reason"] = o.reason;
  j["speed"] = o.speed;
  j["measure"] = name_of(o.measure);
  j["score"] = number_or_null(o.score);
  j["score_low"] = number_or_null(o.score_low);
  j["judge_ms"] = o.judge_ms;
  return j;
}

}  // namespace

store::Lineage lineage_of(const Candidate& c) {
  store::Lineage l;
  l.operation = name_of(c.operation);
  l.step = c.step;
  l.island = c.island;
  for (uint32_t parent : c.parents) l.parents.push_back(parent - 1);
  l.note = c.note;
  l.state = c.state;
  l.reason = c.outcome.reason;
  l.feedback = c.outcome.feedback;
  l.measure = name_of(c.outcome.measure);
  l.score = c.outcome.score;
  l.score_low = c.outcome.score_low;
  l.proposals = c.spent.proposals;
  l.input_tokens = c.spent.input_tokens;
  l.output_tokens = c.spent.output_tokens;
  l.cost = c.spent.cost;
  return l;
}

store::Evidence evidence_of(const Candidate& c, const std::string& task_source, int64_t now_ms) {
  store::Evidence e;
  e.place = c.number - 1;
  e.verdict = c.outcome.verdict;
  e.task_source = task_source;
  e.kernel_source = c.source;
  e.judged_ms = now_ms;
  e.took_ms = c.outcome.judge_ms;
  return e;
}

Result<History> history_of(store::Store& store, const store::RunHeader& run) {
  FIEL_TRY(const store::SearchRecord search, store.load_search(run.id));
  FIEL_TRY(const store::RunRecord record, store.load(run, store::Detail::all));
  History history;
  for (size_t i = 0; i < std::min(search.steps.size(), record.verdicts.size()); ++i) {
    const store::Lineage& l = search.steps[i];
    const store::Evidence& e = record.verdicts[i];
    const auto operation = parse_operation(l.operation);
    const auto measure = parse_measure(l.measure);
    if (!operation || !measure || e.place != i)
      return fail(ErrorCode::environment, "the store's lineage of this search is not whole");
    Candidate c;
    c.number = static_cast<uint32_t>(i + 1);
    c.operation = *operation;
    c.step = l.step;
    c.island = l.island;
    for (size_t parent : l.parents) {
      if (parent >= i)
        return fail(ErrorCode::environment, "the store's lineage of this search is not whole");
      c.parents.push_back(static_cast<uint32_t>(parent + 1));
    }
    c.source = e.kernel_source;
    c.note = l.note;
    c.state = l.state;
    c.outcome.status = e.verdict["status"].as_string();
    c.outcome.speed = e.verdict["speed"].as_string();
    c.outcome.reason = l.reason;
    c.outcome.feedback = l.feedback;
    c.outcome.measure = *measure;
    c.outcome.score = l.score;
    c.outcome.score_low = l.score_low;
    c.outcome.judge_ms = e.took_ms;
    c.outcome.verdict = e.verdict;
    c.spent = {l.proposals, l.input_tokens, l.output_tokens, l.cost};
    history.push_back(std::move(c));
  }
  return history;
}

Json to_json(const Candidate& c) {
  Json j = Json::object();
  j["number"] = c.number;
  j["operation"] = name_of(c.operation);
  j["step"] = c.step;
  j["island"] = c.island;
  j["parents"] = Json::array();
  for (uint32_t p : c.parents) j["parents"].push_back(p);
  j["note"] = c.note;
  j["state"] = c.state;
  const Json outcome = outcome_json(c.outcome);
  for (const auto& [name, value] : outcome.members()) j[name] = value;
  j["spent"] = spent_json(c.spent);
  return j;
}

Json to_json(const SearchResult& r) {
  Json j = Json::object();
  j["ended"] = name_of(r.ended);
  j["detail"] = r.detail;
  const Candidate* best = best_of(r.history);
  j["judged"] = r.history.size();
  j["best"] = best != nullptr && best->outcome.correct() ? to_json(*best) : Json();
  j["best_judged_again"] = r.best_again ? outcome_json(*r.best_again) : Json();
  j["spent"] = spent_json(r.spent);
  j["kernels"] = Json::array();
  for (const Candidate& c : r.history) j["kernels"].push_back(to_json(c));
  return j;
}

}  // namespace fiel::search
