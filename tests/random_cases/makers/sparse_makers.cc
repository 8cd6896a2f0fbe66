// Sequences of ops on sparse matrices in compressed rows, and on maps that hold sparse tensors.
#include <algorithm>
#include <numeric>

#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

DType DrawMatrixType(Random& random) {
  static const std::vector<DType> types = {DType::kFloat, DType::kFloat, DType::kDouble,
                                           DType::kComplex64, DType::kComplex128};
  return random.Pick(types);
}

// Some positions of a tensor of the shape, in order: [n, rank].
Tensor DrawPositions(Random& random, const Shape& shape, double density) {
  std::vector<int64_t> flat;
  int64_t count = 0;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    if (!random.Chance(density)) continue;
    std::vector<int64_t> position(shape.rank());
    int64_t rest = i;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      position[d] = rest % shape.dim(d);
      rest /= shape.dim(d);
    }
    flat.insert(flat.end(), position.begin(), position.end());
    ++count;
  }
  return Tensor::Of(Shape{count, shape.rank()}, absl::Span<const int64_t>(flat));
}

StepOutput Dims(Sequence& sequence, const Shape& shape) {
  return sequence.Longs({shape.dims().begin(), shape.dims().end()});
}

// The steps on one matrix, or on a batch of them.
class MatrixSteps {
 public:
  explicit MatrixSteps(Sequence& sequence)
      : sequence_(sequence),
        random_(sequence.random()),
        dtype_(DrawMatrixType(random_)),
        shape_{random_.Between(1, 5), random_.Between(1, 5)} {
    if (random_.Chance(0.4)) shape_.InsertDim(0, random_.Between(1, 3));
  }

  void Run() {
    matrix_ = Make(shape_);
    while (sequence_.Continues()) Step();
    sequence_.Step("CSRSparseMatrixToDense", {matrix_}, Type());
  }

 private:
  AttrMap Type() const { return {{"type", dtype_}}; }
  int rank() const { return shape_.rank(); }

  StepOutput Make(const Shape& shape) {
    const Tensor positions = DrawPositions(random_, shape, 0.4);
    if (random_.Chance(0.5)) {
      return sequence_.Step("DenseToCSRSparseMatrix",
                            {sequence_.Drawn(dtype_, shape), sequence_.Given(positions)})[0];
    }
    return sequence_.Step(
        "SparseTensorToCSRSparseMatrix",
        {sequence_.Given(positions), sequence_.Drawn(dtype_, Shape{positions.dim(0)}),
         Dims(sequence_, shape)})[0];
  }

  void Step() {
    switch (random_.Below(6)) {
      case 0:
        sequence_.Step("CSRSparseMatrixToSparseTensor", {matrix_}, Type());
        break;
      case 1: {
        const int64_t batches = rank() == 3 ? shape_.dim(0) : 1;
        const auto index = static_cast<int32_t>(random_.Below(batches));
        sequence_.Step("CSRSparseMatrixComponents", {matrix_, sequence_.Int(index)}, Type());
        break;
      }
      case 2: {
        AttrMap attrs = Type();
        attrs["conjugate"] = random_.Chance(0.3);
        matrix_ = sequence_.Step("SparseMatrixTranspose", {matrix_}, attrs)[0];
        const int64_t rows = shape_.dim(rank() - 2);
        shape_.SetDim(rank() - 2, shape_.dim(rank() - 1));
        shape_.SetDim(rank() - 1, rows);
        break;
      }
      case 3:
        MultiplyDense();
        break;
      case 4:
        MultiplySparse();
        break;
      default:
        sequence_.Step("SparseMatrixNNZ", {matrix_});
    }
  }

  void MultiplyDense() {
    const bool transposes_a = random_.Chance(0.3), transposes_b = random_.Chance(0.3);
    const bool adjoint = random_.Chance(0.3);
    const int64_t inner = shape_.dim(transposes_a ? rank() - 2 : rank() - 1);
    const int64_t columns = random_.Between(1, 4);
    Shape shape = transposes_b ? Shape{columns, inner} : Shape{inner, columns};
    if (rank() == 3) shape.InsertDim(0, shape_.dim(0));
    sequence_.Step("SparseMatrixMatMul", {matrix_, sequence_.Drawn(dtype_, shape)},
                   {{adjoint ? "adjoint_a" : "transpose_a", transposes_a},
                    {adjoint ? "adjoint_b" : "transpose_b", transposes_b},
                    {"transpose_output", random_.Chance(0.2)},
                    {"conjugate_output", random_.Chance(0.2)}});
  }

