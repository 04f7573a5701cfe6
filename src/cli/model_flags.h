// Which language model a command line asks for: an endpoint, a recording of one, or a script.
//
//   FIEL_TRY(const std::unique_ptr<ChosenModel> chosen, model_of(arguments, context));
//   chosen->model->complete(request);
#pragma once

#include <memory>
#include <vector>

#include "agent/model/curl_transport.h"
#include "agent/model/http_model.h"
#include "agent/model/replay.h"
#include "agent/model/scripted_model.h"
#include "cli/command.h"

namespace fiel::cli {

/// A model and what it stands on.
struct ChosenModel {
  agent::CurlTransport curl;
  std::unique_ptr<agent::HttpTransport> transport;  ///< replay or recording
  std::unique_ptr<agent::Model> model;
  agent::ScriptedModel* script = nullptr;
  agent::ReplayTransport* replay = nullptr;
  agent::HttpModel* http = nullptr;
  /// Of a run that goes on: answers that were given before.
  void skip(size_t answers);
};

/// `context` outlives it.
Result<std::unique_ptr<ChosenModel>> model_of(const Arguments& arguments, const Context& context);
std::vector<Flag> model_flags();

/// The value of a flag as a number that is not negative.
Result<double> number_value(const Arguments& arguments, std::string_view flag, double fallback);

}  // namespace fiel::cli
