#include "agent/loop/trajectory.h"

#include <algorithm>

#include "agent/append_line.h"

namespace fiel::agent {
namespace {

constexpr uint64_t kMaxTrajectoryBytes = 1ull << 30;

Json tokens_json(const TokenTrace& t) {
  Json j = Json::object({{"usable_on_policy", t.usable_on_policy()}});
  if (t.ids.empty()) return j;
  j["prompt_ids"] = Json::array();
  j["ids"] = Json::array();
  j["log_probs"] = Json::array();
  for (const int64_t id : t.prompt_ids) j["prompt_ids"].push_back(id);
  for (const int64_t id : t.ids) j["ids"].push_back(id);
  for (const double p : t.log_probs) j["log_probs"].push_back(p);
  return j;
}

}  // namespace

Result<Trajectory> Trajectory::open(const std::filesystem::path& file) {
  Trajectory t;
  t.file_ = file;
  FIEL_TRY(const auto lines, whole_lines(file, kMaxTrajectoryBytes));
  for (const std::string& line : lines) {
    FIEL_TRY(Json json, Json::parse(line));
    t.lines_.push_back(std::move(json));
  }
  return t;
}

Status Trajectory::add(Json line) {
  FIEL_TRY_STATUS(append_line(file_, line.dump(), true));
  lines_.push_back(std::move(line));
  return {};
}

Status Trajectory::begin(Json about) {
  about["type"] = "begin";
  about["schema_version"] = 1;
  return add(std::move(about));
}

Status Trajectory::add_message(uint32_t turn, const Message& message, Json extra) {
  Json line = Json::object({{"type", "message"}, {"turn", turn}, {"message", to_json(message)}});
  for (const auto& [name, value] : extra.members()) line[name] = value;
  return add(std::move(line));
}

Status Trajectory::add_reply(uint32_t turn, const Reply& reply, const Json& cost,
                             int64_t elapsed_ms) {
  return add_message(turn, reply.message,
                     Json::object({{"finish", std::string(name_of(reply.finish))},
                                   {"input_tokens", reply.usage.input_tokens},
                                   {"output_tokens", reply.usage.output_tokens},
                                   {"tokens", tokens_json(reply.tokens)},
                                   {"cost", cost},
                                   {"elapsed_ms", elapsed_ms}}));
}

Status Trajectory::add_compaction(const Message& summary, int64_t kept) {
  return add(Json::object(
      {{"type", "compaction"}, {"kept_messages", kept}, {"message", to_json(summary)}}));
}

Status Trajectory::end(const std::string& status, Json result) {
  return add(Json::object({{"type", "end"}, {"status", status}, {"result", std::move(result)}}));
}

Status Trajectory::pause(const std::string& status, int64_t elapsed_ms) {
  return add(Json::object({{"type", "pause"}, {"status", status}, {"elapsed_ms", elapsed_ms}}));
}

bool Trajectory::ended() const {
  return !lines_.empty() && lines_.back()["type"].as_string() == "end";
}

uint32_t Trajectory::turns() const {
  int64_t turns = 0;
  for (const Json& line : lines_) turns = std::max(turns, line["turn"].as_int());
  return static_cast<uint32_t>(turns);
}

int64_t Trajectory::elapsed_ms() const {
  int64_t elapsed = 0;
  for (const Json& line : lines_) elapsed = std::max(elapsed, line["elapsed_ms"].as_int());
  return elapsed;
}

Json Trajectory::last_cost() const {
  for (auto it = lines_.rbegin(); it != lines_.rend(); ++it)
    if ((*it)["cost"].is_object()) return (*it)["cost"];
  return {};
}

Result<std::vector<Message>> Trajectory::messages() const {
  std::vector<Message> messages;
  for (const Json& line : lines_) {
    const std::string& type = line["type"].as_string();
    if (type != "message" && type != "compaction") continue;
    FIEL_TRY(Message m, message_from_json(line["message"]));
    if (type == "message") {
      messages.push_back(std::move(m));
      continue;
    }
    const auto kept = static_cast<size_t>(std::clamp<int64_t>(
        line["kept_messages"].as_int(), 0, static_cast<int64_t>(messages.size())));
    std::vector<Message> after{std::move(m)};
    after.insert(after.end(), messages.end() - static_cast<ptrdiff_t>(kept), messages.end());
    messages = std::move(after);
  }
  return messages;
}

}  // namespace fiel::agent
