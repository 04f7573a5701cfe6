// A judgement may find too little memory on its GPU beside others: it is then tried once more,
// alone.
//
//   const Status done = where_it_fits(gpu, [&](Attempt& attempt) -> Status {
//     FIEL_TRY(auto oracle, OracleSide::open(workers, request, attempt.room));
//     if (attempt.lacks_room(*oracle)) return {};
//     …
//   });
#pragma once

#include <functional>

#include "judge/torch/oracle_side.h"

namespace fiel::judge::torch {

struct Attempt {
  Share room = Share::shared;
  bool out_of_memory = false;  ///< it may fit where nobody else is

  /// Whether the open task has no room beside others, who are there.
  bool lacks_room(OracleSide& oracle);
};

/// The status of the last try; without a GPU there is one.
Status where_it_fits(bool gpu, const std::function<Status(Attempt&)>& once);

}  // namespace fiel::judge::torch
