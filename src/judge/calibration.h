// What a device can do at most: measured once a GPU and driver, kept in the cache.
//
//   Calibration c = parse_calibration(reply);            // of the oracle's `measure`
//   save_calibration(folder, uuid, driver, c);
//   std::optional<Calibration> known = load_calibration(folder, uuid, driver);
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace fiel::judge {

struct Calibration {
  double copy_bytes_per_s = 0;  ///< read and written, of a large copy
  double fp32_flops = 0, tf32_flops = 0, fp16_flops = 0, bf16_flops = 0;  ///< of products, a second
  double launch_ns = 0;                                ///< the smallest kernel, by events
  double gap_ns = 0, gap_low_ns = 0, gap_high_ns = 0;  ///< wall beside device of an empty call
};

/// Unknown and impossible figures are 0.
Calibration parse_calibration(const Json& figures);
Json to_json(const Calibration& calibration);

/// A file of its own a device and driver; names hold no path.
std::filesystem::path calibration_file(const std::filesystem::path& folder, const std::string& uuid,
                                       const std::string& driver);
std::optional<Calibration> load_calibration(const std::filesystem::path& folder,
                                            const std::string& uuid, const std::string& driver);
Status save_calibration(const std::filesystem::path& folder, const std::string& uuid,
                        const std::string& driver, const Calibration& calibration);

}  // namespace fiel::judge
