#include "agent/model/wire.h"

namespace fiel::agent {

std::string_view name_of(Api api) {
  switch (api) {
    case Api::chat:
      return "chat";
    case Api::responses:
      return "responses";
    case Api::anthropic:
      return "anthropic";
  }
  return "chat";
}

std::unique_ptr<Wire> make_wire(Api api) {
  switch (api) {
    case Api::chat:
      return make_chat_wire();
    case Api::responses:
      return make_responses_wire();
    case Api::anthropic:
      return make_anthropic_wire();
  }
  return make_chat_wire();
}

}  // namespace fiel::agent
