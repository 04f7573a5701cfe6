#include "tensor/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "tensor/compare_block.h"
#include "tensor/convert.h"
#include "tensor/small_float.h"

namespace fiel {

namespace {

constexpr int64_t kPiece = 1 << 16;   ///< elements compared at once: 4 MiB of doubles on all stacks
constexpr int64_t kShortestRow = 16;  ///< shorter rows say too little: the whole output's rms
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The constants of the model; docs/numerics.md derives and measures them.
constexpr double kElement = 8, kFloor = 4, kStorage = 4;
constexpr double kRms = 2, kRmsStorage = 1.5;
constexpr double kIllConditioned = 0.05;

/// Kernels built with -ftz=true flush at 2^-126, __fdividef answers 0 for divisors beyond 2^126,
/// and a factor that was lost so may be multiplied afterwards.
constexpr double kFlushed = 0x1p-104;

/// What rounding to the output type may cost one element: one step for the narrow types (double
/// rounding and truncating stores are honest), half a step for the wide ones.
struct OutputRounding {
  double relative, absolute, rms, max_finite;
  bool saturates;
};

OutputRounding rounding_of(DType t) {
  const double u = unit_roundoff(t);
  switch (t) {
    case DType::f64:
      return {u, 0x1p-1074, 0.6 * u, std::numeric_limits<double>::max(), false};
    case DType::f32:
      return {u, kFlushed, 0.6 * u, std::numeric_limits<float>::max(), false};
    case DType::tf32:
      return {2 * u, kFlushed, u, 0x1.ffcp127, false};
    case DType::f16:
      return {2 * u, 0x1p-24, u, 65504, false};
    case DType::bf16:
      return {2 * u, kFlushed, u, 0x1.fep127, false};
    case DType::e4m3:
      return {2 * u, 0x1p-9, u, 448, true};
    case DType::e5m2:
      return {2 * u, 0x1p-16, u, 57344, true};
    default:
      return {0, 0, 0, kInfinity, false};
  }
}

/// Pieces never straddle a long row, and hold whole short ones.
struct Pieces {
  int64_t n = 0, row = 0;  ///< row == 0: no rows, the global rms serves all
  int64_t per_row = 0;     ///< pieces in one long row; 0 where rows are short
  int64_t length = kPiece, count = 0;

