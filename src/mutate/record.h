// What a study writes down, a line of JSON each: the study itself, its subjects, their mutants.
//
//   Json line = to_json(record);  Result<MutantRecord> back = read_mutant(line);
//
// The format is docs/mutation-study.md#data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "mutate/mutant.h"
#include "mutate/witness.h"

namespace fiel::mutate {

inline constexpr int kStudyFormat = 1;

/// A kernel that is right, to be mutated.
struct Subject {
  std::string task, kernel;  ///< paths
  bool operator==(const Subject&) const = default;
};

/// A probe at a shape.
struct ProbeAt {
  std::string probe, shape;
  bool operator==(const ProbeAt&) const = default;
};

struct SubjectRecord {
  Subject subject;
  std::string unfit;                      ///< why it is no subject; empty where it is one
  uint64_t mutants = 0;                   ///< that the rules make, before sampling
  uint64_t inputs = 0;                    ///< of the search for witnesses
  uint64_t sound = 0;                     ///< of these, input sets on which the original is right
  std::map<std::string, uint64_t> calls;  ///< of strict at --budget quick, by probe
};

enum class Fate : uint8_t {
  not_compiled,  ///< the compiler refused it
  same_code,     ///< the compiler made of it what it made of the original
  judged,
};
std::string_view name_of(Fate fate);

struct Opinion {
  bool accepted = false;
  std::string status;
  ProbeAt first;  ///< strict: what rejected it
};

struct MutantRecord {
  Subject subject;
  Mutant mutant;
  Fate fate = Fate::judged;
  std::optional<FoundWitness> witness;
  uint32_t searched = 0;                    ///< calls of the search
  std::map<std::string, Opinion> opinions;  ///< by protocol; "strict-quick" beside them
  std::vector<ProbeAt> seen_by;             ///< strict at --budget quick: all that see it
};

Json to_json(const SubjectRecord& record);
Json to_json(const MutantRecord& record);
Result<SubjectRecord> read_subject(const Json& line);
Result<MutantRecord> read_mutant(const Json& line);

/// A mutant of a subject, and of no other line.
std::string key_of(const Subject& subject, const Mutant& mutant);

}  // namespace fiel::mutate
