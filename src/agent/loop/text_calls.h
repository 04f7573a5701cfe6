// Tool calls that a model writes into its text, for models and servers without native ones.
//
//   TextCalls found = text_calls(reply.text, Toolbox::specs(), "call_7_");
//
// Two spellings, each at the beginning of a line, outside of code fences and of <think>:
//   <tool_call>{"name": "read", "arguments": {"path": "k.cu"}}</tool_call>
//   <tool_call>\n<function=read>\n<parameter=path>k.cu</parameter>\n</function>\n</tool_call>
// A call that is only shown (in a fence, in a comment, in the middle of a sentence) is none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/model/message.h"

namespace fiel::agent {

std::vector<ToolCall> text_calls(std::string_view text, const std::vector<ToolSpec>& specs,
                                 const std::string& id_prefix);

/// What a model is told about it.
extern const char* const kTextCallHint;
std::string text_call_instructions(const std::vector<ToolSpec>& specs);

}  // namespace fiel::agent
