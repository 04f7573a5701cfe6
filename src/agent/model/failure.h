// What a server's complaint means: by status, by code, and by the words that vendors use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/model/http.h"
#include "agent/model/message.h"
#include "agent/model/wire.h"

namespace fiel::agent {

/// Of an answer with an error status, or of an error object inside a stream (status 0).
ModelFailure classify(int status, std::string_view body);
ModelFailure classify(const HttpEnd& end);

/// Seconds or a date, as milliseconds from `now_unix_ms`; -1 where it says nothing.
int64_t parse_retry_after(std::string_view value, int64_t now_unix_ms);

/// What to leave out or write differently after this refusal; nothing where no words fit.
/// `has_reasoning`: the conversation holds reasoning text.
std::optional<Quirks> learn(const Quirks& quirks, const ModelFailure& failure, ReasoningEcho echo,
                            bool has_reasoning);

}  // namespace fiel::agent
