#include "tensor/random.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "base/text.h"
#include "tensor/convert.h"
#include "tensor/random_math.h"

namespace fiel {

namespace {

constexpr int64_t kChunk = 1 << 14;
/// Counters from here on place the values that every tensor of a kind must hold at least once.
constexpr uint64_t kPlanted = uint64_t{1} << 62;

struct Argument {
  const char* name;
  double standard, low, high;
  bool integer = false;
};
struct Entry {
  DistributionKind kind;
  std::string_view name;
  std::vector<Argument> arguments;  ///< at most two
  size_t required = 0;
};

const std::vector<Entry>& table() {
  using enum DistributionKind;
  constexpr double kHuge = 1e300, kCount = 0x1p53;
  static const std::vector<Entry> entries = {
      {uniform, "uniform", {{"lo", 0, -kHuge, kHuge}, {"hi", 1, -kHuge, kHuge}}, 0},
      {normal, "normal", {{"mean", 0, -kHuge, kHuge}, {"std", 1, 0, kHuge}}, 0},
      {log_uniform,
       "log_uniform",
       {{"lo_exponent", -20, -1000, 1000}, {"hi_exponent", 20, -1000, 1000}},
       0},
      {mixed_sign, "mixed_sign", {{"scale", 1, 0, kHuge}}, 0},
      {offset, "offset", {{"mean", 1000, -kHuge, kHuge}, {"std", 1, 0, kHuge}}, 0},
      {outliers, "outliers", {{"fraction", 0.01, 0, 1}, {"magnitude", 1000, 0, kHuge}}, 0},
      {ties, "ties", {{"levels", 4, 1, 1e6, true}}, 0},
      {constant, "constant", {{"value", 0, -kHuge, kHuge}}, 1},
      {one_hot, "one_hot", {}, 0},
      {special, "special", {{"fraction", 0.05, 0, 1}}, 0},
      {permutation, "permutation", {}, 0},
      {indices, "indices", {{"bound", 1, 1, kCount, true}}, 1},
      {mask, "mask", {{"p", 0.5, 0, 1}}, 0},
      {probability, "probability", {}, 0},
  };
  return entries;
}

const Entry& entry_of(DistributionKind kind) { return table()[static_cast<size_t>(kind)]; }

double& argument_of(Distribution& d, size_t i) { return i == 0 ? d.a : d.b; }

Result<double> parse_argument(std::string_view word, const Entry& entry, const Argument& argument) {
  const std::string where =
      std::string(entry.name) + "'s " + argument.name + " (\"" + printable(word, 40) + "\")";
  double v = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(v))
    return fail(ErrorCode::parse, where + " is not a number");
  if (v < argument.low || v > argument.high)
    return fail(ErrorCode::parse, where + " lies outside [" + format_double(argument.low) + ", " +
                                      format_double(argument.high) + "]");
  if (argument.integer && v != std::floor(v))
    return fail(ErrorCode::parse, where + " must be a whole number");
  return v;
}

/// The exponents that a type can hold as normal numbers.
struct Range {
  double lowest, highest;  ///< finite values
  double lo_exponent, hi_exponent;
  double subnormal;  ///< a subnormal, 0 where there is none
};

Range range_of(DType t) {
  switch (t) {
    case DType::f64:
      return {-1.7e308, 1.7e308, -1000, 1000, 0x1p-1060};
    case DType::f32:
      return {-0x1.fffffep127, 0x1.fffffep127, -126, 127, 0x1p-140};
    case DType::tf32:
      return {-0x1.ffcp127, 0x1.ffcp127, -126, 127, 0x1p-130};
    case DType::f16:
      return {-65504, 65504, -14, 15, 0x1p-20};
    case DType::bf16:
      return {-0x1.fep127, 0x1.fep127, -126, 127, 0x1p-130};
    case DType::e4m3:
      return {-448, 448, -6, 8, 0x1p-8};
    case DType::e5m2:
      return {-57344, 57344, -14, 15, 0x1p-15};
    case DType::i8:
      return {-128, 127, 0, 6, 0};
    case DType::i16:
      return {-32768, 32767, 0, 14, 0};
    case DType::i32:
      return {-2147483648.0, 2147483647.0, 0, 30, 0};
    case DType::i64:
      return {-0x1p62, 0x1p62, 0, 52, 0};
    case DType::u8:
      return {0, 255, 0, 7, 0};
    default:
      return {0, 1, 0, 0, 0};
  }
}

/// The largest n such that 0 … n-1 are all exact.
double exact_integers(DType t) {
  return is_floating(t) ? 1 / unit_roundoff(t) + 1 : range_of(t).highest + 1;
}

uint64_t word64(const std::array<uint32_t, 4>& w, int half = 0) {
  return uint64_t{w[static_cast<size_t>(2 * half)]} << 32 | w[static_cast<size_t>(2 * half + 1)];
}

/// floor(w · n / 2^64): uniform in [0, n) but for a bias below n / 2^64.
uint64_t below(uint64_t w, uint64_t n) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(w) * n) >> 64);
}

