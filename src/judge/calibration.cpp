#include "judge/calibration.h"

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/hash.h"

namespace fiel::judge {
namespace {

double figure(const Json& j) {
  const double v = j.as_double();
  return std::isfinite(v) && v > 0 ? v : 0;
}

}  // namespace

Calibration parse_calibration(const Json& j) {
  const Json& flops = j["flops"];
  Calibration c;
  c.copy_bytes_per_s = figure(j["copy_bytes_per_s"]);
  c.fp32_flops = figure(flops["fp32"]);
  c.tf32_flops = figure(flops["tf32"]);
  c.fp16_flops = figure(flops["fp16"]);
  c.bf16_flops = figure(flops["bf16"]);
  // Events around nothing have a length too; what is left is the kernel's.
  c.launch_ns = std::max(figure(j["kernel_ns"]) - figure(j["event_ns"]), 0.0);
  c.gap_ns = figure(j["gap_ns"]);
  c.gap_low_ns = figure(j["gap_low_ns"]);
  c.gap_high_ns = figure(j["gap_high_ns"]);
  return c;
}

Json to_json(const Calibration& c) {
  Json flops = Json::object({{"fp32", c.fp32_flops},
                             {"tf32", c.tf32_flops},
                             {"fp16", c.fp16_flops},
                             {"bf16", c.bf16_flops}});
  return Json::object({{"copy_bytes_per_s", c.copy_bytes_per_s},
                       {"flops", flops},
                       {"kernel_ns", c.launch_ns},
                       {"event_ns", 0},
                       {"gap_ns", c.gap_ns},
                       {"gap_low_ns", c.gap_low_ns},
                       {"gap_high_ns", c.gap_high_ns}});
}

std::filesystem::path calibration_file(const std::filesystem::path& folder, const std::string& uuid,
                                       const std::string& driver) {
  Digest digest;
  digest.add("calibration 1").add(uuid).add(driver);
  return folder / "calibration" / (digest.hex().substr(0, 24) + ".json");
}

std::optional<Calibration> load_calibration(const std::filesystem::path& folder,
                                            const std::string& uuid, const std::string& driver) {
  const auto text = read_file(calibration_file(folder, uuid, driver), 1u << 20);
  if (!text) return std::nullopt;
  const auto json = Json::parse(*text);
  if (!json) return std::nullopt;
  const Calibration c = parse_calibration(*json);
  return c.copy_bytes_per_s > 0 ? std::optional(c) : std::nullopt;
}

Status save_calibration(const std::filesystem::path& folder, const std::string& uuid,
                        const std::string& driver, const Calibration& calibration) {
  const auto path = calibration_file(folder, uuid, driver);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  return write_file_atomic(path, to_json(calibration).dump(2));
}

}  // namespace fiel::judge
