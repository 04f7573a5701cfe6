// Whoever writes kernels, behind one interface: templates, a language model, a trained one.
//
//   Answer a = proposer.propose({Operation::mutate, {&parent}, history, dice});
//   if (a.proposal) judge(a.proposal->source);
//
// A proposer sees what was judged and what the judge said of it, never a verdict's hidden part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/candidate.h"

namespace fiel::search {

struct Request {
  Operation operation = Operation::fresh;
  std::vector<const Candidate*> parents;
  const History& history;
  Dice dice;
};

struct Proposal {
  std::string source, note;
  std::string state;  ///< kept with the candidate, and given back with it
};

struct Answer {
  std::optional<Proposal> proposal;
  std::string why;            ///< there is none
  bool nothing_left = false;  ///< asking for the same again is no use
  bool failed = false;        ///< the proposer itself is broken: an endpoint that is gone
  Spent spent;
};

/// How like an earlier kernel a new one may be.
enum class Novelty : uint8_t {
  text,   ///< any difference counts: choices of a template
  words,  ///< the same kernel with other names for its comments is no new one
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual Answer propose(const Request& request) = 0;
  virtual const std::string& name() const = 0;
  virtual Novelty novelty() const = 0;
  /// Of a search that goes on: so many proposals were made before.
  virtual void skip(uint32_t proposals) { static_cast<void>(proposals); }
};

}  // namespace fiel::search
