// A bare kernel as a runner of the oracle's clock: the device process answers the control page.
//
//   ClockOutcome o = serve_clock(server, page, {slots, settings, call_timeout_ms});
//
// Every call of a sample is a call of fiel_run on the next slot, its work queued and timed as
// CallRequest::timed says; the slots lie in windows that the oracle shares. The oracle flushes the
// cache itself. The loop ends when it is told to leave, or with the first call that fails.
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
