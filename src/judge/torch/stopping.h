// Stopping a judgement whose processes may be minutes away from their next answer.
//
//   const Workers workers = stoppable(given, request.options);
//   …everything that asks them…
//   FIEL_TRY_STATUS(not_stopped(request.options));   // a stopped worker looks like one that failed
//   return or_limit(request.options, done);
#pragma once

#include "judge/torch/request.h"

namespace fiel::judge::torch {

/// The same; their processes end a few hundredths of a second after options.interrupted() holds or
/// the limit is reached, whatever they are doing.
Workers stoppable(Workers workers, const JudgeOptions& options);
}  // namespace fiel::judge::torch
