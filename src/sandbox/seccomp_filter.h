// System-call filters as BPF programs, made before fork and loaded after.
//
//   FIEL_TRY(auto program, candidate_filter({}));                       // own pid namespace
//   FIEL_TRY(auto program, candidate_filter({.only_signal_to = pid}));  // none: itself alone
//
// Candidates get a deny list: their host code is ordinary C++ and may do ordinary things. The
// device process, which is ours, gets an allow list.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace fiel::sandbox {

/// struct sock_filter[], as bytes.
using BpfProgram = std::vector<uint8_t>;

struct CandidateFilter {
  pid_t only_signal_to = 0;  ///< 0: anyone it can see
  /// CUDA's driver does not start without a local socket to listen at (cuInit: error 304). It may
  /// make one; connecting stays refused, and so does every other family.
  bool local_sockets = false;
  /// Connections, over IPv4, IPv6, Unix and netlink sockets. Only for a network of its own: nothing
  /// else keeps them from leaving the machine.
  bool loopback = false;
};
Result<BpfProgram> candidate_filter(const CandidateFilter& wish);
/// For the process that owns a GPU: the candidate's denials, and no programs.
Result<BpfProgram> gpu_process_filter(pid_t self);
/// For a process that computes and talks over descriptors it already has: no files, no network, no
/// programs. Loads it into this thread and those it starts; call before starting any.
Status confine_to_computation();
/// Loads a program into this process; safe after fork.
bool load_filter(const BpfProgram& program);
/// The same for threads that run already.
bool load_filter_on_all_threads(const BpfProgram& program);

}  // namespace fiel::sandbox
