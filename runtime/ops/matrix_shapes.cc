#include "runtime/ops/matrix_shapes.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tessera {
namespace shape {
namespace {

// A stack of matrices of unknown or known sizes.
struct Matrices {
  bool known_rank = false;
  PartialShape stack;  // the leading dimensions
  int64_t rows = -1;
  int64_t columns = -1;
};

absl::StatusOr<Matrices> MatricesOf(const ShapeContext& c, int i, bool transposed = false) {
  const PartialShape& shape = c.input(i);
  Matrices m;
  if (!shape.known_rank()) return m;
  const int rank = shape.rank();
  if (rank < 2) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " of ", c.op().name,
                                                   " must be matrices, its shape is ",
                                                   shape.ToString()));
  }
  m.known_rank = true;
  m.stack = PartialShape(shape.dims().first(rank - 2));
  m.rows = shape.dim(rank - (transposed ? 1 : 2));
  m.columns = shape.dim(rank - (transposed ? 2 : 1));
  return m;
}

PartialShape WithDims(PartialShape shape, std::initializer_list<int64_t> dims) {
  if (!shape.known_rank()) return shape;
  for (int64_t dim : dims) shape.AddDim(dim);
  return shape;
}

// a times b, whose leading dimensions broadcast.
absl::Status SetProduct(ShapeContext& c, const Matrices& a, const Matrices& b) {
  if (a.columns >= 0 && b.rows >= 0 && a.columns != b.rows) {
    return absl::InvalidArgumentError(absl::StrCat("matrices of ", a.columns, " columns and of ",
                                                   b.rows, " rows have no product"));
  }
  ASSIGN_OR_RETURN(PartialShape stack, BroadcastShapes(a.stack, b.stack));
  c.set_output(0, WithDims(std::move(stack), {a.rows, b.columns}));
  return absl::OkStatus();
}

absl::Status SetMatMul(ShapeContext& c, bool transpose_a, bool transpose_b) {
  RETURN_IF_ERROR(c.WithRank(0, 2).status());
  RETURN_IF_ERROR(c.WithRank(1, 2).status());
  ASSIGN_OR_RETURN(Matrices a, MatricesOf(c, 0, transpose_a));
  ASSIGN_OR_RETURN(Matrices b, MatricesOf(c, 1, transpose_b));
  a.stack = b.stack = PartialShape(Shape());
  return SetProduct(c, a, b);
}

absl::StatusOr<bool> Flag(const ShapeContext& c, absl::string_view name) {
  return c.attr<bool>(name);
}

// The labels of an equation's term, "..." as one label '.'.
std::string Labels(absl::string_view term) {
  std::string labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    labels.push_back(term[i]);
    if (term[i] == '.') i += 2;
  }
  return labels;
}

}  // namespace

absl::Status MatMul(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool transpose_a, Flag(c, "transpose_a"));
  ASSIGN_OR_RETURN(const bool transpose_b, Flag(c, "transpose_b"));
  return SetMatMul(c, transpose_a, transpose_b);
}

absl::Status QuantizedMatMul(ShapeContext& c) {
  RETURN_IF_ERROR(ScalarsAfterFirst(c));  // the minimum and the maximum
  return MatMul(c);
}

absl::Status BatchMatMul(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool transpose_x, Flag(c, "adj_x"));
  ASSIGN_OR_RETURN(const bool transpose_y, Flag(c, "adj_y"));
  ASSIGN_OR_RETURN(const Matrices x, MatricesOf(c, 0, transpose_x));
  ASSIGN_OR_RETURN(const Matrices y, MatricesOf(c, 1, transpose_y));
  return SetProduct(c, x, y);
}

absl::Status SparseTensorDenseMatMul(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool adjoint_a, Flag(c, "adjoint_a"));
  ASSIGN_OR_RETURN(const bool adjoint_b, Flag(c, "adjoint_b"));
  RETURN_IF_ERROR(c.WithRank(3, 2).status());
  ASSIGN_OR_RETURN(const Matrices b, MatricesOf(c, 3, adjoint_b));
  int64_t rows = -1;
  ASSIGN_OR_RETURN(const PartialShape a, c.ShapeInput(2));
  if (a.known_rank() && a.rank() == 2) rows = a.dim(adjoint_a ? 1 : 0);
  c.set_output(0, PartialShape({rows, b.columns}));
  return absl::OkStatus();
}