/// Where the k-th value that must not be missing goes: distinct places by linear probing.
std::vector<int64_t> planted(const Stream& stream, int64_t n, int64_t count) {
  std::vector<int64_t> places;
  for (int64_t k = 0; k < std::min(n, count); ++k) {
    auto at = static_cast<int64_t>(
        below(word64(draw(stream, kPlanted + static_cast<uint64_t>(k))), static_cast<uint64_t>(n)));
    while (std::find(places.begin(), places.end(), at) != places.end()) at = (at + 1) % n;
    places.push_back(at);
  }
  return places;
}

/// A bijection of [0, n) from a key: a Feistel network over the next power of four, walked until
/// it lands inside. Each element of a permutation is found alone.
uint64_t permuted(uint64_t i, uint64_t n, const Stream& stream, uint64_t row) {
  int half = 1;
  while ((uint64_t{1} << (2 * half)) < n) ++half;
  const uint64_t low = (uint64_t{1} << half) - 1;
  const std::array<uint32_t, 4> key = draw(stream, kPlanted + row);
  uint64_t v = i;
  do {
    uint64_t left = v >> half, right = v & low;
    for (uint32_t round = 0; round < 6; ++round) {
      const auto mixed =
          philox4x32_10({static_cast<uint32_t>(right), round, key[2], key[3]}, {key[0], key[1]});
      const uint64_t next = left ^ (mixed[0] & low);
      left = right;
      right = next;
    }
    v = left << half | right;
  } while (v >= n);
  return v;
}

class Generator {
 public:
  Generator(const Distribution& d, DType dtype, const Shape& shape, const Stream& stream)
      : d_(d), range_(range_of(dtype)), floating_(is_floating(dtype)), stream_(stream) {
    n_ = numel(shape);
    row_ = shape.empty() ? 1 : std::max<int64_t>(1, shape.back());
    if (d.kind == DistributionKind::special) places_ = planted(stream, n_, 6);
    if (d.kind == DistributionKind::outliers) places_ = planted(stream, n_, 1);
  }

  int64_t row() const { return row_; }

  double at(int64_t i) const {
    double v = raw(i);
    if (d_.kind == DistributionKind::special) return v;
    return std::clamp(v, range_.lowest, range_.highest);
  }

 private:
  double raw(int64_t i) const {
    using enum DistributionKind;
    const auto index = static_cast<uint64_t>(i);
    if (d_.kind == constant) return d_.a;
    if (d_.kind == permutation)
      return static_cast<double>(permuted(index % static_cast<uint64_t>(row_),
                                          static_cast<uint64_t>(row_), stream_,
                                          index / static_cast<uint64_t>(row_)));
    if (d_.kind == one_hot) {
      const uint64_t hot = below(word64(draw(stream_, index / static_cast<uint64_t>(row_))),
                                 static_cast<uint64_t>(row_));
      return index % static_cast<uint64_t>(row_) == hot ? 1 : 0;
    }
    const std::array<uint32_t, 4> w = draw(stream_, index);
    const double u = uniform01(w[0], w[1]);
    switch (d_.kind) {
      case uniform:
        return d_.a + (d_.b - d_.a) * u;
      case normal:
      case offset:
        return d_.a + d_.b * normal_of(w);
      case log_uniform: {
        // In f16 2^20 would be infinite: the exponents stay where the type has normal numbers.
        const double lo = std::clamp(d_.a, range_.lo_exponent, range_.hi_exponent);
        const double hi = std::clamp(d_.b, range_.lo_exponent, range_.hi_exponent);
        const double v = detail::exp2_of(lo + (hi - lo) * u);
        return w[2] & 1 ? -v : v;
      }
      case mixed_sign:
        return d_.a * (0.25 + 0.75 * u) * (w[2] & 1 ? -1 : 1);
      case ties:
        return static_cast<double>(below(word64(w), static_cast<uint64_t>(d_.a))) - (d_.a - 1) / 2;
      case indices:
        return static_cast<double>(below(word64(w), static_cast<uint64_t>(d_.a)));
      case mask:
        return u < d_.a ? 1 : 0;
      case probability:
        return -detail::log_of(u);  // exponential; rows are divided by their sums afterwards
      case outliers:
        return outlier(i, w);
      default:
        return special_value(i, w);
    }
  }

