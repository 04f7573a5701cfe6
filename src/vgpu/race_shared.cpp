#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "vgpu/race_rules.h"

namespace fiel::vgpu {
namespace {

[[gnu::target("avx2")]] inline __m256i not_above(__m256i v, __m256i limit) {
  return _mm256_cmpeq_epi32(_mm256_max_epu32(v, limit), limit);
}
[[gnu::target("avx2")]] inline __m256i ones() { return _mm256_set1_epi32(-1); }
[[gnu::target("avx2")]] inline __m256i load(const std::vector<uint32_t>& plane, uint64_t g) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&plane[g]));
}
[[gnu::target("avx2")]] inline void store(std::vector<uint32_t>& plane, uint64_t g, __m256i v,
                                          __m256i lanes) {
  _mm256_maskstore_epi32(reinterpret_cast<int*>(&plane[g]), lanes, v);
}

}  // namespace

/// One granule's check, by the rules at the head of race.h.
struct SharedAccess {
  SharedRaces& races;
  BlockClocks& clocks;
  RaceRequest request;
  const RaceSink& sink;
  uint32_t warp;
  uint32_t own_clock;

  void hit(uint64_t g, uint32_t lane, FindingKind kind, Grade grade, bool other_wrote, Epoch other,
           uint32_t other_op) const {
    sink({.kind = kind,
          .grade = grade,
          .lane = lane,
          .address = g << races.shift_,
          .other_wrote = other_wrote,
          .other_op = other_op & kOpMask,
          .other_block = 0,
          .other_warp = warp_of(other),
          .other_lane = lane_of(other)});
  }

  void check_write_before(uint64_t g, uint32_t lane) const {
    Epoch e = races.write_[g];
    if (e == 0 || clock_of(e) <= clocks.floor(warp)) return;
    uint32_t op = races.write_op_[g];
    if (both_synchronize(op, request)) return;
    if (warp_of(e) == warp) {
      // Lanes of this very instruction are check_same_instruction()'s business.
      if (lane_of(e) != lane && clock_of(e) == own_clock && (op & kOpMask) != request.op)
        hit(g, lane, FindingKind::warp_synchronous, Grade::warn, true, e, op);
    } else if (!clocks.before(e, warp)) {
      hit(g, lane, FindingKind::shared_race, Grade::error, true, e, op);
    }
  }

  void check_reads_before(uint64_t g, uint32_t lane) const {
    uint32_t readers = races.readers_[g];
    Epoch tag = races.read_[g];
    if (readers == 0 || clock_of(tag) <= clocks.floor(warp)) return;
    uint32_t op = races.read_op_[g];
    if (both_synchronize(op, request)) return;
    for (uint32_t m = readers & ~(1u << warp); m != 0; m &= m - 1) {
      uint32_t r = static_cast<uint32_t>(std::countr_zero(m));
      if (clock_of(tag) <= clocks.row(warp)[r]) continue;
      Grade grade = (op & kInexact) != 0 ? Grade::warn : Grade::error;
      Epoch reader = r == warp_of(tag) ? tag : make_epoch(clock_of(tag), r, 0);
      return hit(g, lane, FindingKind::shared_race, grade, false, reader, op);
    }
    if (readers == 1u << warp && clock_of(tag) == own_clock &&
        ((op & kManyLanes) != 0 || lane_of(tag) != lane))
      hit(g, lane, FindingKind::warp_synchronous, Grade::warn, false, tag, op);
  }

  void read(uint64_t g, uint32_t lane) const {
    check_write_before(g, lane);
    Epoch mine = make_epoch(own_clock, warp, lane), tag = races.read_[g];
    uint32_t& readers = races.readers_[g];
    uint32_t op = op_with_flags(request);
    if (readers == 0 || clock_of(tag) <= clocks.floor(warp)) {
      readers = 1u << warp;
    } else if (readers == 1u << warp) {
      if (clock_of(tag) == own_clock && lane_of(tag) != lane) op |= kManyLanes;
      op |= races.read_op_[g] & (clock_of(tag) == own_clock ? kManyLanes : 0);
    } else {
      readers |= 1u << warp;
      op |= clock_of(tag) != own_clock ? kInexact : races.read_op_[g] & kInexact;
      if (clock_of(tag) > own_clock) mine = make_epoch(clock_of(tag), warp, lane);
    }
    races.read_[g] = mine;
    races.read_op_[g] = op;
  }

