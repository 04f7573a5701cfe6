// What a client sends, as it comes: pieces, lines, messages of both eras. Nothing is ever started.
#include <cstdint>

#include "base/check.h"
#include "mcp/server.h"

using namespace fiel;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mcp::Jobs jobs(
      [](const std::vector<std::string>&) -> Result<std::unique_ptr<mcp::Running>> {
        return fail(ErrorCode::environment, "nothing runs here");
      },
      1000);
  mcp::Tools tools({.task_folder = "/nonexistent"}, jobs);
  mcp::Server server(tools, jobs, "0");
  mcp::LineReader reader;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  size_t lines = 0, answers = 0;
  const auto take = [&](std::string_view line) {
    ++lines;
    server.take(line, 0);
  };
  // A cut anywhere must not matter.
  const size_t cut = size == 0 ? 0 : data[0] % size;
  reader.add(bytes.substr(0, cut), take);
  reader.add(bytes.substr(cut), take);
  server.look(0);
  server.look(400'000);
  for (const Json& m : server.outgoing()) {
    FIEL_CHECK(m["jsonrpc"].as_string() == "2.0", "an answer is a message");
    ++answers;
  }
  FIEL_CHECK(answers <= lines, "at most one answer a line");
  return 0;
}
