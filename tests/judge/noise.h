// Timing noise of the kinds that GPUs show, from a counter-based generator: the same every run.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "judge/measurement.h"
#include "tensor/random.h"

namespace fiel::judge {

class Dice {
 public:
  explicit Dice(uint64_t seed) : stream_{seed, 0} {}
  double uniform() {
    const auto words = draw(stream_, next_++);
    return uniform01(words[0], words[1]);
  }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
  }
  bool coin(double p) { return uniform() < p; }

 private:
  Stream stream_;
  uint64_t next_ = 0;
};

enum class Noise { quiet, skewed, drifting, bimodal, switching, spiky };
inline constexpr Noise kNoises[] = {Noise::quiet,   Noise::skewed,    Noise::drifting,
                                    Noise::bimodal, Noise::switching, Noise::spiky};

/// Factors on the times of one side; `common` is the machine's state that both sides share.
class NoiseSource {
 public:
  NoiseSource(Noise kind, uint64_t seed) : kind_(kind), dice_(seed) {}
  double factor(double common) {
    switch (kind_) {
      case Noise::quiet:
        return 1 + 0.002 * dice_.normal();
      case Noise::skewed:
        return 1 - 0.03 * std::log(1 - dice_.uniform());
      case Noise::drifting:
        return common * (1 + 0.004 * dice_.normal());
      case Noise::bimodal:
        return (dice_.coin(0.35) ? 1.12 : 1.0) * (1 + 0.003 * dice_.normal());
      case Noise::switching:  // a mode of its own that lasts some calls
        if (dice_.coin(0.2)) slow_ = !slow_;
        return (slow_ ? 1.05 : 1.0) * (1 + 0.003 * dice_.normal());
      case Noise::spiky:
        return dice_.coin(0.06) ? 1 + 20 * dice_.uniform() : 1 + 0.004 * dice_.normal();
    }
    return 1;
  }

 private:
  Noise kind_;
  Dice dice_;
  bool slow_ = false;
};

/// The machine warms up by a tenth and wavers.
inline double machine_at(uint32_t round) {
  return 1 + 0.1 * (1 - std::exp(-0.02 * round)) + 0.01 * std::sin(0.3 * round);
}

/// One side's next rounds, two samples each, as A B B A gives.
inline void add_rounds(TimedSide& side, NoiseSource& noise, double true_ns, uint32_t from,
                       uint32_t to, double gap_ns = 0) {
  for (uint32_t round = from; round < to; ++round)
    for (int half = 0; half < 2; ++half) {
      TimeSample s;
      s.round = round;
      s.device_ns = true_ns * noise.factor(machine_at(round));
      s.wall_ns = s.device_ns * side.calls_a_sample + gap_ns;
      side.samples.push_back(s);
    }
}

}  // namespace fiel::judge