  void write(uint64_t g, uint32_t lane) const {
    check_write_before(g, lane);
    check_reads_before(g, lane);
    races.write_[g] = make_epoch(own_clock, warp, lane);
    races.write_op_[g] = op_with_flags(request) & ~kManyLanes;
    races.readers_[g] = 0;
  }

  /// True when two lanes write one address.
  bool check_same_instruction() const {
    return check_lanes_that_meet(request, FindingKind::shared_race,
                                 [&](uint32_t lane, uint32_t other, FindingKind kind, Grade grade) {
                                   hit(request.addresses[lane] >> races.shift_, other, kind, grade,
                                       true, make_epoch(own_clock, warp, lane), request.op);
                                 });
  }

  /// Eight consecutive granules of one access, of which those under `lanes` count: true when all
  /// are ordered and were updated. A granule whose readers all have our clock only gains a reader.
  [[gnu::target("avx2")]] bool fast_read(uint64_t g, __m256i mine, __m256i limit,
                                         __m256i lanes) const {
    const __m256i written = load(races.write_, g), tags = load(races.read_, g);
    const __m256i own = _mm256_cmpeq_epi32(_mm256_srli_epi32(tags, 10),
                                           _mm256_set1_epi32(static_cast<int>(own_clock)));
    const __m256i old = not_above(tags, limit);
    const __m256i fine = _mm256_and_si256(
        _mm256_or_si256(not_above(written, limit), _mm256_cmpeq_epi32(written, mine)),
        _mm256_or_si256(old, own));
    if (_mm256_movemask_epi8(_mm256_or_si256(fine, _mm256_xor_si256(lanes, ones()))) != -1)
      return false;
    const __m256i bit = _mm256_set1_epi32(static_cast<int>(1u << warp));
    const __m256i readers = load(races.readers_, g), ops = load(races.read_op_, g);
    const __m256i op =
        _mm256_set1_epi32(static_cast<int>(request.op | (request.many_lanes ? kManyLanes : 0)));
    // Same clock, another lane: only the flag needs to know.
    const __m256i many = _mm256_andnot_si256(_mm256_cmpeq_epi32(tags, mine),
                                             _mm256_set1_epi32(static_cast<int>(kManyLanes)));
    store(races.read_, g, _mm256_blendv_epi8(tags, mine, old), lanes);
    store(races.readers_, g, _mm256_blendv_epi8(_mm256_or_si256(readers, bit), bit, old), lanes);
    store(races.read_op_, g, _mm256_blendv_epi8(_mm256_or_si256(ops, many), op, old), lanes);
    return true;
  }
  [[gnu::target("avx2")]] bool fast_write(uint64_t g, __m256i mine, __m256i limit,
                                          __m256i lanes) const {
    const __m256i written = load(races.write_, g);
    const __m256i unread =
        _mm256_or_si256(not_above(load(races.read_, g), limit),
                        _mm256_cmpeq_epi32(load(races.readers_, g), _mm256_setzero_si256()));
    const __m256i fine = _mm256_and_si256(
        _mm256_or_si256(not_above(written, limit), _mm256_cmpeq_epi32(written, mine)), unread);
    if (_mm256_movemask_epi8(_mm256_or_si256(fine, _mm256_xor_si256(lanes, ones()))) != -1)
      return false;
    store(races.write_, g, mine, lanes);
    store(races.write_op_, g, _mm256_set1_epi32(static_cast<int>(request.op)), lanes);
    store(races.readers_, g, _mm256_setzero_si256(), lanes);
    return true;
  }

