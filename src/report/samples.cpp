#include "report/samples.h"

namespace fiel::report {
namespace {

template <typename Read>
Json column(const std::vector<judge::TimeSample>& samples, const Read& read) {
  Json::Array values;
  values.reserve(samples.size());
  for (const judge::TimeSample& s : samples) values.emplace_back(read(s));
  return Json(std::move(values));
}

Json side_json(const judge::TimedSide& side) {
  Json j = Json::object();
  j["name"] = side.name;
  j["policy"] = side.policy;
  j["calls"] = side.calls_a_sample;
  j["cold"] = side.cold;
  const auto& all = side.samples;
  j["round"] = column(all, [](const auto& s) { return s.round; });
  j["wall_ns"] = column(all, [](const auto& s) { return s.wall_ns; });
  j["device_ns"] = column(all, [](const auto& s) { return s.device_ns; });
  j["host_ns"] = column(all, [](const auto& s) { return s.host_ns; });
  j["lead_ns"] = column(all, [](const auto& s) { return s.lead_ns; });
  j["credited_ns"] = column(all, [](const auto& s) { return s.credited_ns; });
  j["sm_clock_mhz"] = column(all, [](const auto& s) { return s.sm_clock_mhz; });
  j["power_mw"] = column(all, [](const auto& s) { return s.power_mw; });
  j["throttle"] = column(all, [](const auto& s) { return s.throttle; });
  j["verified"] = column(all, [](const auto& s) { return s.verified; });
  j["set_aside"] = column(all, [](const auto& s) { return s.set_aside; });
  return j;
}

}  // namespace

Json samples_json(const judge::Measurement& measurement) {
  Json j = Json::object();
  j["sides"] = Json::array();
  for (const judge::TimedSide& side : measurement.sides) j["sides"].push_back(side_json(side));
  return j;
}

}  // namespace fiel::report
