// A server of the Model Context Protocol, for clients of both eras, without a transport.
//
//   Server server(tools, jobs);
//   server.take(line, now);  server.look(now);
//   for (const Json& m : server.outgoing()) write(m);
//
// 2026-07-28 is stateless: every request says its version and the client's capabilities in _meta,
// server/discover says ours, results carry resultType. Before it (2025-11-25, 2025-06-18,
// 2025-03-26, 2024-11-05) there is a handshake. Which era a request is of shows in the request
// itself, so one process answers both. Long work outlives its call: a job's handle is an argument.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mcp/json_rpc.h"
#include "mcp/tools.h"

namespace fiel::mcp {

inline constexpr std::string_view kStateless = "2026-07-28";
/// Of the handshake, newest first.
const std::vector<std::string>& handshake_versions();

class Server {
 public:
  Server(Tools& tools, Jobs& jobs, std::string program_version)
      : tools_(tools), jobs_(jobs), version_(std::move(program_version)) {}

  void take(std::string_view line, int64_t now_ms);
  /// Answers calls whose job has ended, or whose time to wait has.
  void look(int64_t now_ms);
  /// Milliseconds until look() has something to do by the clock; negative: nothing.
  int64_t wait_ms(int64_t now_ms) const;
  std::vector<Json> outgoing();

 private:
  enum class Era : uint8_t { handshake, stateless };
  /// A call whose answer is not there yet.
  struct Pending {
    Json id;
    Era era;
    std::string job;
    int64_t until_ms;
  };
  void request(const Message& m, int64_t now_ms);
  void notification(const Message& m);
  bool is_stateless(const Message& m, bool& refused);
  void initialize(const Message& m);
  void discover(const Message& m);
  void list_tools(const Message& m, Era era);
  void call_tool(const Message& m, Era era, int64_t now_ms);
  void answer(const Json& id, Era era, const ToolAnswer& a);
  void result(const Json& id, Era era, Json result);
  void error(const Json& id, int code, std::string message, Json data = {});
  Json about() const;

  Tools& tools_;
  Jobs& jobs_;
  std::string version_;
  std::vector<Pending> pending_;
  std::vector<Json> out_;
};

}  // namespace fiel::mcp