  explicit Pieces(const Shape& shape) : n(numel(shape)) {
    row = shape.empty() || shape.back() < kShortestRow ? 0 : shape.back();
    if (row > kPiece) {
      per_row = (row + kPiece - 1) / kPiece;
      count = n / row * per_row;
    } else {
      if (row) length = kPiece / row * row;
      count = (n + length - 1) / length;
    }
  }
  int64_t begin(int64_t p) const {
    return per_row ? p / per_row * row + p % per_row * kPiece : p * length;
  }
  int64_t size(int64_t p) const {
    return per_row ? std::min(kPiece, row - p % per_row * kPiece)
                   : std::min(length, n - p * length);
  }
};

/// i64 beyond 2^53 may differ and still widen to one double: pull such pairs apart.
void separate_long_integers(const Tensor& y, const Tensor& a, int64_t begin, int64_t n,
                            double* read_a) {
  for (int64_t i = 0; i < n; ++i) {
    int64_t p, q;
    std::memcpy(&p, y.data() + (begin + i) * 8, 8);
    std::memcpy(&q, a.data() + (begin + i) * 8, 8);
    if (p != q && static_cast<double>(p) == static_cast<double>(q))
      read_a[i] = std::nextafter(read_a[i], q > p ? kInfinity : -kInfinity);
  }
}

/// Elements [begin, begin + n) in row-major order, whatever the strides: row by row, so that an
/// expanded or sliced tensor of any size is read without a copy of it.
void read(const Tensor& t, int64_t begin, int64_t n, double* out) {
  const int64_t step = size_of(t.dtype());
  if (t.is_contiguous()) return to_f64(t.dtype(), t.data() + begin * step, n, out);
  const int64_t row = t.shape().back(), stride = t.strides().back();
  while (n > 0) {
    const int64_t column = begin % row, count = std::min(n, row - column);
    const Shape index = unravel(begin, t.shape());
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * t.strides()[d];
    const std::byte* from = t.data() + offset * step;
    if (stride == 1) {
      to_f64(t.dtype(), from, count, out);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = load_as_f64(t.dtype(), from + i * stride * step);
    }
    begin += count;
    out += count;
    n -= count;
  }
}

struct FirstPass {
  std::vector<double> squares;  ///< per piece
  std::vector<double> row_rms;  ///< per row, long rows only
  double rms = 0, low = kInfinity, high = -kInfinity;
};

FirstPass scan_reference(const Tensor& reference, const Pieces& pieces, uint32_t threads) {
  FirstPass first;
  const auto count = static_cast<size_t>(pieces.count);
  first.squares.assign(count, 0);
  std::vector<double> low(count, kInfinity), high(count, -kInfinity);
  std::vector<int64_t> finite(count, 0);
  parallel_for(pieces.count, 1, threads, [&](int64_t p, int64_t) {
    std::vector<double> y(static_cast<size_t>(pieces.size(p)));
    read(reference, pieces.begin(p), pieces.size(p), y.data());
    const auto at = static_cast<size_t>(p);
    for (double v : y) {
      if (!std::isfinite(v)) continue;
      first.squares[at] += v * v;
      low[at] = std::min(low[at], v);
      high[at] = std::max(high[at], v);
      ++finite[at];
    }
  });
  double sum = 0;
  int64_t all = 0;
  for (size_t p = 0; p < count; ++p) {
    sum += first.squares[p];
    all += finite[p];
    first.low = std::min(first.low, low[p]);
    first.high = std::max(first.high, high[p]);
  }
  first.rms = all ? std::sqrt(sum / static_cast<double>(all)) : 0;
  for (size_t p = 0; pieces.per_row && p < count; p += static_cast<size_t>(pieces.per_row)) {
    double squares = 0;
    for (size_t k = 0; k < static_cast<size_t>(pieces.per_row); ++k)
      squares += first.squares[p + k];
    first.row_rms.push_back(std::sqrt(squares / static_cast<double>(pieces.row)));
  }
  return first;
}

/// What one piece contributes; merged in order, so that threads do not change the sums.
struct Partial {
  int64_t compared = 0, exact = 0, failing = 0, nan = 0, infinity = 0, unstable = 0;
  int64_t counted = 0;  ///< elements in the rms figures
  int64_t strict_failing = 0;
  int64_t worst_index = -1, first_failing = -1;
  double max_abs = 0, worst_ratio = 0, max_ulp = 0;
  double error2 = 0, output2 = 0, sensitivity2 = 0, storage2 = 0;
  double expected_first = 0, actual_first = 0, bound_first = 0;
};

/// 2^-24 for f32 … : the exponents of steps, for max_ulp.
double step_at(DType t, double v) {
  const double u = unit_roundoff(t);
  if (u == 0) return 1;
  const OutputRounding r = rounding_of(t);
  int e = v == 0 ? -1100 : std::ilogb(v);
  double smallest = t == DType::f32 ? 0x1p-149 : t == DType::bf16 ? 0x1p-133 : r.absolute;
  return std::max(std::ldexp(2 * u, e), smallest);
}

class Comparer {
 public:
  Comparer(const Tensor& reference, const Tensor& actual, const ErrorModel& model,
           const Pieces& pieces, const FirstPass& first)
      : reference_(reference),
        actual_(actual),
        model_(model),
        pieces_(pieces),
        first_(first),
        rounding_(rounding_of(model.output)),
        integer_(!is_floating(model.output)) {
    strict_unit_ = model.factor * model.unit * model.growth();
    unit_ = strict_unit_;
    if (model.lowest == NumericsClass::tf32)
      unit_ = std::max(unit_, model.factor * model.tf32_unit);
  }

  double unit() const { return unit_; }
  double strict_unit() const { return strict_unit_; }

