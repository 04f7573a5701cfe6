// Shapes and dtypes as PyTorch reckons them: broadcasting, promotion, dimensions, and the failures
// that an operator's infer function reports (the caller adds operator and place).
#pragma once

#include <string>
#include <vector>

#include "graph/operators.h"

namespace fiel::graph {

/// Most elements of any value: keeps every later product far from overflow.
inline constexpr int64_t kMaxElements = int64_t{1} << 40;
inline constexpr int64_t kMaxRank = 8;

using Types = std::vector<TensorType>;

/// An infer failure.
tl::unexpected<Error> refuse(std::string message, std::string hint = {});

/// "f32(255, 511)".
std::string to_string(const TensorType& t);
std::string argument_name(const Call& call, size_t slot);

/// A shape is possible: rank, no negative extent, product bounded.
Status check_shape(const Shape& shape);
/// One result of that dtype and shape, checked.
Result<Types> one(DType dtype, Shape shape);

Result<Shape> broadcast(const Shape& a, const Shape& b);
Result<Shape> broadcast_all(const Call& call);

/// Category first (bool < integer < floating), then tensors with dimensions before those without,
/// then numbers.
DType promote(DType a, DType b);
DType promote_all(const Call& call);
/// The same over some slots.
DType promote_slots(const Call& call, std::initializer_list<size_t> slots);
/// What an integer becomes where an operator yields reals: f32, PyTorch's default dtype.
DType floating_or_default(DType t);

/// -rank <= dim < rank becomes 0 <= dim < rank (a rank-0 tensor counts as rank 1).
Result<int64_t> normalize_dim(int64_t dim, size_t rank);
/// All dimensions where the list is empty; refuses repeats. Sorted.
Result<std::vector<int64_t>> normalize_dims(const std::vector<int64_t>& dims, size_t rank);

Status need_floating(const Call& call, size_t slot);
Status need_integer(const Call& call, size_t slot);
Status need_rank(const Call& call, size_t slot, size_t least, size_t most);
Result<DType> dtype_attribute(const Call& call, std::string_view name, DType otherwise);

/// "float32" and "f32" alike.
std::optional<DType> dtype_of_name(const std::string& name);

/// Products saturate instead of overflowing.
int64_t saturating_product(const Shape& shape);

/// Cost rules shared by many rows.
Work elementwise_cost(const Call& call);  ///< one operation a result element
Work free_cost(const Call& call);         ///< moves data only

}  // namespace fiel::graph
