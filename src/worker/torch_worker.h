// One PyTorch worker process and the judge's end of its channel (docs/torch-workers.md#channel).
//
//   FIEL_TRY(auto worker, TorchWorker::start({Role::oracle, python, "cuda:0"}));
//   Answer<Json> hello = worker->ask(Json::object({{"op", "hello"}, …}));
//   worker->send(request);  …do something else…  worker->receive({.timeout_ms = 60'000});
//
// A worker that crashed, hung or broke the protocol is dead for good: start another. One thread at
// a time; the process dies with the thread that started it. It says nothing about whether an answer
// is true: a candidate's answers, its faults included, are claims.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "sandbox/spawn.h"
#include "worker/python_environment.h"
#include "worker/torch_fault.h"

namespace fiel::worker {

enum class Role : uint8_t { oracle, runner };
const char* to_string(Role role);

struct WorkerSpec {
  Role role = Role::oracle;
  PythonEnvironment python;
  std::string device = "cpu";  ///< "cpu", "cuda:0", …
  std::string purpose;         ///< of a trusted one that serves again: only the same
};

/// What a worker says on its way; called on the asking thread.
using Progress = std::function<void(const std::string& what, int64_t done, int64_t total)>;

struct AskOptions {
  int64_t timeout_ms = 60'000;   ///< beyond it the process is killed
  std::vector<int> descriptors;  ///< go with the request; stay the caller's
  Progress progress;
  std::function<void()> meanwhile;  ///< called every few hundredths of a second of waiting
};

class TorchWorker {
 public:
  static constexpr uint32_t kMaxPayload = 16u << 20;
  /// A candidate's reply travels on to the oracle, and may grow when it is written again.
  static constexpr uint32_t kMaxClaim = 4u << 20;
  static constexpr size_t kMaxDescriptors = 16;

  /// A trusted one: a plain process of ours.
  static Result<std::unique_ptr<TorchWorker>> start(const WorkerSpec& spec);
  /// Around a process that was started otherwise. Only a trusted one may send descriptors.
  TorchWorker(std::unique_ptr<sandbox::Child> child, Fd socket, bool trusted, WorkerSpec spec = {});
  ~TorchWorker();

  /// The reply's object; `ok: false` and everything worse is a WorkerFault.
  Answer<Json> ask(Json request, const AskOptions& options = {});
  Answer<void> send(Json request, const AskOptions& options = {});
  Answer<Json> receive(const AskOptions& options = {});
  /// Descriptors that came with the last reply.
  std::vector<Fd> take_descriptors() { return std::move(descriptors_); }

  /// Asked a few times a second while a request is sent or an answer is awaited; true ends the
  /// process (Fault::worker).
  void stop_when(std::function<bool()> stopped) { stopped_ = std::move(stopped); }

  bool alive();
  bool trusted() const { return trusted_; }
  const WorkerSpec& spec() const { return spec_; }
  bool waiting() const { return waiting_; }  ///< sent, not yet received
  const sandbox::IsolationReport& isolation() const { return isolation_; }
  /// For what is less apart than the sandbox itself knows.
  void add_missing(std::string what) { isolation_.missing.push_back(std::move(what)); }
  sandbox::Child& process() { return *child_; }

 private:
  struct Frame;
  WorkerFault end(Fault kind, std::string what);
  WorkerFault ended();
  WorkerFault closed();
  std::optional<Fault> read_some();
  Answer<std::optional<Frame>> next_frame();
  Answer<Frame> wait_for_frame(int64_t deadline_ns, const AskOptions& options);
  Answer<void> write_all(const std::vector<uint8_t>& frame, const AskOptions& options);

  std::unique_ptr<sandbox::Child> child_;
  Fd socket_;
  sandbox::IsolationReport isolation_;
  WorkerSpec spec_;
  std::function<bool()> stopped_;
  bool trusted_ = false, waiting_ = false, dead_ = false;
  uint32_t sequence_ = 0;  ///< of the latest request; drawn, not counted
  std::vector<uint8_t> received_;
  std::vector<Fd> descriptors_;
};

}  // namespace fiel::worker