  Partial run(int64_t p) const {
    const int64_t begin = pieces_.begin(p), n = pieces_.size(p);
    const auto count = static_cast<size_t>(n);
    std::vector<double> y(count), a(count), rounded(count);
    read(reference_, begin, n, y.data());
    read(actual_, begin, n, a.data());
    if (reference_.dtype() == DType::i64 && actual_.dtype() == DType::i64 &&
        reference_.is_contiguous() && actual_.is_contiguous())
      separate_long_integers(reference_, actual_, begin, n, a.data());
    std::vector<std::byte> narrow(count * static_cast<size_t>(size_of(model_.output)));
    from_f64(y.data(), n, model_.output, narrow.data());
    to_f64(model_.output, narrow.data(), n, rounded.data());
    Partial part;
    const int64_t row = pieces_.row && !pieces_.per_row ? pieces_.row : n;
    for (int64_t r = 0; r < n; r += row) {
      double scale = row_scale(p, y.data() + r, std::min(row, n - r));
      const int64_t end = std::min(n, r + row);
      for (int64_t i = r; i < end; i += kBlock)
        block(begin, i, std::min(kBlock, end - i), y.data(), a.data(), rounded.data(), scale, part);
    }
    return part;
  }

 private:
  static constexpr int64_t kBlock = 512;

  /// Elements [at, at + n) of the piece that begins at `begin`.
  void block(int64_t begin, int64_t at, int64_t n, const double* y, const double* a,
             const double* rounded, double scale, Partial& part) const {
    if (!integer_) {
      const detail::BlockTerms t = terms(scale);
      const double* s = model_.sensitivity.data_as<double>();
      const double* storage = model_.storage.data_as<double>();
      const double worst = std::min(part.worst_ratio, 1.0);
      const detail::BlockSums sums =
          s ? detail::ordinary_block<true>(y + at, a + at, rounded + at, s + begin + at,
                                           storage ? storage + begin + at : nullptr, n, t, worst,
                                           part.max_ulp)
            : detail::ordinary_block<false>(y + at, a + at, rounded + at, nullptr, nullptr, n, t,
                                            worst, part.max_ulp);
      if (sums.ordinary && (s || !storage)) {
        part.compared += n;
        part.exact += sums.exact;
        part.unstable += sums.unstable;
        part.counted += n - sums.unstable;
        part.max_abs = std::max(part.max_abs, sums.max_abs);
        part.error2 += sums.error2;
        part.output2 += sums.output2;
        part.sensitivity2 += sums.sensitivity2;
        part.storage2 += sums.storage2;
        return;
      }
    }
    for (int64_t i = at; i < at + n; ++i) one(begin + i, y[i], a[i], rounded[i], scale, part);
  }

  detail::BlockTerms terms(double scale) const {
    detail::BlockTerms t;
    t.unit = unit_;
    t.strict_unit = strict_unit_;
    t.element = kElement;
    t.storage = kStorage;
    t.floor = kFloor * scale;
    t.relative = rounding_.relative;
    t.absolute = rounding_.absolute;
    t.own_limit = model_.relative_rms ? 10 * *model_.relative_rms * scale : 0;
    t.scale = scale;
    t.max_finite = rounding_.max_finite;
    t.ill_conditioned = kIllConditioned;
    t.step = 2 * unit_roundoff(model_.output);
    t.smallest_step = step_at(model_.output, 0);
    return t;
  }

  double row_scale(int64_t p, const double* y, int64_t n) const {
    double own = first_.rms;
    if (pieces_.per_row) {
      own = first_.row_rms[static_cast<size_t>(p / pieces_.per_row)];
    } else if (pieces_.row) {
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) squares += std::isfinite(y[i]) ? y[i] * y[i] : 0;
      own = std::sqrt(squares / static_cast<double>(n));
    }
    // A row that a ReLU clips whole has no scale of its own, but its operands' rounding remains.
    return std::max(own, first_.rms / 64);
  }

  double extra(const Tensor& t, int64_t i) const { return t.data_as<double>()[i]; }

  void fail(int64_t i, double expected, double actual, double bound, Partial& part) const {
    ++part.failing;
    if (part.first_failing >= 0) return;
    part.first_failing = i;
    part.expected_first = expected;
    part.actual_first = actual;
    part.bound_first = bound;
  }