  static double normal_of(const std::array<uint32_t, 4>& w) {
    return detail::normal_of(uniform01(w[0], w[1]), word64(w, 1));
  }

  /// Whether element i is chosen by a second draw, so that the first still serves its value.
  bool chosen(int64_t i, std::array<uint32_t, 4>* w) const {
    *w = draw({stream_.seed, ~stream_.stream_id}, static_cast<uint64_t>(i));
    return uniform01((*w)[0], (*w)[1]) < d_.a;
  }

  double outlier(int64_t i, const std::array<uint32_t, 4>& w) const {
    std::array<uint32_t, 4> second;
    const bool here = std::find(places_.begin(), places_.end(), i) != places_.end();
    if (!chosen(i, &second) && !(here && d_.a > 0)) return normal_of(w);
    const double v = d_.b * (0.5 + 0.5 * uniform01(second[2], second[3]));
    return w[3] & 1 ? -v : v;
  }

  double special_value(int64_t i, const std::array<uint32_t, 4>& w) const {
    if (!floating_) return std::clamp(normal_of(w), range_.lowest, range_.highest);
    std::array<uint32_t, 4> second;
    const auto here = std::find(places_.begin(), places_.end(), i);
    uint64_t which = 6;
    if (chosen(i, &second)) which = below(word64(second, 1), 6);
    if (here != places_.end() && d_.a > 0) which = static_cast<uint64_t>(here - places_.begin());
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (which) {
      case 0:
        return std::numeric_limits<double>::quiet_NaN();
      case 1:
        return kInfinity;
      case 2:
        return -kInfinity;
      case 3:
        return -0.0;
      case 4:
        return range_.subnormal;
      case 5:
        return -range_.subnormal;
      default:
        return normal_of(w);
    }
  }

  Distribution d_;
  Range range_;
  bool floating_;
  Stream stream_;
  int64_t n_ = 0, row_ = 1;
  std::vector<int64_t> places_;
};

Status check_possible(const Distribution& d, DType dtype, const Shape& shape) {
  using enum DistributionKind;
  const int64_t row = shape.empty() ? 1 : shape.back();
  const std::string type(name_of(dtype));
  if (d.kind == indices && d.a > exact_integers(dtype))
    return fail(ErrorCode::usage,
                "indices below " + format_double(d.a) + " are not all representable in " + type,
                "use i32 or i64");
  if (d.kind == permutation && static_cast<double>(row) > exact_integers(dtype))
    return fail(ErrorCode::usage,
                "a permutation of " + std::to_string(row) + " does not fit the type " + type,
                "use i32 or i64");
  if (d.kind == probability && !is_floating(dtype))
    return fail(ErrorCode::usage, "probabilities need a floating type, not " + type);
  return {};
}

/// Rows of exponentials over their sums are uniform on the simplex. Sums run left to right, one
/// row on one thread.
void fill_probabilities(const Generator& g, Tensor& t, uint32_t threads) {
  const int64_t row = g.row(), rows = t.numel() / row;
  const double smallest = std::max(range_of(t.dtype()).subnormal, 1e-300);
  parallel_for(rows, std::max<int64_t>(1, kChunk / row), threads, [&](int64_t begin, int64_t end) {
    std::vector<double> v(static_cast<size_t>(row));
    for (int64_t r = begin; r < end; ++r) {
      double sum = 0;
      for (int64_t i = 0; i < row; ++i) sum += v[static_cast<size_t>(i)] = g.at(r * row + i);
      for (double& x : v) x = std::max(x / sum, smallest);
      from_f64(v.data(), row, t.dtype(), t.data() + r * row * size_of(t.dtype()));
    }
  });
}

}  // namespace

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += 0x9E3779B9;  // the golden ratio and sqrt(3) - 1, as in the paper
    k[1] += 0xBB67AE85;
  }
  return c;
}

