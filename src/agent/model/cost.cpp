#include "agent/model/cost.h"

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace fiel::agent {

void CostMeter::add(const Usage& usage) {
  ++replies_;
  if (!usage.known) ++uncounted_;
  total_.input_tokens += usage.input_tokens;
  total_.cached_tokens += usage.cached_tokens;
  total_.cache_write_tokens += usage.cache_write_tokens;
  total_.output_tokens += usage.output_tokens;
}

std::optional<double> CostMeter::money() const {
  if (!prices_) return {};
  const auto plain =
      static_cast<double>(total_.input_tokens - total_.cached_tokens - total_.cache_write_tokens);
  return (plain * prices_->input +
          static_cast<double>(total_.cached_tokens) * prices_->cached_input +
          static_cast<double>(total_.cache_write_tokens) * prices_->cache_write +
          static_cast<double>(total_.output_tokens) * prices_->output) /
         1e6;
}

Json CostMeter::to_json() const {
  Json j = Json::object({{"replies", replies_},
                         {"input_tokens", total_.input_tokens},
                         {"cached_tokens", total_.cached_tokens},
                         {"cache_write_tokens", total_.cache_write_tokens},
                         {"output_tokens", total_.output_tokens},
                         {"replies_not_counted", uncounted_}});
  j["cost"] = money() ? Json(*money()) : Json();
  return j;
}

void CostMeter::restore(const Json& json) {
  replies_ = static_cast<uint32_t>(json["replies"].as_int());
  uncounted_ = static_cast<uint32_t>(json["replies_not_counted"].as_int());
  total_.input_tokens = json["input_tokens"].as_int();
  total_.cached_tokens = json["cached_tokens"].as_int();
  total_.cache_write_tokens = json["cache_write_tokens"].as_int();
  total_.output_tokens = json["output_tokens"].as_int();
}

Result<Prices> parse_prices(std::string_view text) {
  std::vector<double> numbers;
  for (std::string_view word : split(text, ',')) {
    word = trim(word);
    double v = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(v) || v < 0)
      return fail(ErrorCode::usage, "'" + printable(text, 60) + "' are no prices",
                  "input,output or input,cached,output per million tokens: 3,0.3,15");
    numbers.push_back(v);
  }
  if (numbers.size() == 2) numbers.insert(numbers.begin() + 1, numbers[0]);
  if (numbers.size() != 3)
    return fail(ErrorCode::usage, "'" + printable(text, 60) + "' are no prices",
                "input,output or input,cached,output per million tokens: 3,0.3,15");
  // The usual surcharge for writing into a cache: a quarter of the input's price.
  return Prices{numbers[0], numbers[1], numbers[0] * 1.25, numbers[2]};
}

}  // namespace fiel::agent
