// What a conversation cost: tokens as the server counted them, money where prices were given.
//
//   CostMeter meter({.input = 3, .cached_input = 0.3, .output = 15});     // per million tokens
//   meter.add(reply.usage);  meter.total().tokens();  meter.money();
//
// Prices are the caller's: a table of vendors' prices in here would be wrong by next month.
#pragma once

#include <optional>

#include "agent/model/message.h"

namespace fiel::agent {

/// In the user's currency, per million tokens.
struct Prices {
  double input = 0, cached_input = 0, cache_write = 0, output = 0;
};

class CostMeter {
 public:
  explicit CostMeter(std::optional<Prices> prices = {}) : prices_(prices) {}
  void add(const Usage& usage);
  int64_t input_tokens() const { return total_.input_tokens; }
  int64_t output_tokens() const { return total_.output_tokens; }
  int64_t tokens() const { return total_.input_tokens + total_.output_tokens; }
  uint32_t replies() const { return replies_; }
  /// Replies whose server did not say: the sum is too small by these.
  uint32_t uncounted() const { return uncounted_; }
  std::optional<double> money() const;
  Json to_json() const;
  /// For a resumed run.
  void restore(const Json& json);

 private:
  std::optional<Prices> prices_;
  Usage total_;
  uint32_t replies_ = 0, uncounted_ = 0;
};

/// "3,0.3,15" or "3,15": input, cached input, output; cached input defaults to input.
Result<Prices> parse_prices(std::string_view text);

}  // namespace fiel::agent
