// Why a PyTorch worker has no answer.
//
//   Answer<Json> reply = worker.ask(request, 60'000);
//   if (!reply && reply.error().kind == Fault::candidate) …
//
// The first five are what the worker says (docs/torch-workers.md#channel), the others what the
// judge saw itself. After crash, timeout and protocol the process is gone.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace fiel::worker {

enum class Fault : uint8_t {
  task,         ///< the task file is wrong
  candidate,    ///< the candidate's code is
  worker,       ///< Fiel's own Python is
  unsupported,  ///< well-formed, but outside what the workers do
  memory,       ///< out of device or host memory
  crash,        ///< the process ended
  timeout,      ///< no answer in time; it was killed
  protocol,     ///< it does not speak the protocol; it was killed
};
const char* to_string(Fault fault);

struct WorkerFault {
  Fault kind = Fault::worker;
  std::string what;    ///< one line
  std::string detail;  ///< a traceback, at most 8 KiB
  std::string output;  ///< the end of what it printed, where it is gone; hostile text
  int signal = 0, exit_code = 0;
};

template <typename T>
using Answer = tl::expected<T, WorkerFault>;

/// For those who cannot tell a task from a machine. The detail is the first of the contexts, and
/// the only one of several lines.
Error to_error(const WorkerFault& fault);

}  // namespace fiel::worker

namespace fiel {
/// Beside that of base/result.h, so that FIEL_TRY serves functions that give an Answer.
inline tl::unexpected<worker::WorkerFault> fail(worker::WorkerFault fault) {
  return tl::unexpected<worker::WorkerFault>(std::move(fault));
}
}  // namespace fiel
