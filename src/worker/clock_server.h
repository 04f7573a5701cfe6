// A bare kernel as a runner of the oracle's clock: the device process answers the control page.
//
//   ClockOutcome o = serve_clock(server, page, {slots, settings, call_timeout_ms});
//
// Every call of a sample is a call of fiel_run on the next slot; the slots lie in windows that the
// oracle shares. A held sample is queued whole, behind the oracle's own word of the page, which the
// GPU sees; others are run and timed call by call, as CallRequest::timed says. The oracle flushes
// the cache itself. The loop ends when it is told to leave, or with the first call that fails.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/bare_session.h"
#include "worker/clock_page.h"

namespace fiel::worker {

class RuntimeServer;
struct RunSettings;

Result<ClockOutcome> serve_clock(RuntimeServer& server, int page_descriptor,
                                 const std::vector<CallRequest>& slots, const RunSettings& settings,
                                 int64_t call_timeout_ms);

}  // namespace fiel::worker