  /// NaN and infinities, in the reference or beyond the output type's range. False: an ordinary
  /// pair of finite numbers.
  bool special(int64_t i, double y, double a, double bound, Partial& part) const {
    if (!std::isfinite(y)) {
      if (model_.special == SpecialRule::ignore) return true;
      ++part.compared;
      bool nan_expected = std::isnan(y) || (std::isinf(y) && model_.output == DType::e4m3);
      if (nan_expected ? std::isnan(a) : a == y) return true;
      const bool infinite =
          std::isinf(a) || (rounding_.saturates && std::fabs(a) == rounding_.max_finite);
      if (std::isnan(y) && model_.special == SpecialRule::indeterminate && infinite) return true;
      if (rounding_.saturates && std::isinf(y) && a == std::copysign(rounding_.max_finite, y))
        return true;
      ++(nan_expected ? part.nan : part.infinity);
      fail(i, y, a, 0, part);
      return true;
    }
    ++part.compared;
    // Near the top of the type's range either answer is right: overflow, or the largest value.
    if (std::fabs(y) + bound >= rounding_.max_finite) {
      if (a == std::copysign(kInfinity, y)) return true;
      if (rounding_.saturates && (std::isnan(a) || a == std::copysign(rounding_.max_finite, y)))
        return true;
    }
    if (std::isfinite(a)) return false;
    ++(std::isnan(a) ? part.nan : part.infinity);
    fail(i, y, a, bound, part);
    return true;
  }

  void one(int64_t i, double y, double a, double rounded, double scale, Partial& part) const {
    if (a == rounded) ++part.exact;
    const double size = std::isfinite(y) ? std::fabs(y) + scale : scale;
    double s = model_.sensitivity.data() ? extra(model_.sensitivity, i) : integer_ ? 0 : size;
    double storage = model_.storage.data() ? extra(model_.storage, i) : 0;
    if (std::isfinite(y) && !(std::isfinite(s) && std::isfinite(storage))) {
      ++part.unstable;
      return;
    }
    const double floor = integer_ ? 0 : kFloor * scale;
    const double rest = kStorage * storage + rounding_.relative * std::fabs(y) + rounding_.absolute;
    const double bound = unit_ * (kElement * s + floor) + rest;
    if (special(i, y, a, bound, part)) return;
    const double error = std::fabs(a - y);
    part.max_abs = std::max(part.max_abs, error);
    if (a != rounded)
      part.max_ulp =
          std::max(part.max_ulp, std::fabs(a - rounded) / step_at(model_.output, rounded));
    const double own_limit = model_.relative_rms ? 10 * *model_.relative_rms * scale : 0;
    const double allowed = std::max(bound, own_limit);
    const double ratio = error == 0 ? 0 : allowed > 0 ? error / allowed : kInfinity;
    if (ratio > part.worst_ratio) {
      part.worst_ratio = ratio;
      part.worst_index = i;
    }
    if (ratio > 1) fail(i, y, a, allowed, part);
    if (error > strict_unit_ * (kElement * s + floor) + rest) ++part.strict_failing;
    // An element whose perturbation reaches the size of the output (a comparison that may go
    // either way) would hide all others in a mean; its own bound judges it.
    if (unit_ * s > kIllConditioned * size + rest) {
      ++part.unstable;
      return;
    }
    ++part.counted;
    part.error2 += error * error;
    part.output2 += y * y;
    part.sensitivity2 += s * s;
    part.storage2 += storage * storage;
  }

