// One step of recurrent networks: torch.rnn_tanh_cell, rnn_relu_cell, lstm_cell, gru_cell.
#include <fmt/core.h>

#include <cmath>

#include "base/parallel.h"
#include "graph/gemm.h"
#include "graph/types.h"
#include "graph/value.h"

namespace fiel::graph {
namespace {

using Values = std::vector<Value>;

/// Slots of a cell: input, states…, w_ih, w_hh, b_ih, b_hh; `gates` blocks of rows in the weights.
struct Cell {
  size_t weights = 2;  ///< slot of w_ih
  int64_t gates = 1, batch = 1, inputs = 0, hidden = 0;
  Shape state;
};

Result<Cell> cell_of(const Call& c, size_t states, int64_t gates) {
  for (size_t slot = 0; slot < c.inputs.size(); ++slot) FIEL_TRY_STATUS(need_floating(c, slot));
  Cell cell;
  cell.weights = 1 + states;
  cell.gates = gates;
  FIEL_TRY_STATUS(need_rank(c, 0, 1, 2));
  cell.state = c.shape(1);
  if (cell.state.size() != c.shape(0).size()) return refuse("input and hx differ in rank");
  cell.inputs = c.shape(0).back();
  cell.hidden = cell.state.back();
  if (cell.state.size() == 2) cell.batch = cell.state[0];
  if (cell.state.size() == 2 && c.shape(0)[0] != cell.batch)
    return refuse("input and hx differ in batch");
  if (states == 2 && c.shape(2) != cell.state) return refuse("hx and cx differ in shape");
  auto need = [&](size_t slot, Shape wanted) -> Status {
    if (!c.given(slot) || c.shape(slot) == wanted) return {};
    return refuse(fmt::format("{} must have shape {}, not {}", argument_name(c, slot),
                              fiel::to_string(wanted), fiel::to_string(c.shape(slot))));
  };
  int64_t rows = 0;
  if (__builtin_mul_overflow(gates, cell.hidden, &rows)) return refuse("hx is too large");
  FIEL_TRY_STATUS(need(cell.weights, {rows, cell.inputs}));
  FIEL_TRY_STATUS(need(cell.weights + 1, {rows, cell.hidden}));
  FIEL_TRY_STATUS(need(cell.weights + 2, {rows}));
  FIEL_TRY_STATUS(need(cell.weights + 3, {rows}));
  return cell;
}

/// x · weightᵀ + bias: [batch, gates · hidden].
std::vector<double> affine(const Evaluation& e, const Cell& cell, size_t x, size_t weight) {
  int64_t rows = cell.gates * cell.hidden, k = e.inputs[x]->shape().back();
  std::vector<double> out(static_cast<size_t>(cell.batch * rows));
  gemm({e.inputs[x]->reals(), k, 1}, {e.inputs[weight]->reals(), 1, k}, out.data(), rows,
       cell.batch, rows, k, e.threads);
  size_t bias = weight + 2;
  for (size_t i = 0; e.call.given(bias) && i < out.size(); ++i)
    out[i] += e.inputs[bias]->reals()[static_cast<int64_t>(i) % rows];
  return out;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

template <size_t States, int64_t Gates>
Result<Types> infer_cell(const Call& c) {
  FIEL_TRY(Cell cell, cell_of(c, States, Gates));
  DType dtype = promote_all(c);
  return Types(States, TensorType{dtype, cell.state});
}

template <bool Relu>
Result<Values> evaluate_rnn(const Evaluation& e) {
  FIEL_TRY(Cell cell, cell_of(e.call, 1, 1));
  std::vector<double> x = affine(e, cell, 0, 2), h = affine(e, cell, 1, 3);
  Value out = Value::make(e.call.results[0]);
  for (size_t i = 0; i < x.size(); ++i) {
    double v = x[i] + h[i];
    out.reals()[i] = Relu ? (v < 0 ? 0 : v) : std::tanh(v);
  }
  return Values{std::move(out)};
}

Result<Values> evaluate_lstm(const Evaluation& e) {
  FIEL_TRY(Cell cell, cell_of(e.call, 2, 4));
  std::vector<double> x = affine(e, cell, 0, 3), h = affine(e, cell, 1, 4);
  Value hidden = Value::make(e.call.results[0]), carry = Value::make(e.call.results[1]);
  int64_t n = cell.hidden;
  for (int64_t i = 0; i < hidden.count(); ++i) {
    auto gate = [&](int64_t g) {
      auto at = static_cast<size_t>(i / n * 4 * n + g * n + i % n);
      return x[at] + h[at];
    };
    double c = sigmoid(gate(1)) * e.inputs[2]->reals()[i] + sigmoid(gate(0)) * std::tanh(gate(2));
    carry.reals()[i] = c;
    hidden.reals()[i] = sigmoid(gate(3)) * std::tanh(c);
  }
  return Values{std::move(hidden), std::move(carry)};
}

Result<Values> evaluate_gru(const Evaluation& e) {
  FIEL_TRY(Cell cell, cell_of(e.call, 1, 3));
  std::vector<double> x = affine(e, cell, 0, 2), h = affine(e, cell, 1, 3);
  Value out = Value::make(e.call.results[0]);
  int64_t n = cell.hidden;
  for (int64_t i = 0; i < out.count(); ++i) {
    auto at = [&](int64_t g) { return static_cast<size_t>(i / n * 3 * n + g * n + i % n); };
    double reset = sigmoid(x[at(0)] + h[at(0)]), update = sigmoid(x[at(1)] + h[at(1)]);
    double fresh = std::tanh(x[at(2)] + reset * h[at(2)]);
    out.reals()[i] = (e.inputs[1]->reals()[i] - fresh) * update + fresh;
  }
  return Values{std::move(out)};
}

template <size_t States, int64_t Gates>
Work cell_cost(const Call& c) {
  auto cell = cell_of(c, States, Gates);
  double k = static_cast<double>(cell->inputs) + static_cast<double>(cell->hidden);
  double n = static_cast<double>(saturating_product(cell->state));
  return {n * static_cast<double>(Gates) * (2 * k + 5), k};
}

}  // namespace

std::vector<Operator> recurrent_operators() {
  return {
      {"rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih?, b_hh?)",
       "tanh(w_ih · input + b_ih + w_hh · hx + b_hh)", infer_cell<1, 1>, evaluate_rnn<false>,
       cell_cost<1, 1>},
      {"rnn_relu_cell(input, hx, w_ih, w_hh, b_ih?, b_hh?)", "the same with relu", infer_cell<1, 1>,
       evaluate_rnn<true>, cell_cost<1, 1>},
      {"lstm_cell(input, hx, cx, w_ih, w_hh, b_ih?, b_hh?)",
       "long short-term memory, gates input, forget, cell, output: hidden, cell "
       "(PyTorch passes (hx, cx) as a tuple)",
       infer_cell<2, 4>, evaluate_lstm, cell_cost<2, 4>, 2},
      {"gru_cell(input, hx, w_ih, w_hh, b_ih?, b_hh?)",
       "gated recurrent unit, gates reset, update, new", infer_cell<1, 3>, evaluate_gru,
       cell_cost<1, 3>},
  };
}

}  // namespace fiel::graph
