#include "mutate/record.h"

#include <array>

namespace fiel::mutate {
namespace {

constexpr std::array<std::string_view, 3> kFates = {"not-compiled", "same-code", "judged"};

tl::unexpected<Error> wrong(const char* what) {
  return fail(ErrorCode::parse, std::string("a line of a study has no legal ") + what);
}

Json place(const ProbeAt& p) { return p.probe + "@" + p.shape; }

ProbeAt read_place(const std::string& text) {
  const size_t at = text.find('@');
  if (at == std::string::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

Json to_json(const Opinion& o) {
  Json j = Json::object({{"accepted", o.accepted}, {"status", o.status}});
  if (!o.first.probe.empty()) j["first"] = place(o.first);
  return j;
}

Json to_json(const FoundWitness& w) {
  return Json::object(
      {{"how", w.how}, {"shape", w.shape}, {"style", w.style}, {"draw", w.draw}, {"call", w.call}});
}

Subject read_pair(const Json& line) {
  return {line["task"].as_string(), line["kernel"].as_string()};
}

}  // namespace

std::string_view name_of(Fate fate) { return kFates[static_cast<size_t>(fate)]; }

std::string key_of(const Subject& s, const Mutant& m) {
  return s.task + " " + s.kernel + ":" + m.label() + " " + m.replacement;
}

Json to_json(const SubjectRecord& r) {
  Json j = Json::object({{"line", "subject"},
                         {"task", r.subject.task},
                         {"kernel", r.subject.kernel},
                         {"unfit", r.unfit},
                         {"mutants", r.mutants},
                         {"inputs", r.inputs},
                         {"sound", r.sound}});
  j["calls"] = Json::object();
  for (const auto& [probe, calls] : r.calls) j["calls"][probe] = calls;
  return j;
}

Json to_json(const MutantRecord& r) {
  const Mutant& m = r.mutant;
  Json j = Json::object({{"line", "mutant"},
                         {"task", r.subject.task},
                         {"kernel", r.subject.kernel},
                         {"kind", name_of(m.kind)},
                         {"rule", m.rule},
                         {"function", m.function},
                         {"at", Json::array()},
                         {"span", Json::array()},
                         {"original", m.original},
                         {"replacement", m.replacement},
                         {"fate", name_of(r.fate)}});
  j["at"].push_back(m.line);
  j["at"].push_back(m.column);
  j["span"].push_back(m.begin);
  j["span"].push_back(m.end);
  if (r.fate != Fate::judged) return j;
  j["witness"] = r.witness ? to_json(*r.witness) : Json();
  j["searched"] = r.searched;
  j["opinions"] = Json::object();
  for (const auto& [protocol, opinion] : r.opinions) j["opinions"][protocol] = to_json(opinion);
  j["seen_by"] = Json::array();
  for (const ProbeAt& p : r.seen_by) j["seen_by"].push_back(place(p));
  return j;
}

Result<SubjectRecord> read_subject(const Json& line) {
  SubjectRecord r;
  r.subject = read_pair(line);
  if (r.subject.kernel.empty()) return wrong("kernel");
  r.unfit = line["unfit"].as_string();
  r.mutants = static_cast<uint64_t>(line["mutants"].as_int());
  r.inputs = static_cast<uint64_t>(line["inputs"].as_int());
  r.sound = static_cast<uint64_t>(line["sound"].as_int());
  for (const auto& [probe, calls] : line["calls"].members())
    r.calls[probe] = static_cast<uint64_t>(calls.as_int());
  return r;
}

Result<MutantRecord> read_mutant(const Json& line) {
  MutantRecord r;
  r.subject = read_pair(line);
  const auto kind = parse_kind(line["kind"].as_string());
  if (!kind) return wrong("kind");
  const auto& at = line["at"].items();
  const auto& span = line["span"].items();
  if (at.size() != 2 || span.size() != 2) return wrong("place");
  r.mutant = {*kind,
              line["rule"].as_string(),
              line["function"].as_string(),
              static_cast<size_t>(span[0].as_int()),
              static_cast<size_t>(span[1].as_int()),
              static_cast<uint32_t>(at[0].as_int()),
              static_cast<uint32_t>(at[1].as_int()),
              line["original"].as_string(),
              line["replacement"].as_string()};
  const std::string& fate = line["fate"].as_string();
  bool known = false;
  for (Fate f : {Fate::not_compiled, Fate::same_code, Fate::judged})
    if (name_of(f) == fate) r.fate = f, known = true;
  if (!known) return wrong("fate");
  const Json& w = line["witness"];
  if (w.is_object())
    r.witness = FoundWitness{w["how"].as_string(), w["shape"].as_string(), w["style"].as_string(),
                             static_cast<uint32_t>(w["draw"].as_int()),
                             static_cast<uint32_t>(w["call"].as_int())};
  r.searched = static_cast<uint32_t>(line["searched"].as_int());
  for (const auto& [protocol, o] : line["opinions"].members())
    r.opinions[protocol] = {o["accepted"].as_bool(), o["status"].as_string(),
                            read_place(o["first"].as_string())};
  for (const Json& p : line["seen_by"].items()) r.seen_by.push_back(read_place(p.as_string()));
  return r;
}

}  // namespace fiel::mutate