  /// Full warp, consecutive: granule i belongs to lane i >> log2(granules a lane).
  [[gnu::target("avx2")]] void contiguous() const {
    uint64_t first = request.addresses[0] >> races.shift_;
    uint32_t a_lane = request.bytes >> races.shift_, n = kMaxWarps * a_lane;
    __m256i limit = _mm256_set1_epi32(static_cast<int>(clocks.floor(warp) << 10 | 1023));
    int lane_shift = std::countr_zero(a_lane);
    for (uint32_t i = 0; i < n; i += 8) {
      __m256i index = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                       _mm256_set1_epi32(static_cast<int>(i)));
      __m256i mine =
          _mm256_add_epi32(_mm256_srli_epi32(index, lane_shift),
                           _mm256_set1_epi32(static_cast<int>(make_epoch(own_clock, warp, 0))));
      const bool done =
          !request.synchronizing && (request.write ? fast_write(first + i, mine, limit, ones())
                                                   : fast_read(first + i, mine, limit, ones()));
      for (uint32_t j = i; !done && j < i + 8; ++j)
        request.write ? write(first + j, j >> lane_shift) : read(first + j, j >> lane_shift);
    }
  }

  /// Lanes that read one address are one reader; which of them stand for others is in `many`.
  uint32_t distinct_readers(uint32_t& many) const {
    uint8_t first[64];
    uint64_t used = 0;
    uint32_t distinct = 0;
    const int shift = std::countr_zero(request.bytes);
    for (uint32_t m = request.mask; m != 0; m &= m - 1) {
      const uint32_t lane = static_cast<uint32_t>(std::countr_zero(m));
      const uint64_t slot = request.addresses[lane] >> shift & 63, bit = uint64_t{1} << slot;
      if ((used & bit) != 0 && request.addresses[first[slot]] == request.addresses[lane]) {
        many |= 1u << first[slot];
        continue;
      }
      distinct |= 1u << lane;
      if ((used & bit) == 0) first[slot] = static_cast<uint8_t>(lane);
      used |= bit;
    }
    return distinct;
  }

  /// Lanes first, first + step, … that touch consecutive granules, at most eight of them, all or
  /// none reading for others.
  struct Run {
    uint32_t step = 1, lanes = 0, mask = 0;
  };
  Run run_from(uint32_t first, uint32_t step, uint32_t open, uint32_t many) const {
    const uint32_t most = 8 / (request.bytes >> races.shift_);
    const bool for_others = (many >> first & 1) != 0;
    Run run{.step = step, .lanes = 1, .mask = 1u << first};
    for (uint32_t lane = first + step; lane < kMaxWarps && run.lanes < most; lane += step) {
      if ((open >> lane & 1) == 0 || ((many >> lane & 1) != 0) != for_others ||
          request.addresses[lane] != request.addresses[lane - step] + request.bytes)
        break;
      ++run.lanes;
      run.mask |= 1u << lane;
    }
    return run;
  }

  /// Fragments of matrices lie in rows that neighbouring lanes, or every fourth, read together:
  /// their granules are checked eight at a time. Returns the lanes that have to be looked at one
  /// by one; no two lanes of `lanes` may share a granule.
  [[gnu::target("avx2")]] uint32_t runs(uint32_t lanes, uint32_t many) {
    const uint32_t a_lane = request.bytes >> races.shift_;
    if (!std::has_single_bit(request.bytes) || a_lane == 0 || a_lane > 4) return lanes;
    const bool was_many = request.many_lanes;
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i limit = _mm256_set1_epi32(static_cast<int>(clocks.floor(warp) << 10 | 1023));
    const int lane_shift = std::countr_zero(a_lane);
    uint32_t left = 0;
    for (uint32_t open = lanes; open != 0;) {
      const uint32_t first = static_cast<uint32_t>(std::countr_zero(open));
      Run run = run_from(first, 1, open, many);
      if (run.lanes == 1) run = run_from(first, 4, open, many);
      open &= ~run.mask;
      const uint64_t begin = request.addresses[first] >> races.shift_;
      const uint32_t n = run.lanes * a_lane;
      if (begin + n > races.granules_ || (request.addresses[first] & (request.bytes - 1)) != 0) {
        left |= run.mask;
        continue;
      }
      request.many_lanes = was_many || (many >> first & 1) != 0;
      const __m256i count = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), index);
      const __m256i offset = _mm256_mullo_epi32(_mm256_srli_epi32(index, lane_shift),
                                                _mm256_set1_epi32(static_cast<int>(run.step)));
      const __m256i mine = _mm256_add_epi32(
          offset, _mm256_set1_epi32(static_cast<int>(make_epoch(own_clock, warp, first))));
      const bool done = request.write ? fast_write(begin, mine, limit, count)
                                      : fast_read(begin, mine, limit, count);
      if (!done) left |= run.mask;
    }
    request.many_lanes = was_many;
    return left;
  }

  [[gnu::target("avx2")]] void scattered() {
    const bool meet = check_same_instruction();
    uint32_t many = 0;
    const bool was_many = request.many_lanes;
    uint32_t lanes = request.write ? request.mask : distinct_readers(many);
    if (!meet && !request.synchronizing) lanes = runs(lanes, many);
    const __m256i limit = _mm256_set1_epi32(static_cast<int>(clocks.floor(warp) << 10 | 1023));
    for (uint32_t m = lanes; m != 0; m &= m - 1) {
      const uint32_t lane = static_cast<uint32_t>(std::countr_zero(m));
      request.many_lanes = was_many || (many >> lane & 1) != 0;
      const uint64_t begin = request.addresses[lane] >> races.shift_;
      const uint64_t end = (request.addresses[lane] + request.bytes - 1) >> races.shift_;
      if (end >= races.granules_) continue;  // out of bounds is another check's finding
      const int n = static_cast<int>(end - begin + 1);
      if (n <= 8 && !request.synchronizing) {
        const __m256i count =
            _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        const __m256i mine = _mm256_set1_epi32(static_cast<int>(make_epoch(own_clock, warp, lane)));
        if (request.write ? fast_write(begin, mine, limit, count)
                          : fast_read(begin, mine, limit, count))
          continue;
      }
      for (uint64_t g = begin; g <= end; ++g) request.write ? write(g, lane) : read(g, lane);
    }
  }
};

