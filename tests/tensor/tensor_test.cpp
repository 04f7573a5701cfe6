#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace fiel {
namespace {

Tensor iota(DType t, Shape shape) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  std::iota(values.begin(), values.end(), 0.0);
  return Tensor::from_f64(t, shape, values);
}

TEST(Tensor, IsZeroAndContiguousAtFirst) {
  Tensor t = Tensor::empty(DType::f32, {3, 4});
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ(t.strides(), (Shape{4, 1}));
  EXPECT_EQ(t.nbytes(), 48);
  for (double v : t.to_f64()) EXPECT_EQ(v, 0);
  EXPECT_EQ(Tensor::scalar(DType::bf16, 1.5).at({}), 1.5);
}

TEST(Tensor, TransposedViewSharesBytesAndCloneDoesNot) {
  Tensor x = iota(DType::i32, {2, 3});
  Tensor t = x.transposed(0, 1);
  EXPECT_EQ(t.shape(), (Shape{3, 2}));
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(t.to_f64(), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  Tensor c = t.clone();
  t.set({0, 1}, 42);
  EXPECT_EQ(x.at({1, 0}), 42);
  EXPECT_EQ(c.at({0, 1}), 3);
  EXPECT_TRUE(c.is_contiguous());
}

TEST(Tensor, ViewsWithZeroAndNegativeStridesReadTheRightElements) {
  Tensor x = iota(DType::i16, {4});
  EXPECT_EQ(x.view({4}, {-1}, 3).to_f64(), (std::vector<double>{3, 2, 1, 0}));
  EXPECT_EQ(x.view({2, 2}, {0, 1}, 1).to_f64(), (std::vector<double>{1, 2, 1, 2}));
  EXPECT_EQ(x.view({2, 2}, {-2, 1}, 2).to_f64(), (std::vector<double>{2, 3, 0, 1}));
  EXPECT_EQ(x.view({2}, {2}, 1).view({2}, {-2}, 2).to_f64(), (std::vector<double>{3, 1}));
}

TEST(TensorDeathTest, ViewOutsideTheMemoryIsRefused) {
  Tensor x = iota(DType::i16, {4});
  EXPECT_DEATH(x.view({4}, {1}, 1), "inside the memory");
  EXPECT_DEATH(x.view({4}, {-1}, 2), "inside the memory");
  EXPECT_DEATH(x.at({4}), "inside the shape");
}

TEST(Tensor, ConvertsStridedDataAndRanksAboveTwo) {
  Tensor x = iota(DType::f64, {2, 3, 4});
  Tensor t = x.transposed(0, 2).to(DType::f16);
  EXPECT_EQ(t.shape(), (Shape{4, 3, 2}));
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t k = 0; k < 4; ++k) EXPECT_EQ(t.at({k, j, i}), x.at({i, j, k}));
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(x.at_flat(i), static_cast<double>(i));
  EXPECT_EQ(x.reshaped({6, 4}).at({5, 3}), 23);
}

TEST(Tensor, EmptyDimensionsHoldNothingAndStayUsable) {
  Tensor t = Tensor::empty(DType::f32, {3, 0, 2});
  EXPECT_EQ(t.numel(), 0);
  EXPECT_NE(t.data(), nullptr);
  EXPECT_TRUE(t.transposed(0, 2).clone().to_f64().empty());
}

TEST(Tensor, RefusesShapesBeyondItsBounds) {
  const int64_t big = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(Tensor::checked_empty(DType::f32, {big, big}));
  EXPECT_FALSE(Tensor::checked_empty(DType::f32, {int64_t{1} << 39, int64_t{1} << 39}));
  EXPECT_FALSE(Tensor::checked_empty(DType::f32, {-1}));
  EXPECT_FALSE(Tensor::checked_empty(DType::f32, Shape(9, 1)));
  EXPECT_FALSE(Tensor::checked_empty(DType::f64, {1024}, 8191));
  EXPECT_TRUE(Tensor::checked_empty(DType::f64, {1024}, 8192));
  EXPECT_TRUE(Tensor::checked_empty(DType::f64, {0, 1 << 30}));
}

TEST(Tensor, NamesShapesAsPythonDoes) {
  EXPECT_EQ(to_string(Shape{255, 511}), "(255, 511)");
  EXPECT_EQ(to_string(Shape{3}), "(3,)");
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(unravel(7, Shape{2, 3, 2}), (Shape{1, 0, 1}));
}

}  // namespace
}  // namespace fiel
