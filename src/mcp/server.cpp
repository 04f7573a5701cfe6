#include "mcp/server.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace fiel::mcp {
namespace {

constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kServerKey = "io.modelcontextprotocol/serverInfo";
constexpr int64_t kListTtl_ms = 3'600'000;  // tools change with the program alone
constexpr size_t kMaxPending = 64;

constexpr const char* kInstructions =
    "Judges CUDA kernels. list_tasks names the tasks; a kernel is the text of a .cu that defines "
    "fiel_run (include <fiel/kernel.h>). compile, then verify, then bench; submit keeps the "
    "verdict. What takes long gives a job_id: ask with job. explain tells what a finding means.";

Json supported() {
  Json list = Json::array();
  list.push_back(kStateless);
  for (const std::string& v : handshake_versions()) list.push_back(v);
  return list;
}

Json capabilities() { return Json::object({{"tools", Json::object()}}); }

}  // namespace

const std::vector<std::string>& handshake_versions() {
  static const std::vector<std::string> versions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                    "2024-11-05"};
  return versions;
}

Json Server::about() const {
  return Json::object({{"name", "fiel"}, {"title", "Fiel"}, {"version", version_}});
}

std::vector<Json> Server::outgoing() { return std::exchange(out_, {}); }

void Server::error(const Json& id, int code, std::string message, Json data) {
  out_.push_back(error_response(id, code, std::move(message), std::move(data)));
}

void Server::result(const Json& id, Era era, Json result) {
  if (era == Era::stateless) {
    result["resultType"] = "complete";
    Json meta = Json::object();
    meta[kServerKey] = about();
    result["_meta"] = std::move(meta);
  }
  out_.push_back(result_response(id, std::move(result)));
}

void Server::take(std::string_view line, int64_t now_ms) {
  const Message m = read_message(line);
  switch (m.kind) {
    case Message::Kind::malformed:
      error(m.id, m.code, m.why);
      break;
    case Message::Kind::request:
      request(m, now_ms);
      break;
    case Message::Kind::notification:
      notification(m);
      break;
    case Message::Kind::response:
      break;
  }
}

/// `refused`: an answer was given already.
bool Server::is_stateless(const Message& m, bool& refused) {
  const Json& meta = m.params["_meta"];
  const Json* version = meta.find(kVersionKey);
  if (version == nullptr) return false;
  const auto& old = handshake_versions();
  // A client of the handshake may put its version there too.
  if (std::find(old.begin(), old.end(), version->as_string()) != old.end()) return false;
  if (version->as_string() != kStateless) {
    refused = true;
    error(m.id, code::kUnsupportedVersion, "this protocol version is not supported",
          Json::object(
              {{"supported", supported()}, {"requested", printable(version->as_string(), 60)}}));
  } else if (!meta[kCapabilitiesKey].is_object()) {
    refused = true;
    error(m.id, code::kInvalidParams,
          fmt::format("_meta lacks {}, an object", std::string(kCapabilitiesKey)));
  }
  return true;
}

void Server::request(const Message& m, int64_t now_ms) {
  const auto same = [&](const Pending& p) { return p.id == m.id; };
  if (std::any_of(pending_.begin(), pending_.end(), same)) {
    error(m.id, code::kInvalidRequest, "a request with this id is under way");
    return;
  }
  bool refused = false;
  const Era era = is_stateless(m, refused) ? Era::stateless : Era::handshake;
  if (refused) return;
  if (m.method == "tools/list") {
    list_tools(m, era);
  } else if (m.method == "tools/call") {
    call_tool(m, era, now_ms);
  } else if (era == Era::stateless && m.method == "server/discover") {
    discover(m);
  } else if (era == Era::handshake && m.method == "initialize") {
    initialize(m);
  } else if (era == Era::handshake && m.method == "ping") {
    result(m.id, era, Json::object());
  } else {
    error(m.id, code::kMethodNotFound, fmt::format("there is no '{}'", printable(m.method, 80)));
  }
}

void Server::notification(const Message& m) {
  if (m.method != "notifications/cancelled") return;
  const Json& id = m.params["requestId"];
  const auto it =
      std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.id == id; });
  if (it == pending_.end()) return;
  // Nobody waits for the answer: the work ends too, unless another call waits for the same job.
  const std::string job = it->job;
  pending_.erase(it);
  const auto waits = [&](const Pending& p) { return p.job == job; };
  if (std::none_of(pending_.begin(), pending_.end(), waits)) jobs_.cancel(job);
}

void Server::initialize(const Message& m) {
  const std::string& wanted = m.params["protocolVersion"].as_string();
  if (wanted.empty()) {
    error(m.id, code::kInvalidParams, "initialize needs protocolVersion");
    return;
  }
  const auto& known = handshake_versions();
  const bool have = std::find(known.begin(), known.end(), wanted) != known.end();
  result(m.id, Era::handshake,
         Json::object({{"protocolVersion", have ? wanted : known.front()},
                       {"capabilities", capabilities()},
                       {"serverInfo", about()},
                       {"instructions", kInstructions}}));
}

void Server::discover(const Message& m) {
  result(m.id, Era::stateless,
         Json::object({{"supportedVersions", supported()},
                       {"capabilities", capabilities()},
                       {"instructions", kInstructions},
                       {"ttlMs", kListTtl_ms},
                       {"cacheScope", "public"}}));
}

void Server::list_tools(const Message& m, Era era) {
  if (m.params.find("cursor") != nullptr) {
    error(m.id, code::kInvalidParams, "there is one page: no cursor was given");
    return;
  }
  Json list = Json::object({{"tools", Tools::list()}});
  if (era == Era::stateless) {
    list["ttlMs"] = kListTtl_ms;
    list["cacheScope"] = "public";
  }
  result(m.id, era, std::move(list));
}

void Server::call_tool(const Message& m, Era era, int64_t now_ms) {
  if (pending_.size() >= kMaxPending) {
    error(m.id, code::kInternalError, "too many calls are under way");
    return;
  }
  const Json& given = m.params["arguments"];
  const ToolAnswer a =
      tools_.call(m.params["name"].as_string(), given.is_null() ? Json::object() : given);
  if (!a.known) {
    error(m.id, code::kInvalidParams, a.text);
    return;
  }
  if (a.job.empty()) {
    answer(m.id, era, a);
    return;
  }
  jobs_.poll(now_ms);
  pending_.push_back({m.id, era, a.job, now_ms + a.wait_ms});
}

void Server::answer(const Json& id, Era era, const ToolAnswer& a) {
  Json content = Json::array();
  content.push_back(Json::object({{"type", "text"}, {"text", a.text}}));
  Json r = Json::object({{"content", std::move(content)}, {"isError", a.failed}});
  if (a.structured.is_object()) r["structuredContent"] = a.structured;
  result(id, era, std::move(r));
}

void Server::look(int64_t now_ms) {
  jobs_.poll(now_ms);
  for (auto it = pending_.begin(); it != pending_.end();) {
    const Job* job = jobs_.find(it->job);
    if (job != nullptr && !job->ended() && now_ms < it->until_ms) {
      ++it;
      continue;
    }
    if (job == nullptr)
      error(it->id, code::kInternalError, "the job is gone");
    else
      answer(it->id, it->era, tools_.answer_of(*job));
    it = pending_.erase(it);
  }
}

int64_t Server::wait_ms(int64_t now_ms) const {
  int64_t least = -1;
  for (const Pending& p : pending_) {
    const int64_t left = std::max<int64_t>(p.until_ms - now_ms, 0);
    least = least < 0 ? left : std::min(least, left);
  }
  return least;
}

}  // namespace fiel::mcp
