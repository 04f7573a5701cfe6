// Kernels that pass over groups of dimensions: what columns and whole tensors have in common.
//
// A pass reduces what its results need: each thread its own elements, then the block, then, where
// several blocks share a result, partial results go through memory and every reader combines them
// in the same order. So results are the same bits at every launch.
#pragma once

#include <string>
#include <vector>

#include "forge/program.h"

namespace fiel::forge {

struct PassChoice {
  int unroll = 4;  ///< accesses in flight
  bool fast = false;
  bool last_block = false;  ///< the last block of a result finishes it, without another launch
};

class Passes {
 public:
  Passes(const Program& p, const PassChoice& c) : p_(p), c_(c) {}

  /// All but the head of the file. `items`: how many packs a thread of columns keeps at most, 0 for
  /// none; `split`: how many blocks shall share a result, an expression of the host's.
  std::string source(const std::string& sizes, int vector, int items,
                     const std::string& split) const;

  uint32_t partial_parts() const;  ///< floats of a partial result, all reductions together
  uint32_t most_parts() const;     ///< of one reduction
  bool has_full_output() const;
  /// Elements are read in more than one pass, so that keeping them pays.
  bool reads_again() const;

 private:
  /// A kernel: passes [from, to), then partial results or the end.
  struct Stage {
    std::string name;
    uint32_t from = 0, to = 0;
    bool kept = false, ends = false;
  };
  /// The types of partial results, and what is done with them.
  std::string states() const;
  /// Every kernel: a whole task in one launch, the same with elements kept in registers where that
  /// pays, and one for each pass and the end.
  std::string kernels() const;
  std::string launches(int items) const;
  bool of_columns() const { return p_.shape_class == ShapeClass::columns; }
  /// Whole: packs lie in runs, of which each has more than one.
  bool divides() const { return !of_columns() && p_.reduced == 5 && (p_.present & 1) != 0; }
  bool finished_by_last() const { return c_.last_block && p_.passes > 0 && !has_full_output(); }

  std::string kernel(const Stage& s) const;
  std::string constants() const;
  std::string uniform_inputs() const;
  std::string uniform_input(uint32_t step) const;
  std::string gathered(uint32_t step) const;
  std::string uniform(uint32_t pass) const;
  std::string reductions(uint32_t pass, const Stage& s) const;
  std::string results(uint32_t pass) const;
  std::string stored_partials(uint32_t pass) const;
  std::string restored(uint32_t pass) const;
  std::string outputs(const Stage& s) const;
  std::string row_outputs(const Stage& s) const;

  std::string loop(const std::vector<uint32_t>& targets, const std::string& before,
                   const std::string& step_begin, const std::string& inner,
                   const std::string& step_end, const std::string& after, const Stage& s,
                   bool last) const;
  std::string values(const std::vector<uint32_t>& order) const;
  std::string aliases(const std::vector<uint32_t>& users, const char* indent) const;
  std::string index(Groups groups) const;
  std::string value_of(uint32_t step) const;

  std::vector<uint32_t> reduced_in(uint32_t pass) const;
  std::vector<uint32_t> full_outputs() const;
  uint32_t slot_of(uint32_t reduction) const;

  const Program& p_;
  const PassChoice& c_;
};

}  // namespace fiel::forge
