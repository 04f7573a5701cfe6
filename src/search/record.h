// A search in the store and back, and as a document.
//
//   FIEL_TRY_STATUS(store.keep_step(run, …, evidence_of(c, task), lineage_of(c)));
//   FIEL_TRY(History history, history_of(store, header));
#pragma once

#include <string>

#include "base/json.h"
#include "search/search.h"
#include "store/store.h"

namespace fiel::search {

store::Lineage lineage_of(const Candidate& c);
store::Evidence evidence_of(const Candidate& c, const std::string& task_source, int64_t now_ms);
/// Steps that are whole, in order; the first place that is missing ends it.
Result<History> history_of(store::Store& store, const store::RunHeader& run);

/// Without sources and verdicts: those are in the store.
Json to_json(const Candidate& c);
Json to_json(const SearchResult& result);

}  // namespace fiel::search
