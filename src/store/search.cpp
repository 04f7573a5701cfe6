// Searches: runs whose kernels have parents.
#include <fmt/core.h>

#include "store/store.h"

namespace fiel::store {
namespace {

void bind_place(Statement& s, int at, const std::vector<size_t>& parents, size_t which) {
  if (which < parents.size())
    s.bind(at, static_cast<int64_t>(parents[which]));
  else
    s.bind_null(at);
}

Lineage lineage_of(const Statement& s) {
  Lineage l;
  l.operation = s.text(0);
  l.step = static_cast<uint32_t>(s.integer(1));
  l.island = static_cast<uint32_t>(s.integer(2));
  for (int column : {3, 4})
    if (!s.is_null(column)) l.parents.push_back(static_cast<size_t>(s.integer(column)));
  l.note = s.text(5);
  l.state = s.text(6);
  l.reason = s.text(7);
  l.feedback = s.text(8);
  l.measure = s.text(9);
  l.score = s.real(10);
  l.score_low = s.real(11);
  l.proposals = static_cast<uint32_t>(s.integer(12));
  l.input_tokens = s.integer(13);
  l.output_tokens = s.integer(14);
  l.cost = s.real(15);
  return l;
}

}  // namespace

Status Store::begin_search(int64_t run, const SearchHeader& header) {
  FIEL_TRY(Statement s, db_.prepare("INSERT INTO searches(run, strategy, proposer, budget, options)"
                                    " VALUES (?, ?, ?, ?, ?)"));
  s.bind(1, run).bind(2, header.strategy).bind(3, header.proposer);
  s.bind(4, int64_t{header.budget}).bind(5, header.options.dump());
  return s.run();
}

Status Store::put_lineage(int64_t run, size_t place, const Lineage& l) {
  FIEL_TRY(Statement s,
           db_.prepare("INSERT INTO lineage(run, place, operation, step, island, parent,"
                       " second_parent, note, state, reason, feedback, measure, score, score_low,"
                       " proposals, input_tokens, output_tokens, cost)"
                       " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  s.bind(1, run).bind(2, static_cast<int64_t>(place)).bind(3, l.operation);
  s.bind(4, int64_t{l.step}).bind(5, int64_t{l.island});
  bind_place(s, 6, l.parents, 0);
  bind_place(s, 7, l.parents, 1);
  s.bind(8, l.note).bind(9, l.state).bind(10, l.reason).bind(11, l.feedback).bind(12, l.measure);
  s.bind_real(13, l.score).bind_real(14, l.score_low).bind(15, int64_t{l.proposals});
  s.bind(16, l.input_tokens).bind(17, l.output_tokens).bind_real(18, l.cost);
  return s.run();
}

Status Store::keep_step(int64_t run, const Entry& entry, Evidence evidence,
                        const Lineage& lineage) {
  FIEL_TRY(Transaction transaction, Transaction::begin(db_));
  FIEL_TRY(Statement e, db_.prepare("INSERT INTO entries(run, place, task, kernel, problem)"
                                    " VALUES (?, ?, ?, ?, ?)"));
  e.bind(1, run).bind(2, static_cast<int64_t>(evidence.place)).bind(3, entry.task);
  e.bind(4, entry.kernel).bind(5, entry.problem);
  FIEL_TRY_STATUS(e.run());
  if (!lineage.parents.empty()) {
    FIEL_TRY(Statement p, db_.prepare("SELECT id FROM verdicts WHERE run = ? AND place = ?"));
    p.bind(1, run).bind(2, static_cast<int64_t>(lineage.parents[0]));
    FIEL_TRY(const bool row, p.step());
    if (row) evidence.parent = p.integer(0);
  }
  FIEL_TRY_STATUS(put_verdict(run, evidence));
  FIEL_TRY_STATUS(put_lineage(run, evidence.place, lineage));
  return transaction.commit();
}

Result<SearchRecord> Store::load_search(int64_t run) {
  SearchRecord record;
  FIEL_TRY(Statement h, db_.prepare("SELECT strategy, proposer, budget, options FROM searches"
                                    " WHERE run = ?"));
  h.bind(1, run);
  FIEL_TRY(const bool found, h.step());
  if (!found) return fail(ErrorCode::not_found, "that run is no search");
  record.header.strategy = h.text(0);
  record.header.proposer = h.text(1);
  record.header.budget = static_cast<uint32_t>(h.integer(2));
  FIEL_TRY(record.header.options, Json::parse(h.text(3)));
  FIEL_TRY(Statement s, db_.prepare("SELECT operation, step, island, parent, second_parent, note,"
                                    " state, reason, feedback, measure, score, score_low,"
                                    " proposals, input_tokens, output_tokens, cost FROM lineage"
                                    " WHERE run = ? ORDER BY place"));
  s.bind(1, run);
  for (;;) {
    FIEL_TRY(const bool row, s.step());
    if (!row) return record;
    record.steps.push_back(lineage_of(s));
  }
}

}  // namespace fiel::store