std::array<uint32_t, 4> draw(const Stream& s, uint64_t i) {
  return philox4x32_10(
      {static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), static_cast<uint32_t>(s.stream_id),
       static_cast<uint32_t>(s.stream_id >> 32)},
      {static_cast<uint32_t>(s.seed), static_cast<uint32_t>(s.seed >> 32)});
}

double uniform01(uint32_t high, uint32_t low) {
  const uint64_t bits = (uint64_t{high} << 32 | low) >> 12;  // 52 bits, then the middle of the step
  return (static_cast<double>(static_cast<int64_t>(bits)) + 0.5) * 0x1p-52;
}

std::string_view name_of(DistributionKind kind) { return entry_of(kind).name; }

std::vector<std::string> distribution_names() {
  std::vector<std::string> names;
  for (const Entry& e : table()) names.emplace_back(e.name);
  return names;
}

Result<Distribution> parse_distribution(std::string_view text) {
  text = trim(text);
  const size_t open = text.find('(');
  const std::string_view name = trim(text.substr(0, open));
  const auto entry =
      std::find_if(table().begin(), table().end(), [&](const Entry& e) { return e.name == name; });
  if (entry == table().end()) {
    const std::vector<std::string> names = distribution_names();
    const std::string near = did_you_mean(name, names);
    return fail(ErrorCode::parse, "unknown distribution \"" + printable(name, 40) + "\"",
                near.empty() ? "the distributions are listed in docs/tasks.md"
                             : "did you mean \"" + near + "\"?");
  }
  Distribution d;
  d.kind = entry->kind;
  d.a = d.b = 0;
  for (size_t i = 0; i < entry->arguments.size(); ++i)
    argument_of(d, i) = entry->arguments[i].standard;
  std::vector<std::string_view> words;
  if (open != std::string_view::npos) {
    if (text.back() != ')')
      return fail(ErrorCode::parse,
                  "distribution \"" + printable(text, 60) + "\" has no closing parenthesis");
    const std::string_view inside = trim(text.substr(open + 1, text.size() - open - 2));
    if (!inside.empty()) words = split(inside, ',');
  }
  if (words.size() > entry->arguments.size() || words.size() < entry->required)
    return fail(ErrorCode::parse, std::string(name) + " takes " +
                                      (entry->required ? "exactly " : "at most ") +
                                      std::to_string(entry->arguments.size()) + " argument" +
                                      (entry->arguments.size() == 1 ? "" : "s") + ", not " +
                                      std::to_string(words.size()));
  for (size_t i = 0; i < words.size(); ++i) {
    FIEL_TRY(double v, parse_argument(trim(words[i]), *entry, entry->arguments[i]));
    argument_of(d, i) = v;
  }
  if ((d.kind == DistributionKind::uniform || d.kind == DistributionKind::log_uniform) && d.a > d.b)
    return fail(ErrorCode::parse, std::string(name) + "'s lower end " + format_double(d.a) +
                                      " is above its upper end " + format_double(d.b));
  return d;
}

std::string to_string(const Distribution& d) {
  const Entry& entry = entry_of(d.kind);
  std::string out(entry.name);
  for (size_t i = 0; i < entry.arguments.size(); ++i)
    out += (i ? ", " : "(") + format_double(i ? d.b : d.a);
  return entry.arguments.empty() ? out : out + ")";
}

Result<Tensor> generate(const Distribution& d, DType dtype, Shape shape, const Stream& stream,
                        uint32_t threads) {
  FIEL_TRY_STATUS(check_possible(d, dtype, shape));
  FIEL_TRY(Tensor t, Tensor::checked_empty(dtype, std::move(shape)));
  if (t.numel() == 0) return t;
  const Generator g(d, dtype, t.shape(), stream);
  if (d.kind == DistributionKind::probability) {
    fill_probabilities(g, t, threads);
    return t;
  }
  parallel_for(t.numel(), kChunk, threads, [&](int64_t begin, int64_t end) {
    std::vector<double> v(static_cast<size_t>(end - begin));
    for (int64_t i = begin; i < end; ++i) v[static_cast<size_t>(i - begin)] = g.at(i);
    from_f64(v.data(), end - begin, dtype, t.data() + begin * size_of(dtype));
  });
  return t;
}

}  // namespace fiel