void SharedRaces::start_block(uint32_t shared_bytes) {
  released_.clear();
  if (shared_bytes <= bytes_) return;
  bytes_ = shared_bytes;
  granules_ = (size_t{bytes_} >> shift_) + 1;
  // Eight more than there are: vector loads may look past the end.
  for (auto* plane : {&write_, &read_, &write_op_, &read_op_, &readers_})
    plane->resize(granules_ + 8);
}

void SharedRaces::clear() {
  for (auto* plane : {&write_, &read_, &write_op_, &read_op_, &readers_})
    std::fill(plane->begin(), plane->end(), 0u);
  released_.clear();
}

void SharedRaces::split_to(uint32_t shift) {
  size_t factor = size_t{1} << (shift_ - shift);
  for (auto* plane : {&write_, &read_, &write_op_, &read_op_, &readers_}) {
    std::vector<uint32_t> finer(granules_ * factor + 8);
    for (size_t i = 0; i < granules_ * factor; ++i) finer[i] = (*plane)[i / factor];
    *plane = std::move(finer);
  }
  granules_ *= factor;
  shift_ = shift;
}

void SharedRaces::access(BlockClocks& clocks, uint32_t warp, const RaceRequest& request,
                         const RaceSink& sink) {
  if (clocks.overflowed()) return;
  uint32_t shift = std::min(2, std::countr_zero(request.bytes));
  if (shift < shift_) split_to(shift);
  if (request.synchronizing) {
    for (uint32_t m = request.mask; m != 0; m &= m - 1) {
      uint64_t at = request.addresses[std::countr_zero(m)];
      if (auto found = released_.find(at);
          found != released_.end() && (request.acquire || !request.write))
        clocks.join(warp, found->second);
    }
  }
  SharedAccess checker{*this, clocks, request, sink, warp, clocks.own(warp)};
  uint64_t last = (request.addresses[0] + uint64_t{kMaxWarps} * request.bytes) >> shift_;
  bool vector = request.contiguous && request.mask == ~0u && std::has_single_bit(request.bytes) &&
                request.bytes >> shift_ != 0 && last <= granules_;
  vector ? checker.contiguous() : checker.scattered();
  if (request.synchronizing && request.write) {
    const ClockRow& published = request.release ? clocks.row(warp) : clocks.fenced(warp, false);
    for (uint32_t m = request.mask; m != 0; m &= m - 1) {
      ClockRow& at = released_[request.addresses[std::countr_zero(m)]];
      for (uint32_t i = 0; i < kMaxWarps; ++i) at[i] = std::max(at[i], published[i]);
    }
    clocks.tick(warp);
  }
}

void SharedRaces::release(BlockClocks& clocks, uint32_t warp, uint64_t offset) {
  ClockRow& at = released_[offset];
  const ClockRow& row = clocks.row(warp);
  for (uint32_t i = 0; i < kMaxWarps; ++i) at[i] = std::max(at[i], row[i]);
  clocks.tick(warp);
}

void SharedRaces::acquire(BlockClocks& clocks, uint32_t warp, uint64_t offset) {
  if (auto found = released_.find(offset); found != released_.end())
    clocks.join(warp, found->second);
}

}  // namespace fiel::vgpu
