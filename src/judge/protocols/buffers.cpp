#include "judge/protocols/buffers.h"

#include "judge/interpret.h"

namespace fiel::judge {
namespace {

/// What lies beside a tensor on a GPU is other memory of the same process.
constexpr uint64_t kSlackBytes = 4096;

Result<worker::DeviceTensor> place(worker::BareSession& session, const graph::TensorType& type,
                                   const std::string& name) {
  const auto bytes = static_cast<uint64_t>(numel(type.shape) * size_of(type.dtype));
  FIEL_TRY(const uint64_t block, session.allocate(bytes + 2 * kSlackBytes, name));
  // A fresh allocation is zero on a GPU that has just been switched on; nobody poisons it.
  FIEL_TRY_STATUS(session.poison(block, bytes + 2 * kSlackBytes, 0));
  return worker::DeviceTensor{block + kSlackBytes, type.dtype, type.shape,
                              contiguous_strides(type.shape)};
}

}  // namespace

Result<PlainBuffers> PlainBuffers::start(const SessionStarter& starter,
                                         std::shared_ptr<const task::Instance> instance) {
  PlainBuffers b;
  FIEL_TRY(b.session_, starter({}));
  b.instance_ = std::move(instance);
  for (size_t i = 0; i < b.instance_->inputs.size(); ++i) {
    FIEL_TRY(auto t, place(*b.session_, b.instance_->inputs[i], b.instance_->input_specs[i].name));
    b.inputs_.push_back(std::move(t));
  }
  for (size_t i = 0; i < b.instance_->outputs.size(); ++i) {
    FIEL_TRY(auto t,
             place(*b.session_, b.instance_->outputs[i], b.instance_->graph.outputs[i].name));
    b.outputs_.push_back(std::move(t));
  }
  return b;
}

Status PlainBuffers::write(const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].nbytes() > 0)
      FIEL_TRY_STATUS(session_->write(inputs_[i].address, inputs[i].bytes()));
  return {};
}

Result<Tensor> PlainBuffers::read(uint64_t address, const graph::TensorType& type) {
  Tensor t = Tensor::empty(type.dtype, type.shape);
  if (t.nbytes() > 0) FIEL_TRY_STATUS(session_->read(address, t.bytes()));
  return t;
}

Result<std::vector<Tensor>> PlainBuffers::read_inputs() {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    FIEL_TRY(Tensor t, read(inputs_[i].address, instance_->inputs[i]));
    inputs.push_back(std::move(t));
  }
  return inputs;
}

Result<Call> PlainBuffers::call(const CallOptions& options) {
  Call call;
  call.number = ++calls_;
  worker::CallRequest request;
  request.inputs = inputs_;
  request.outputs = outputs_;
  request.timeout_ms = options.timeout_ms;
  request.every_stream = true;  // the originals synchronise the device before they look
  interpret(session_->call(request), options, call);
  if (call.fault || call.status == worker::CallStatus::unsupported || !session_->alive())
    return call;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    FIEL_TRY(Tensor t, read(outputs_[i].address, instance_->outputs[i]));
    call.outputs.push_back(std::move(t));
  }
  return call;
}

}  // namespace fiel::judge
