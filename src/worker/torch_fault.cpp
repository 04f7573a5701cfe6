#include "worker/torch_fault.h"

#include "base/text.h"

namespace fiel::worker {

const char* to_string(Fault fault) {
  static constexpr const char* kNames[] = {"task",   "candidate", "worker",  "unsupported",
                                           "memory", "crash",     "timeout", "protocol"};
  return kNames[static_cast<size_t>(fault)];
}

Error to_error(const WorkerFault& fault) {
  Error e;
  switch (fault.kind) {
    case Fault::task:
    case Fault::candidate:
      e.code = ErrorCode::parse;
      break;
    case Fault::unsupported:
      e.code = ErrorCode::unsupported;
      break;
    case Fault::memory:
    case Fault::timeout:
      e.code = ErrorCode::limit;
      break;
    case Fault::worker:
    case Fault::crash:
    case Fault::protocol:
      e.code = ErrorCode::environment;
      break;
  }
  e.what = printable(fault.what, 600);
  if (!fault.detail.empty()) e.context.push_back(printable(fault.detail, 8192));
  return e;
}

}  // namespace fiel::worker