  const Tensor &reference_, &actual_;
  const ErrorModel& model_;
  const Pieces& pieces_;
  const FirstPass& first_;
  OutputRounding rounding_;
  bool integer_;
  double unit_ = 0, strict_unit_ = 0;
};

void merge(const Partial& p, Partial& sum) {
  sum.compared += p.compared;
  sum.exact += p.exact;
  sum.failing += p.failing;
  sum.nan += p.nan;
  sum.infinity += p.infinity;
  sum.unstable += p.unstable;
  sum.counted += p.counted;
  sum.strict_failing += p.strict_failing;
  sum.max_abs = std::max(sum.max_abs, p.max_abs);
  sum.max_ulp = std::max(sum.max_ulp, p.max_ulp);
  if (p.worst_ratio > sum.worst_ratio) {
    sum.worst_ratio = p.worst_ratio;
    sum.worst_index = p.worst_index;
  }
  if (sum.first_failing < 0 && p.first_failing >= 0) {
    sum.first_failing = p.first_failing;
    sum.expected_first = p.expected_first;
    sum.actual_first = p.actual_first;
    sum.bound_first = p.bound_first;
  }
  sum.error2 += p.error2;
  sum.output2 += p.output2;
  sum.sensitivity2 += p.sensitivity2;
  sum.storage2 += p.storage2;
}

/// The root mean squares that limits and classes are made of. `few`: a mean over few elements may
/// be all worst cases of rounding, twice what it is over many.
struct Rms {
  double error, output, sensitivity, storage;
  double few = 1;
};

double limit_at(double unit, const Rms& rms, const OutputRounding& rounding) {
  return kRms * unit * rms.sensitivity +
         rms.few * (kRmsStorage * rms.storage + rounding.rms * rms.output) + rounding.absolute;
}

NumericsClass class_of_output(DType t) {
  switch (t) {
    case DType::f64:
      return NumericsClass::fp64;
    case DType::f32:
      return NumericsClass::fp32;
    case DType::tf32:
      return NumericsClass::tf32;
    case DType::f16:
      return NumericsClass::fp16;
    case DType::bf16:
      return NumericsClass::bf16;
    case DType::e4m3:
    case DType::e5m2:
      return NumericsClass::fp8;
    default:
      return NumericsClass::integer;
  }
}

NumericsClass measure_class(const ErrorModel& model, const Partial& sum, const Rms& rms,
                            double strict_unit) {
  const NumericsClass own = class_of_output(model.output);
  if (own == NumericsClass::integer)
    return sum.failing ? NumericsClass::below : NumericsClass::integer;
  if (sum.nan || sum.infinity) return NumericsClass::below;
  const OutputRounding rounding = rounding_of(model.output);
  if (rms.error <= limit_at(strict_unit, rms, rounding) && sum.strict_failing == 0) return own;
  const struct {
    NumericsClass c;
    double unit;
  } levels[] = {{NumericsClass::fp32, 0x1p-24 * model.growth()},
                {NumericsClass::tf32, model.tf32_unit},
                {NumericsClass::bf16, 0x1p-8}};
  for (const auto& level : levels) {
    // A wide type is never better than it is, and f32 has been tried above.
    if (level.c <= own || level.unit <= strict_unit / model.factor) continue;
    if (rms.error <= limit_at(level.unit, rms, rounding)) return level.c;
  }
  return NumericsClass::below;
}

Status check_arguments(const Tensor& reference, const Tensor& actual, const ErrorModel& model) {
  if (reference.shape() != actual.shape())
    return fail(ErrorCode::usage, "the output has shape " + to_string(actual.shape()) +
                                      ", the reference " + to_string(reference.shape()));
  if (actual.dtype() != model.output)
    return fail(ErrorCode::usage, "the output has type " + std::string(name_of(actual.dtype())) +
                                      " where " + std::string(name_of(model.output)) +
                                      " was declared");
  for (const Tensor* t : {&model.sensitivity, &model.storage})
    FIEL_CHECK(!t->data() || (t->dtype() == DType::f64 && t->is_contiguous() &&
                              t->numel() == reference.numel()),
               "a sensitivity is a contiguous f64 tensor of the reference's shape");
  return {};
}

}  // namespace

std::string_view name_of(NumericsClass c) {
  constexpr std::string_view kNames[] = {"fp64", "fp32", "tf32",    "fp16",
                                         "bf16", "fp8",  "integer", "below"};
  return kNames[static_cast<size_t>(c)];
}

NumericsClass worse(NumericsClass a, NumericsClass b) {
  if (a == NumericsClass::integer) return b;
  if (b == NumericsClass::integer) return a;
  return std::max(a, b);
}

double ErrorModel::growth() const {
  const double n = std::max(1.0, reduction_length);
  return 2 + (systematic ? n / 4 : std::sqrt(n));
}

