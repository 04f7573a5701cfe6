#include "store/store.h"

#include <fmt/core.h>

#include "base/hash.h"
#include "base/text.h"
#include "store/compressed.h"

namespace fiel::store {
namespace {

constexpr uint64_t kMaxText = 64u << 20;

std::string json_list(const std::vector<std::string>& words) {
  Json j = Json::array();
  for (const std::string& w : words) j.push_back(w);
  return j.dump();
}

std::vector<std::string> list_of(const std::string& json) {
  std::vector<std::string> words;
  if (const auto j = Json::parse(json))
    for (const Json& w : j->items()) words.push_back(w.as_string());
  return words;
}

constexpr std::string_view kHeaderColumns =
    "SELECT id, name, campaign, folder, words, begun_ms, coalesce(ended_ms, 0), state,"
    " (SELECT count(*) FROM entries WHERE run = runs.id),"
    " (SELECT count(*) FROM verdicts WHERE run = runs.id),"
    " (SELECT count(*) FROM verdicts WHERE run = runs.id AND accepted = 1) FROM runs ";

RunHeader header_of(const Statement& s) {
  RunHeader h;
  h.id = s.integer(0);
  h.name = s.text(1);
  h.campaign = s.text(2);
  h.folder = s.text(3);
  h.words = list_of(s.text(4));
  h.begun_ms = s.integer(5);
  h.ended_ms = s.integer(6);
  h.state = s.text(7);
  h.entries = static_cast<uint64_t>(s.integer(8));
  h.verdicts = static_cast<uint64_t>(s.integer(9));
  h.accepted = static_cast<uint64_t>(s.integer(10));
  return h;
}

Result<Json> json_of(std::string_view frame) {
  if (frame.empty()) return Json();
  FIEL_TRY(const std::string text, decompressed(frame, kMaxText));
  return Json::parse(text);
}

void bind_digest(Statement& s, int place, const std::string& digest) {
  if (digest.empty())
    s.bind_null(place);
  else
    s.bind(place, digest);
}

}  // namespace

Result<int64_t> Store::begin_run(const NewRun& run) {
  FIEL_TRY(Transaction transaction, Transaction::begin(db_));
  FIEL_TRY(Statement known, db_.prepare("SELECT 1 FROM runs WHERE name = ?"));
  known.bind(1, run.name);
  FIEL_TRY(const bool taken, known.step());
  if (taken)
    return fail(ErrorCode::usage, fmt::format("there is a run '{}' already", run.name),
                fmt::format("go on with it: fiel judge --resume {}", run.name));
  FIEL_TRY(Statement s, db_.prepare("INSERT INTO runs(name, campaign, folder, words, begun_ms,"
                                    " state) VALUES (?, ?, ?, ?, ?, 'open')"));
  s.bind(1, run.name).bind(2, run.campaign).bind(3, run.folder).bind(4, json_list(run.words));
  s.bind(5, run.begun_ms);
  FIEL_TRY_STATUS(s.run());
  const int64_t id = db_.last_row();
  FIEL_TRY(Statement e, db_.prepare("INSERT INTO entries(run, place, task, kernel, problem, sample)"
                                    " VALUES (?, ?, ?, ?, ?, ?)"));
  for (size_t i = 0; i < run.entries.size(); ++i) {
    const Entry& entry = run.entries[i];
    e.reset();
    e.bind(1, id).bind(2, static_cast<int64_t>(i)).bind(3, entry.task).bind(4, entry.kernel);
    e.bind(5, entry.problem);
    if (entry.sample)
      e.bind(6, *entry.sample);
    else
      e.bind_null(6);
    FIEL_TRY_STATUS(e.run());
  }
  FIEL_TRY_STATUS(transaction.commit());
  return id;
}

Result<std::string> Store::keep_content(std::string_view bytes) {
  if (bytes.empty()) return std::string();
  const std::string digest = sha256_hex(bytes);
  FIEL_TRY(Statement known, db_.prepare("SELECT 1 FROM contents WHERE digest = ?"));
  known.bind(1, digest);
  FIEL_TRY(const bool there, known.step());
  if (there) return digest;
  FIEL_TRY(Statement s, db_.prepare("INSERT INTO contents(digest, bytes, zstd) VALUES (?, ?, ?)"));
  s.bind(1, digest).bind(2, static_cast<int64_t>(bytes.size())).bind_bytes(3, compressed(bytes));
  FIEL_TRY_STATUS(s.run());
  return digest;
}

Status Store::begin_entry(int64_t run, size_t place, int64_t now_ms) {
  FIEL_TRY(Statement s, db_.prepare("UPDATE entries SET begun_ms = ? WHERE run = ? AND place = ?"));
  s.bind(1, now_ms).bind(2, run).bind(3, static_cast<int64_t>(place));
  return s.run();
}

Status Store::keep(int64_t run, const Evidence& evidence) {
  FIEL_TRY(Transaction transaction, Transaction::begin(db_));
  FIEL_TRY_STATUS(put_verdict(run, evidence));
  return transaction.commit();
}

Status Store::put_verdict(int64_t run, const Evidence& evidence) {
  const Json& v = evidence.verdict;
  FIEL_TRY(const std::string task, keep_content(evidence.task_source));
  FIEL_TRY(const std::string kernel, keep_content(evidence.kernel_source));
  FIEL_TRY(const std::string environment, keep_content(v["environment"].dump()));
  FIEL_TRY(Statement s,
           db_.prepare("INSERT INTO verdicts(run, place, judged_ms, took_ms, task, kernel, status,"
                       " accepted, speed, task_source, kernel_source, environment, parent,"
                       " document, samples) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                       " ON CONFLICT(run, place) DO UPDATE SET judged_ms = excluded.judged_ms,"
                       " took_ms = excluded.took_ms, task = excluded.task,"
                       " kernel = excluded.kernel, status = excluded.status,"
                       " accepted = excluded.accepted, speed = excluded.speed,"
                       " task_source = excluded.task_source,"
                       " kernel_source = excluded.kernel_source,"
                       " environment = excluded.environment, parent = excluded.parent,"
                       " document = excluded.document, samples = excluded.samples"));
  s.bind(1, run).bind(2, static_cast<int64_t>(evidence.place)).bind(3, evidence.judged_ms);
  s.bind(4, evidence.took_ms).bind(5, v["task"].as_string()).bind(6, v["kernel"].as_string());
  s.bind(7, v["status"].as_string()).bind(8, int64_t{v["accepted"].as_bool()});
  s.bind(9, v["speed"].as_string());
  bind_digest(s, 10, task);
  bind_digest(s, 11, kernel);
  s.bind(12, environment);
  if (evidence.parent)
    s.bind(13, *evidence.parent);
  else
    s.bind_null(13);
  s.bind_bytes(14, compressed(v.dump()));
  if (evidence.samples.is_null())
    s.bind_null(15);
  else
    s.bind_bytes(15, compressed(evidence.samples.dump()));
  return s.run();
}

Status Store::set_state(int64_t run, std::string_view state, int64_t now_ms) {
  FIEL_TRY(Statement s, db_.prepare("UPDATE runs SET state = ?, ended_ms = ? WHERE id = ?"));
  s.bind(1, state).bind(2, now_ms).bind(3, run);
  return s.run();
}

Result<std::vector<RunHeader>> Store::runs(uint64_t at_most) {
  FIEL_TRY(Statement s, db_.prepare(std::string(kHeaderColumns) + "ORDER BY id DESC LIMIT ?"));
  s.bind(1, static_cast<int64_t>(at_most));
  std::vector<RunHeader> found;
  for (;;) {
    FIEL_TRY(const bool row, s.step());
    if (!row) return found;
    found.push_back(header_of(s));
  }
}

Result<RunHeader> Store::find(std::string_view name) {
  FIEL_TRY(const std::vector<RunHeader> all, runs(100'000));
  if (name == "last" && !all.empty()) return all.front();
  const RunHeader* begins = nullptr;
  size_t several = 0;
  std::vector<std::string> names;
  for (const RunHeader& run : all) {
    if (run.name == name) return run;
    names.push_back(run.name);
    if (!name.empty() && run.name.starts_with(name)) begins = &run, ++several;
  }
  if (several == 1) return *begins;
  if (several > 1)
    return fail(ErrorCode::usage,
                fmt::format("{} runs begin with '{}'", several, printable(name, 80)),
                "'fiel runs' lists them");
  const std::string near = did_you_mean(name, names);
  return fail(ErrorCode::not_found, fmt::format("there is no run '{}'", printable(name, 80)),
              near.empty() ? "'fiel runs' lists them" : fmt::format("did you mean '{}'?", near));
}

Result<std::vector<Entry>> Store::entries_of(int64_t run) {
  FIEL_TRY(Statement s, db_.prepare("SELECT task, kernel, problem, sample, begun_ms FROM entries"
                                    " WHERE run = ? ORDER BY place"));
  s.bind(1, run);
  std::vector<Entry> entries;
  for (;;) {
    FIEL_TRY(const bool row, s.step());
    if (!row) return entries;
    Entry e{s.text(0), s.text(1), s.text(2), std::nullopt};
    if (!s.is_null(3)) e.sample = s.integer(3);
    e.begun_ms = s.integer(4);
    entries.push_back(std::move(e));
  }
}

Result<RunRecord> Store::load(const RunHeader& header, Detail detail) {
  RunRecord record{.header = header};
  FIEL_TRY(record.entries, entries_of(header.id));
  FIEL_TRY(Statement s, db_.prepare("SELECT place, judged_ms, took_ms, parent, document, samples,"
                                    " task_source, kernel_source FROM verdicts"
                                    " WHERE run = ? ORDER BY place"));
  s.bind(1, header.id);
  for (;;) {
    FIEL_TRY(const bool row, s.step());
    if (!row) return record;
    Evidence e;
    e.place = static_cast<size_t>(s.integer(0));
    e.judged_ms = s.integer(1);
    e.took_ms = s.integer(2);
    if (!s.is_null(3)) e.parent = s.integer(3);
    FIEL_TRY(e.verdict, json_of(s.bytes(4)));
    e.task_digest = s.text(6);
    e.kernel_digest = s.text(7);
    if (detail == Detail::all) {
      FIEL_TRY(e.samples, json_of(s.bytes(5)));
      FIEL_TRY(e.task_source, content(e.task_digest));
      FIEL_TRY(e.kernel_source, content(e.kernel_digest));
    }
    record.verdicts.push_back(std::move(e));
  }
}

Result<std::string> Store::content(std::string_view digest) {
  if (digest.empty()) return std::string();
  FIEL_TRY(Statement s, db_.prepare("SELECT zstd FROM contents WHERE digest = ?"));
  s.bind(1, digest);
  FIEL_TRY(const bool row, s.step());
  if (!row) return fail(ErrorCode::not_found, fmt::format("the store has no content {}", digest));
  return decompressed(s.bytes(0), kMaxText);
}

}  // namespace fiel::store
