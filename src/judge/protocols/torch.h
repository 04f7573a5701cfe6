// Another protocol, whole, for a PyTorch task: the candidate and the reference in one process of
// the sandbox, as the original has them in one process.
//
//   FIEL_TRY_STATUS(run_torch(rules_of(Protocol::kernelbench), request, workers, verdict));
//
// All of it is said by the process in which the candidate ran. The sandbox keeps the machine safe
// from it; nothing keeps the answer honest, which is what the original's rules amount to.
#pragma once

#include "judge/protocols/protocol.h"
#include "judge/torch/request.h"
#include "judge/verdict.h"

namespace fiel::judge::torch {

/// Fills status, reason and opinion.
Status run_protocol(const ProtocolRules& rules, const TorchRequest& request, const Workers& workers,
                    Verdict& verdict);

/// The worker's reply, bounded; of a candidate's process.
Opinion read_opinion(const ProtocolRules& rules, const Json& reply);

}  // namespace fiel::judge::torch
