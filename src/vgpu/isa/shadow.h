// The two-bit states of memory bytes (arena.h says what they mean). Included by isa/*.cpp only.
#pragma once

#include <cstdint>
#include <cstring>

#include "vgpu/isa/lane_patterns.h"

namespace fiel::vgpu::FIEL_ISA {

/// The bits of one shadow byte that belong to bytes [first, first + n) of its word.
FIEL_INLINE uint8_t state_bits(uint64_t first, uint64_t n) {
  return static_cast<uint8_t>(((1u << (2 * n)) - 1u) << (2 * first));
}

/// Calls body(shadow byte, its bits) for every word that [offset, offset + bytes) touches.
template <typename F>
FIEL_INLINE void for_words(uint8_t* plane, uint64_t offset, uint64_t bytes, F&& body) {
  uint8_t* at = plane + (offset >> 2);
  uint64_t first = offset & 3;
  while (bytes > 0) {
    const uint64_t n = 4 - first < bytes ? 4 - first : bytes;
    body(*at++, state_bits(first, n));
    bytes -= n;
    first = 0;
  }
}

FIEL_INLINE bool whole_words(uint64_t offset, uint64_t bytes) {
  return ((offset | bytes) & 3) == 0;
}

/// Every byte has a state other than 0.
FIEL_INLINE bool initialized(const uint8_t* plane, uint64_t offset, uint64_t bytes) {
  if (whole_words(offset, bytes)) {
    const uint8_t* at = plane + (offset >> 2);
    const uint64_t n = bytes >> 2;
    uint8_t all = 0x55;
    for (uint64_t i = 0; i < n; ++i) all &= static_cast<uint8_t>(at[i] | (at[i] >> 1));
    return (all & 0x55) == 0x55;
  }
  bool good = true;
  for_words(const_cast<uint8_t*>(plane), offset, bytes, [&](uint8_t& state, uint8_t bits) {
    const auto low = static_cast<uint8_t>(bits & 0x55);
    good &= ((state | (state >> 1)) & low) == low;
  });
  return good;
}

/// Shared memory: every byte is initialised and none is in flight.
FIEL_INLINE bool settled(const uint8_t* plane, uint64_t offset, uint64_t bytes) {
  if (bytes == 4 && (offset & 3) == 0) return plane[offset >> 2] == 0x55;
  if (bytes == 16 && (offset & 3) == 0) {
    uint32_t word = 0;
    memcpy(&word, plane + (offset >> 2), 4);
    return word == 0x55555555u;
  }
  if (whole_words(offset, bytes)) {
    const uint8_t* at = plane + (offset >> 2);
    const uint64_t n = bytes >> 2;
    uint8_t differs = 0;
    for (uint64_t i = 0; i < n; ++i) differs |= static_cast<uint8_t>(at[i] ^ 0x55);
    return differs == 0;
  }
  bool good = true;
  for_words(const_cast<uint8_t*>(plane), offset, bytes,
            [&](uint8_t& state, uint8_t bits) { good &= (state & bits) == (0x55 & bits); });
  return good;
}

/// Shared memory: some byte is in flight.
FIEL_INLINE bool in_flight(const uint8_t* plane, uint64_t offset, uint64_t bytes) {
  uint8_t any = 0;
  for_words(const_cast<uint8_t*>(plane), offset, bytes, [&](uint8_t& state, uint8_t bits) {
    any |= static_cast<uint8_t>(state & bits & 0xAA);
  });
  return any != 0;
}

/// A plain store: what was never written becomes initialised; counts stay.
FIEL_INLINE void mark_initialized(uint8_t* plane, uint64_t offset, uint64_t bytes) {
  if (whole_words(offset, bytes)) {
    uint8_t* at = plane + (offset >> 2);
    const uint64_t n = bytes >> 2;
    for (uint64_t i = 0; i < n; ++i) at[i] |= static_cast<uint8_t>(0x55 & ~(at[i] >> 1));
    return;
  }
  // Two workers may share this word (neighbouring 16-bit elements): only this form needs a lock.
  for_words(plane, offset, bytes, [&](uint8_t& state, uint8_t bits) {
    const uint8_t old = __atomic_load_n(&state, __ATOMIC_RELAXED);
    const auto add = static_cast<uint8_t>(bits & 0x55 & ~(old >> 1) & ~old);
    if (add != 0) __atomic_fetch_or(&state, add, __ATOMIC_RELAXED);
  });
}

/// The next states of the bytes of a word. never or initialised -> written once; once -> more
/// often.
FIEL_INLINE uint8_t stored(uint8_t states) {
  return static_cast<uint8_t>(0xAA | ((states & 0xAA) >> 1));
}
/// never or initialised -> written once; what was written stays what it was.
FIEL_INLINE uint8_t added_to(uint8_t states) {
  return static_cast<uint8_t>(0xAA | (states & 0x55 & (states >> 1)));
}

template <uint8_t (*next_of)(uint8_t)>
FIEL_INLINE void mark_output(uint8_t* plane, uint64_t offset, uint64_t bytes) {
  if (whole_words(offset, bytes)) {
    uint8_t* at = plane + (offset >> 2);
    const uint64_t n = bytes >> 2;
    for (uint64_t i = 0; i < n; ++i) at[i] = next_of(at[i]);
    return;
  }
  for_words(plane, offset, bytes, [&](uint8_t& state, uint8_t bits) {
    uint8_t old = __atomic_load_n(&state, __ATOMIC_RELAXED);
    uint8_t next = 0;
    do {
      next = static_cast<uint8_t>((old & ~bits) | (next_of(old) & bits));
    } while (
        !__atomic_compare_exchange_n(&state, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  });
}

/// A store to an output.
FIEL_INLINE void mark_written(uint8_t* plane, uint64_t offset, uint64_t bytes) {
  mark_output<stored>(plane, offset, bytes);
}

/// An atomic on an output adds to what is there: it writes it, but never again.
FIEL_INLINE void mark_added(uint8_t* plane, uint64_t offset, uint64_t bytes) {
  mark_output<added_to>(plane, offset, bytes);
}

/// Shared and local memory belong to one worker: no lock, no counts.
FIEL_INLINE void set_settled(uint8_t* plane, uint64_t offset, uint64_t bytes) {
  if (whole_words(offset, bytes)) {
    memset(plane + (offset >> 2), 0x55, bytes >> 2);
    return;
  }
  for_words(plane, offset, bytes, [&](uint8_t& state, uint8_t bits) {
    state = static_cast<uint8_t>((state & ~bits) | (0x55 & bits));
  });
}

}  // namespace fiel::vgpu::FIEL_ISA
