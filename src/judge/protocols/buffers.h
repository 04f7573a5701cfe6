// A kernel's process as an evaluator without defences has it: buffers that stay where they are,
// hold what they held, and lie among other memory of the process.
//
//   FIEL_TRY(auto buffers, PlainBuffers::start(starter, instance));
//   FIEL_TRY_STATUS(buffers.write(inputs));
//   FIEL_TRY(PlainCall call, buffers.call(options));     // call.inputs: as they are now
#pragma once

#include <memory>
#include <vector>

#include "judge/rig.h"

namespace fiel::judge {

class PlainBuffers {
 public:
  static Result<PlainBuffers> start(const SessionStarter& starter,
                                    std::shared_ptr<const task::Instance> instance);

  Status write(const std::vector<Tensor>& inputs);
  /// Outputs are read unless a fault stopped the call.
  Result<Call> call(const CallOptions& options);
  Result<std::vector<Tensor>> read_inputs();
  const sandbox::IsolationReport& isolation() const { return session_->isolation(); }

 private:
  Result<Tensor> read(uint64_t address, const graph::TensorType& type);

  std::unique_ptr<worker::BareSession> session_;
  std::shared_ptr<const task::Instance> instance_;
  std::vector<worker::DeviceTensor> inputs_, outputs_;
  uint64_t calls_ = 0;
};

}  // namespace fiel::judge