absl::Status Einsum(ShapeContext& c) {
  ASSIGN_OR_RETURN(const std::string equation, c.attr<std::string>("equation"));
  const std::vector<std::string> sides = absl::StrSplit(equation, "->");
  if (sides.size() != 2) return absl::InvalidArgumentError("the equation needs one '->'");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (static_cast<int>(terms.size()) != c.num_inputs()) {
    return absl::InvalidArgumentError("the equation needs a term for each input");
  }
  std::map<char, int64_t> sizes;
  PartialShape ellipsis{PartialShape(Shape())};
  for (int i = 0; i < c.num_inputs(); ++i) {
    const std::string labels = Labels(terms[i]);
    const PartialShape& shape = c.input(i);
    const bool has_ellipsis = absl::StrContains(labels, '.');
    if (!shape.known_rank()) {
      if (has_ellipsis) ellipsis = PartialShape();
      continue;
    }
    const int run = shape.rank() - static_cast<int>(labels.size()) + 1;
    if (has_ellipsis ? run < 0 : run != 1) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " of shape ", shape.ToString(),
                                                     " does not fit '", terms[i], "'"));
    }
    int dim = 0;
    for (char label : labels) {
      if (label == '.') {
        ASSIGN_OR_RETURN(ellipsis,
                         BroadcastShapes(ellipsis, PartialShape(shape.dims().subspan(dim, run))));
        dim += run;
        continue;
      }
      // A dimension of one element broadcasts.
      int64_t& size = sizes.emplace(label, -1).first->second;
      size = std::max(size, shape.dim(dim++));
    }
  }
  PartialShape out{PartialShape(Shape())};
  for (char label : Labels(sides[1])) {
    if (label != '.') {
      const auto size = sizes.find(label);
      out.AddDim(size == sizes.end() ? -1 : size->second);
    } else if (ellipsis.known_rank()) {
      for (int64_t dim : ellipsis.dims()) out.AddDim(dim);
    } else {
      return absl::OkStatus();
    }
  }
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status MatrixTriangularSolve(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Matrices matrix, MatricesOf(c, 0));
  ASSIGN_OR_RETURN(const Matrices rhs, MatricesOf(c, 1));
  return SetProduct(c, matrix, rhs);
}

absl::Status Eigen(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Matrices m, MatricesOf(c, 0));
  ASSIGN_OR_RETURN(const bool vectors, Flag(c, "compute_v"));
  const int64_t n = std::max(m.rows, m.columns);
  c.set_output(0, WithDims(m.stack, {n}));
  c.set_output(1, vectors ? WithDims(m.stack, {n, n}) : PartialShape({0}));
  return absl::OkStatus();
}

absl::Status Svd(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Matrices m, MatricesOf(c, 0));
  ASSIGN_OR_RETURN(const bool vectors, Flag(c, "compute_uv"));
  ASSIGN_OR_RETURN(const bool full, Flag(c, "full_matrices"));
  const int64_t p = m.rows < 0 || m.columns < 0 ? -1 : std::min(m.rows, m.columns);
  c.set_output(0, WithDims(m.stack, {p}));
  if (!vectors) {
    for (int i = 1; i < 3; ++i) c.set_output(i, PartialShape({0}));
    return absl::OkStatus();
  }
  c.set_output(1, WithDims(m.stack, {m.rows, full ? m.rows : p}));
  c.set_output(2, WithDims(m.stack, {m.columns, full ? m.columns : p}));
  return absl::OkStatus();
}

absl::Status Qr(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Matrices m, MatricesOf(c, 0));
  ASSIGN_OR_RETURN(const bool full, Flag(c, "full_matrices"));
  const int64_t p = m.rows < 0 || m.columns < 0 ? -1 : std::min(m.rows, m.columns);
  c.set_output(0, WithDims(m.stack, {m.rows, full ? m.rows : p}));
  c.set_output(1, WithDims(m.stack, {full ? m.rows : p, m.columns}));
  return absl::OkStatus();
}

}  // namespace shape
}  // namespace tessera
