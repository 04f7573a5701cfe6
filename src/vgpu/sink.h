// Where findings go while a launch runs, so that the report does not depend on threads.
//
//   cta.findings.add(occurrence);            // by the worker that runs the block, no lock
//   sink.commit(position, findings);         // when the block ends
//   std::vector<Finding> all = sink.finish(stop_position, …);
//
// Occurrences of one kind at one instruction (and, for races, with one other instruction) are one
// group; the first in schedule order is described. When a block faults, blocks behind it in the
// schedule may or may not have run already: their groups are dropped.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "vgpu/findings.h"

namespace fiel::vgpu {

struct Occurrence {
  FindingKind kind{};
  Grade grade = Grade::error;
  uint32_t op = 0;  ///< index into Program::ops
  uint32_t other_op = 0xffffffffu;
  uint64_t count = 1;
  uint64_t block = 0;   ///< linear
  uint32_t thread = 0;  ///< linear in the block
  bool has_address = false;
  uint64_t address = 0;
  uint32_t bytes = 0;
  std::string detail;
  uint64_t other_block = 0;
  uint32_t other_thread = 0;
};

inline constexpr size_t kMaxGroups = 256;

class CtaFindings {
 public:
  /// True when the group is new: only then is it worth filling in `detail`.
  bool known(FindingKind kind, uint32_t op, uint32_t other_op, uint64_t count);
  void add(Occurrence occurrence);
  bool empty() const { return groups_.empty() && dropped_ == 0; }
  void clear() {
    groups_.clear();
    dropped_ = 0;
  }
  const std::vector<Occurrence>& groups() const { return groups_; }
  uint64_t dropped() const { return dropped_; }

 private:
  std::vector<Occurrence> groups_;
  uint64_t dropped_ = 0;
};

class Sink {
 public:
  /// `low_water`: every position below it has been committed.
  void commit(uint64_t position, CtaFindings&& findings, uint64_t low_water);
  /// All groups of positions <= stop, by first occurrence.
  std::vector<Occurrence> finish(uint64_t stop, uint64_t& dropped);

 private:
  struct Pending {
    uint64_t position;
    CtaFindings findings;
  };
  void merge(const Pending& pending);

  std::mutex mutex_;
  std::vector<Pending> pending_;
  struct Group {
    uint64_t position;
    uint32_t sequence;
    Occurrence occurrence;
  };
  std::map<std::tuple<uint8_t, uint32_t, uint32_t>, Group> groups_;
  uint64_t dropped_ = 0;
};

}  // namespace fiel::vgpu
