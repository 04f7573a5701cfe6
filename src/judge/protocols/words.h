// What each protocol is, for `fiel explain`: a paragraph, the rules' own figures, and what to do
// with it.
//
//   ProtocolWords w = words_of(Protocol::kernelbench);
//
// Figures come from the table of rules, so that the words never say other than what is done.
#pragma once

#include <string>

#include "judge/protocols/protocol.h"

namespace fiel::judge {

struct ProtocolWords {
  std::string text, remedy;
};
ProtocolWords words_of(Protocol protocol);

}  // namespace fiel::judge