Result<Comparison> compare(const Tensor& reference, const Tensor& actual, const ErrorModel& model,
                           const CompareOptions& options) {
  FIEL_TRY_STATUS(check_arguments(reference, actual, model));
  const Pieces pieces(reference.shape());
  const FirstPass first = scan_reference(reference, pieces, options.threads);
  const Comparer comparer(reference, actual, model, pieces, first);
  std::vector<Partial> parts(static_cast<size_t>(pieces.count));
  parallel_for(pieces.count, 1, options.threads,
               [&](int64_t p, int64_t) { parts[static_cast<size_t>(p)] = comparer.run(p); });
  Partial sum;
  for (const Partial& p : parts) merge(p, sum);

  const double counted = static_cast<double>(std::max<int64_t>(1, sum.counted));
  const Rms rms = {std::sqrt(sum.error2 / counted), std::sqrt(sum.output2 / counted),
                   std::sqrt(sum.sensitivity2 / counted), std::sqrt(sum.storage2 / counted),
                   1 + 4 / std::sqrt(counted)};
  Comparison out;
  out.elements = pieces.n;
  out.compared = sum.compared;
  out.max_abs = sum.max_abs;
  out.rms_error = sum.nan || sum.infinity ? kInfinity : rms.error;
  out.rms_output = first.rms;
  out.relative_rms = rms.error == 0 ? 0 : first.rms > 0 ? rms.error / first.rms : kInfinity;
  if (sum.nan || sum.infinity) out.relative_rms = kInfinity;
  out.worst_ratio = sum.nan || sum.infinity ? kInfinity : sum.worst_ratio;
  out.max_ulp = sum.max_ulp;
  out.exact_fraction =
      pieces.n ? static_cast<double>(sum.exact) / static_cast<double>(pieces.n) : 1;
  out.failing = sum.failing;
  out.nan_mismatches = sum.nan;
  out.infinity_mismatches = sum.infinity;
  out.unstable = sum.unstable;
  out.worst_index = sum.worst_index;
  out.first_failing = sum.first_failing;
  out.expected_first = sum.expected_first;
  out.actual_first = sum.actual_first;
  out.bound_first = sum.bound_first;
  out.min_reference = first.low <= first.high ? first.low : 0;
  out.max_reference = first.low <= first.high ? first.high : 0;
  out.rms_limit = model.relative_rms ? *model.relative_rms * first.rms
                                     : limit_at(comparer.unit(), rms, rounding_of(model.output));
  out.rms_failed = is_floating(model.output) && rms.error > out.rms_limit;
  if (out.rms_failed && out.first_failing < 0) {
    out.first_failing = out.worst_index;
    out.expected_first = reference.at_flat(out.worst_index);
    out.actual_first = actual.at_flat(out.worst_index);
    out.bound_first = std::fabs(out.actual_first - out.expected_first) / out.worst_ratio;
  }
  out.numerics = measure_class(model, sum, rms, comparer.strict_unit());
  return out;
}

std::string Comparison::reason(const Shape& shape) const {
  if (accepted()) return {};
  std::string out;
  if (failing)
    out = format_count(static_cast<uint64_t>(failing)) + " of " +
          format_count(static_cast<uint64_t>(elements)) + " elements are wrong; first at " +
          to_string(unravel(first_failing, shape)) + ": expected " + format_double(expected_first) +
          ", got " + format_double(actual_first) + ", allowed error " + format_double(bound_first);
  else
    out = "rms error " + format_double(rms_error) + " is above the limit " +
          format_double(rms_limit) + " (rms of the output " + format_double(rms_output) + ")";
  return out;
}

double ulp_distance(DType t, double a, double b) {
  if (a == b) return 0;
  if (std::isnan(a) || std::isnan(b)) return kInfinity;
  if (!is_floating(t)) return std::fabs(a - b);
  auto code = [&](double v) {
    uint64_t bits = 0;
    store_from_f64(t, &bits, v);
    if (t == DType::tf32) bits >>= 13;
    const int width = t == DType::tf32 ? 19 : static_cast<int>(8 * size_of(t));
    const uint64_t sign = uint64_t{1} << (width - 1);
    const auto magnitude = static_cast<double>(bits & (sign - 1));
    return bits & sign ? -magnitude : magnitude;
  };
  return std::fabs(code(a) - code(b));
}

int64_t first_difference(const Tensor& a, const Tensor& b) {
  FIEL_CHECK(a.dtype() == b.dtype() && a.shape() == b.shape(), "tensors of one type and shape");
  const Tensor x = a.is_contiguous() ? a : a.clone(), y = b.is_contiguous() ? b : b.clone();
  const int64_t bytes = x.nbytes(), size = size_of(a.dtype());
  if (bytes == 0 || std::memcmp(x.data(), y.data(), static_cast<size_t>(bytes)) == 0) return -1;
  const auto where = std::mismatch(x.data(), x.data() + bytes, y.data());
  return (where.first - x.data()) / size;
}

}  // namespace fiel
