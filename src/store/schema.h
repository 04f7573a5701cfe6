// The tables of the store, and the steps from each older form to today's.
//
// docs/store.md describes them for readers with other tools. A step that has been released is never
// changed; a new form is a new step at the end.
#pragma once

#include "base/result.h"
#include "store/sqlite.h"

namespace fiel::store {

inline constexpr int kSchemaVersion = 3;

/// Makes or migrates the tables. A file of a newer Fiel, or of another program, is refused.
Status bring_up_to_date(Database& db);

}  // namespace fiel::store