  void MultiplySparse() {
    const bool transposes_a = random_.Chance(0.3), transposes_b = random_.Chance(0.3);
    const int64_t inner = shape_.dim(transposes_a ? rank() - 2 : rank() - 1);
    const int64_t rows = shape_.dim(transposes_a ? rank() - 1 : rank() - 2);
    const int64_t columns = random_.Between(1, 4);
    Shape shape = transposes_b ? Shape{columns, inner} : Shape{inner, columns};
    if (rank() == 3) shape.InsertDim(0, shape_.dim(0));
    const StepOutput other = Make(shape);
    AttrMap attrs = Type();
    const bool adjoint = random_.Chance(0.3);
    attrs[adjoint ? "adjoint_a" : "transpose_a"] = transposes_a;
    attrs[adjoint ? "adjoint_b" : "transpose_b"] = transposes_b;
    matrix_ = sequence_.Step("SparseMatrixSparseMatMul", {matrix_, other}, attrs)[0];
    shape_.SetDim(rank() - 2, rows);
    shape_.SetDim(rank() - 1, columns);
  }

  Sequence& sequence_;
  Random& random_;
  const DType dtype_;
  Shape shape_;
  StepOutput matrix_;
};

void MakeMatrix(Sequence& sequence) { MatrixSteps(sequence).Run(); }

// A positive definite matrix, its factor, and the product of the two that gives it back.
void MakeFactor(Sequence& sequence) {
  Random& random = sequence.random();
  const DType dtype = random.Chance(0.5) ? DType::kFloat : DType::kDouble;
  const int64_t n = random.Between(1, 5);
  std::vector<double> values(n * n, 0);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      if (random.Chance(0.4)) values[i * n + j] = values[j * n + i] = random.Between(-1, 1);
    }
    values[i * n + i] = static_cast<double>(n) + 1;
  }
  const Tensor whole = Tensor::Of(Shape{n, n}, absl::Span<const double>(values));
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < n * n; ++i) {
    if (values[i] == 0) continue;
    positions.insert(positions.end(), {i / n, i % n});
  }
  const StepOutput at = sequence.Given(Tensor::Of(
      Shape{static_cast<int64_t>(positions.size()) / 2, 2}, absl::Span<const int64_t>(positions)));
  const StepOutput matrix = sequence.Step(
      "DenseToCSRSparseMatrix", {sequence.Given(ConvertedTensor(random, whole, dtype)), at})[0];
  sequence.Step("SparseMatrixOrderingAMD", {matrix});
  std::vector<int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  if (random.Chance(0.4)) std::reverse(order.begin(), order.end());
  const StepOutput factor = sequence.Step("SparseMatrixSparseCholesky",
                                          {matrix, sequence.Ints(order)}, {{"type", dtype}})[0];
  sequence.Step("CSRSparseMatrixToDense", {factor}, {{"type", dtype}});
}

// A map of sparse tensors, from which several are taken as one.
void MakeTensorsMap(Sequence& sequence) {
  Random& random = sequence.random();
  const DType dtype = DrawType(random);
  const AttrMap area = {{"shared_name", "sparse"}};
  const int64_t rank = random.Between(1, 3);
  std::vector<StepOutput> handles;
  const auto draw_shape = [&](int64_t of_rank) {
    Shape shape;
    for (int64_t i = 0; i < of_rank; ++i) shape.AddDim(random.Between(1, 4));
    return shape;
  };
  while (sequence.Continues()) {
    if (random.Chance(0.4)) {
      // Handles of a minibatch: row by row along the first dimension.
      const Shape shape = draw_shape(rank + 1);
      const Tensor positions = DrawPositions(random, shape, 0.4);
      const StepOutput all =
          sequence.Step("AddManySparseToTensorsMap",
                        {sequence.Given(positions), sequence.Drawn(dtype, Shape{positions.dim(0)}),
                         Dims(sequence, shape)},
                        area)[0];
      for (const StepOutput& one : sequence.Unseen("Unpack", {all}, {{"num", shape.dim(0)}})) {
        handles.push_back(one);
      }
    } else if (handles.empty() || random.Chance(0.6)) {
      const Shape shape = draw_shape(rank);
      const Tensor positions = DrawPositions(random, shape, 0.4);
      handles.push_back(
          sequence.Step("AddSparseToTensorsMap",
                        {sequence.Given(positions), sequence.Drawn(dtype, Shape{positions.dim(0)}),
                         Dims(sequence, shape)},
                        area)[0]);
    } else {
      const auto taken = random.Between(1, static_cast<int64_t>(handles.size()));
      const std::vector<StepOutput> some(handles.begin(), handles.begin() + taken);
      handles.erase(handles.begin(), handles.begin() + taken);
      AttrMap attrs = area;
      attrs["dtype"] = dtype;
      sequence.Step("TakeManySparseFromTensorsMap", {sequence.Unseen("Pack", some)[0]}, attrs);
    }
  }
}

}  // namespace

std::vector<SequenceMaker> SparseMakers() { return {MakeMatrix, MakeFactor, MakeTensorsMap}; }

}  // namespace tessera
