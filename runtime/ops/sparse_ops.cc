// Sparse tensors.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/component_shapes.h"
#include "runtime/ops/matrix_shapes.h"
#include "runtime/ops/reduction_shapes.h"

namespace tessera {

REGISTER_OP("AddSparseToTensorsMap")
    .Input("sparse_indices: int64").Input("sparse_values: T").Input("sparse_shape: int64")
    .Output("sparse_handle: int64").Attr("T: type").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().WritesOutside()
    .ShapeFn(shape::Spec<"[n, r], [n], [r] -> []">);
REGISTER_OP("AddManySparseToTensorsMap")
    .Input("sparse_indices: int64").Input("sparse_values: T").Input("sparse_shape: int64")
    .Output("sparse_handles: int64").Attr("T: type").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().WritesOutside()
    .ShapeFn(shape::Spec<"[n, r], [n], [r] -> [?]">);
REGISTER_OP("CSRSparseMatrixComponents")
    .Input("csr_sparse_matrix: variant").Input("index: int32").Output("row_ptrs: int32")
    .Output("col_inds: int32").Output("values: type")
    .Attr("type: {float, double, complex64, complex128}")
    .ShapeFn(shape::Spec<"_, [] -> [?], [n], [n]">);
REGISTER_OP("CSRSparseMatrixToDense")
    .Input("sparse_input: variant").Output("dense_output: type")
    .Attr("type: {float, double, complex64, complex128}").ShapeFn(shape::Spec<"_ -> _">);
REGISTER_OP("CSRSparseMatrixToSparseTensor")
    .Input("sparse_matrix: variant").Output("indices: int64").Output("values: type")
    .Output("dense_shape: int64").Attr("type: {float, double, complex64, complex128}")
    .ShapeFn(shape::Spec<"_ -> [n, ?], [n], [?]">);
REGISTER_OP("DenseCountSparseOutput")
    .Input("values: T").Input("weights: output_type").Output("output_indices: int64")
    .Output("output_values: output_type").Output("output_dense_shape: int64")
    .Attr("T: {int32, int64}").Attr("minlength: int >= -1 = -1").Attr("maxlength: int >= -1 = -1")
    .Attr("binary_output: bool").Attr("output_type: {int32, int64, float, double}")
    .ShapeFn(shape::Spec<"_, _ -> [n, ?], [n], [?]">);
REGISTER_OP("DenseToCSRSparseMatrix")
    .Input("dense_input: T").Input("indices: int64").Output("sparse_output: variant")
    .Attr("T: {float, double, complex64, complex128}").ShapeFn(shape::Spec<"_, [?, ?] -> []">);
REGISTER_OP("DenseToDenseSetOperation")
    .Input("set1: T").Input("set2: T").Output("result_indices: int64").Output("result_values: T")
    .Output("result_shape: int64").Attr("set_operation: string")
    .Attr("validate_indices: bool = true")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
    .ShapeFn(shape::Spec<"_, _ -> [n, ?], [n], [?]">);
REGISTER_OP("DenseToSparseSetOperation")
    .Input("set1: T").Input("set2_indices: int64").Input("set2_values: T")
    .Input("set2_shape: int64").Output("result_indices: int64").Output("result_values: T")
    .Output("result_shape: int64").Attr("set_operation: string")
    .Attr("validate_indices: bool = true")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
    .ShapeFn(shape::Spec<"_, [n, r], [n], [r] -> [?, ?], [?], [?]">);
REGISTER_OP("DeserializeManySparse")
    .Input("serialized_sparse: string").Output("sparse_indices: int64")
    .Output("sparse_values: dtype").Output("sparse_shape: int64").Attr("dtype: type")
    .ShapeFn(shape::Spec<"[?, 3] -> [?, ?], [?], [?]">);
REGISTER_OP("DeserializeSparse")
    .Input("serialized_sparse: Tserialized").Output("sparse_indices: int64")
    .Output("sparse_values: dtype").Output("sparse_shape: int64").Attr("dtype: type")
    .Attr("Tserialized: {string, variant} = string")
    .ShapeFn(shape::Spec<"[*s, 3] -> [?, ?], [?], [?]">);
REGISTER_OP("EditDistance")
    .Input("hypothesis_indices: int64").Input("hypothesis_values: T")
    .Input("hypothesis_shape: int64").Input("truth_indices: int64").Input("truth_values: T")
    .Input("truth_shape: int64").Output("output: float").Attr("normalize: bool = true")
    .Attr("T: type").ShapeFn(shape::Spec<"[h, r], [h], [r], [t, r], [t], [r] -> _">);
REGISTER_OP("SdcaFprint")
    .Input("input: string").Output("output: int64").ShapeFn(shape::Spec<"[n] -> [n, 2]">);
REGISTER_OP("SerializeManySparse")
    .Input("sparse_indices: int64").Input("sparse_values: T").Input("sparse_shape: int64")
    .Output("serialized_sparse: out_type").Attr("T: type")
    .Attr("out_type: {string, variant} = string")
    .ShapeFn(shape::Spec<"[n, r], [n], [r] -> [?, 3]">);
REGISTER_OP("SerializeSparse")
    .Input("sparse_indices: int64").Input("sparse_values: T").Input("sparse_shape: int64")
    .Output("serialized_sparse: out_type").Attr("T: type")
    .Attr("out_type: {string, variant} = string").ShapeFn(shape::Spec<"[?, ?], [?], [?] -> [3]">);
REGISTER_OP("SetSize")
    .Input("set_indices: int64").Input("set_values: T").Input("set_shape: int64")
    .Output("size: int32").Attr("validate_indices: bool = true")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
    .ShapeFn(shape::Spec<"[n, r], [n], [r] -> _">);
REGISTER_OP("SparseAdd")
    .Input("a_indices: int64").Input("a_values: T").Input("a_shape: int64")
    .Input("b_indices: int64").Input("b_values: T").Input("b_shape: int64").Input("thresh: Treal")
    .Output("sum_indices: int64").Output("sum_values: T").Output("sum_shape: int64")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Treal: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
        "uint32, uint64}")
    .ShapeFn(shape::Spec<"[n, r], [n], [r], [m, r], [m], [r], [] -> [?, r], [?], [r]">);
REGISTER_OP("SparseAddGrad")
    .Input("backprop_val_grad: T").Input("a_indices: int64").Input("b_indices: int64")
    .Input("sum_indices: int64").Output("a_val_grad: T").Output("b_val_grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .ShapeFn(shape::Spec<"[?], [n, r], [m, r], [?, r] -> [n], [m]">);
REGISTER_OP("SparseBincount")
    .Input("indices: int64").Input("values: Tidx").Input("dense_shape: int64").Input("size: Tidx")
    .Input("weights: T").Output("output: T").Attr("Tidx: {int32, int64}")
    .Attr("T: {int32, int64, float, double}").Attr("binary_output: bool = false")
    .ShapeFn(shape::SparseBincount);
REGISTER_OP("SparseConcat")
    .Input("indices: N * int64").Input("values: N * T").Input("shapes: N * int64")
    .Output("output_indices: int64").Output("output_values: T").Output("output_shape: int64")
    .Attr("concat_dim: int").Attr("N: int >= 2").Attr("T: type").ShapeFn(shape::SparseConcat);
REGISTER_OP("SparseCountSparseOutput")
    .Input("indices: int64").Input("values: T").Input("dense_shape: int64")
    .Input("weights: output_type").Output("output_indices: int64")
    .Output("output_values: output_type").Output("output_dense_shape: int64")
    .Attr("T: {int32, int64}").Attr("minlength: int >= -1 = -1").Attr("maxlength: int >= -1 = -1")
    .Attr("binary_output: bool").Attr("output_type: {int32, int64, float, double}")
    .ShapeFn(shape::Spec<"[n, r], [n], [r], _ -> [?, ?], [?], [?]">);
REGISTER_OP("SparseCross")
    .Input("indices: N * int64").Input("values: sparse_types").Input("shapes: N * int64")
    .Input("dense_inputs: dense_types").Output("output_indices: int64")
    .Output("output_values: out_type").Output("output_shape: int64").Attr("N: int >= 0")
    .Attr("hashed_output: bool").Attr("num_buckets: int >= 0").Attr("hash_key: int")
    .Attr("sparse_types: list({int64, string}) >= 0")
    .Attr("dense_types: list({int64, string}) >= 0").Attr("out_type: {int64, string}")
    .Attr("internal_type: {int64, string}").ShapeFn(shape::Spec<"_... -> [?, 2], [?], [2]">);
REGISTER_OP("SparseCrossHashed")
    .Input("indices: N * int64").Input("values: sparse_types").Input("shapes: N * int64")
    .Input("dense_inputs: dense_types").Input("num_buckets: int64").Input("strong_hash: bool")
    .Input("salt: int64").Output("output_indices: int64").Output("output_values: int64")
    .Output("output_shape: int64").Attr("N: int >= 0")
    .Attr("sparse_types: list({int64, string}) >= 0")
    .Attr("dense_types: list({int64, string}) >= 0")
    .ShapeFn(shape::Spec<"_... -> [?, 2], [?], [2]">);
REGISTER_OP("SparseCrossV2")
    .Input("indices: N * int64").Input("values: sparse_types").Input("shapes: N * int64")
    .Input("dense_inputs: dense_types").Input("sep: string").Output("output_indices: int64")
    .Output("output_values: string").Output("output_shape: int64").Attr("N: int >= 0")
    .Attr("sparse_types: list({int64, string}) >= 0")
    .Attr("dense_types: list({int64, string}) >= 0")
    .ShapeFn(shape::Spec<"_... -> [?, 2], [?], [2]">);
REGISTER_OP("SparseDenseCwiseAdd")
    .Input("sp_indices: int64").Input("sp_values: T").Input("sp_shape: int64").Input("dense: T")
    .Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .ShapeFn(shape::Spec<"[n, r], [n], [r], _ -> [n]">);
REGISTER_OP("SparseDenseCwiseDiv")
    .Input("sp_indices: int64").Input("sp_values: T").Input("sp_shape: int64").Input("dense: T")
    .Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .ShapeFn(shape::Spec<"[n, r], [n], [r], _ -> [n]">);
REGISTER_OP("SparseDenseCwiseMul")
    .Input("sp_indices: int64").Input("sp_values: T").Input("sp_shape: int64").Input("dense: T")
    .Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .ShapeFn(shape::Spec<"[n, r], [n], [r], _ -> [n]">);
REGISTER_OP("SparseFillEmptyRows")
    .Input("indices: int64").Input("values: T").Input("dense_shape: int64")
    .Input("default_value: T").Output("output_indices: int64").Output("output_values: T")
    .Output("empty_row_indicator: bool").Output("reverse_index_map: int64").Attr("T: type")
    .ShapeFn(shape::Spec<"[?, r], [?], [r], [] -> [?, r], [?], [?], [?]">);
REGISTER_OP("SparseFillEmptyRowsGrad")
    .Input("reverse_index_map: int64").Input("grad_values: T").Output("d_values: T")
    .Output("d_default_value: T").Attr("T: type").ShapeFn(shape::Spec<"[n], [?] -> [n], []">);
REGISTER_OP("SparseMatMul")
    .Input("a: Ta").Input("b: Tb").Output("product: float").Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false").Attr("a_is_sparse: bool = false")
    .Attr("b_is_sparse: bool = false").Attr("Ta: {float, bfloat16} = float")
    .Attr("Tb: {float, bfloat16} = float").ShapeFn(shape::MatMul);
REGISTER_OP("SparseMatrixMatMul")
    .Input("a: variant").Input("b: T").Output("output: T").Attr("T: type")
    .Attr("transpose_a: bool = false").Attr("transpose_b: bool = false")
    .Attr("adjoint_a: bool = false").Attr("adjoint_b: bool = false")
    .Attr("transpose_output: bool = false").Attr("conjugate_output: bool = false")
    .ShapeFn(shape::Spec<"_, _ -> _">);
REGISTER_OP("SparseMatrixNNZ")
    .Input("sparse_matrix: variant").Output("nnz: int32").ShapeFn(shape::Unknown);
REGISTER_OP("SparseMatrixOrderingAMD")
    .Input("input: variant").Output("output: int32").ShapeFn(shape::Unknown);
REGISTER_OP("SparseMatrixSparseCholesky")
    .Input("input: variant").Input("permutation: int32").Output("output: variant")
    .Attr("type: {float, double, complex64, complex128}").ShapeFn(shape::Spec<"[], _ -> []">);
REGISTER_OP("SparseMatrixSparseMatMul")
    .Input("a: variant").Input("b: variant").Output("c: variant")
    .Attr("type: {float, double, complex64, complex128}").Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false").Attr("adjoint_a: bool = false")
    .Attr("adjoint_b: bool = false").ShapeFn(shape::Spec<"_, _ -> []">);
REGISTER_OP("SparseMatrixTranspose")
    .Input("input: variant").Output("output: variant").Attr("conjugate: bool = false")
    .Attr("type: {float, double, complex64, complex128}").ShapeFn(shape::Spec<"_ -> []">);
REGISTER_OP("SparseReduceMax")
    .Input("input_indices: int64").Input("input_values: T").Input("input_shape: int64")
    .Input("reduction_axes: int32").Output("output: T").Attr("keep_dims: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").ShapeFn(shape::Unknown);
REGISTER_OP("SparseReduceMaxSparse")
    .Input("input_indices: int64").Input("input_values: T").Input("input_shape: int64")
    .Input("reduction_axes: int32").Output("output_indices: int64").Output("output_values: T")
    .Output("output_shape: int64").Attr("keep_dims: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").ShapeFn(shape::Spec<"[n, r], [n], [r], _ -> [?, ?], [?], [?]">);
REGISTER_OP("SparseReduceSum")
    .Input("input_indices: int64").Input("input_values: T").Input("input_shape: int64")
    .Input("reduction_axes: int32").Output("output: T").Attr("keep_dims: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .ShapeFn(shape::Unknown);
REGISTER_OP("SparseReduceSumSparse")
    .Input("input_indices: int64").Input("input_values: T").Input("input_shape: int64")
    .Input("reduction_axes: int32").Output("output_indices: int64").Output("output_values: T")
    .Output("output_shape: int64").Attr("keep_dims: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .ShapeFn(shape::Spec<"[n, r], [n], [r], _ -> [?, ?], [?], [?]">);
REGISTER_OP("SparseReorder")
    .Input("input_indices: int64").Input("input_values: T").Input("input_shape: int64")
    .Output("output_indices: int64").Output("output_values: T").Attr("T: type")
    .ShapeFn(shape::Spec<"[n, r], [n], [r] -> [n, r], [n]">);
REGISTER_OP("SparseReshape")
    .Input("input_indices: int64").Input("input_shape: int64").Input("new_shape: int64")
    .Output("output_indices: int64").Output("output_shape: int64")
    .ShapeFn(shape::Spec<"[n, ?], [?], [r] -> [n, r], [r]">);
REGISTER_OP("SparseSegmentMean")
    .Input("data: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids").Output("output: T")
    .Attr("T: {bfloat16, half, float, double}").Attr("Tidx: {int32, int64} = int32")
    .Attr("Tsegmentids: {int32, int64} = int32").Attr("sparse_gradient: bool = false")
    .ShapeFn(shape::Spec<"[?, *r], [n], [n] -> [?, *r]">);
REGISTER_OP("SparseSegmentMeanGrad")
    .Input("grad: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids")
    .Input("output_dim0: int32").Output("output: T").Attr("T: {bfloat16, half, float, double}")
    .Attr("Tidx: {int32, int64} = int32").Attr("Tsegmentids: {int32, int64} = int32")
    .ShapeFn(shape::Spec<"[?, *r], [n], [n], [] -> [$3, *r]">);
REGISTER_OP("SparseSegmentMeanGradV2")
    .Input("grad: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids")
    .Input("dense_output_dim0: int32").Output("output: T").Output("sorted_unique_indices: Tidx")
    .Attr("T: {bfloat16, half, float, double}").Attr("Tidx: {int32, int64} = int32")
    .Attr("Tsegmentids: {int32, int64} = int32")
    .ShapeFn(shape::Spec<"[?, *r], [n], [n], [] -> [?, *r], [?]">);
REGISTER_OP("SparseSegmentMeanWithNumSegments")
    .Input("data: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids")
    .Input("num_segments: Tnumsegments").Output("output: T")
    .Attr("T: {bfloat16, half, float, double}").Attr("Tidx: {int32, int64} = int32")
    .Attr("Tnumsegments: {int32, int64} = int32").Attr("Tsegmentids: {int32, int64} = int32")
    .Attr("sparse_gradient: bool = false")
    .ShapeFn(shape::Spec<"[?, *r], [n], [n], [] -> [$3, *r]">);
REGISTER_OP("SparseSegmentSqrtN")
    .Input("data: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids").Output("output: T")
    .Attr("T: {bfloat16, half, float, double}").Attr("Tidx: {int32, int64} = int32")
    .Attr("Tsegmentids: {int32, int64} = int32").Attr("sparse_gradient: bool = false")
    .ShapeFn(shape::Spec<"[?, *r], [n], [n] -> [?, *r]">);
REGISTER_OP("SparseSegmentSqrtNGrad")
    .Input("grad: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids")
    .Input("output_dim0: int32").Output("output: T").Attr("T: {bfloat16, half, float, double}")
    .Attr("Tidx: {int32, int64} = int32").Attr("Tsegmentids: {int32, int64} = int32")
    .ShapeFn(shape::Spec<"[?, *r], [n], [n], [] -> [$3, *r]">);
REGISTER_OP("SparseSegmentSqrtNGradV2")
    .Input("grad: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids")
    .Input("dense_output_dim0: int32").Output("output: T").Output("sorted_unique_indices: Tidx")
    .Attr("T: {bfloat16, half, float, double}").Attr("Tidx: {int32, int64} = int32")
    .Attr("Tsegmentids: {int32, int64} = int32")
    .ShapeFn(shape::Spec<"[?, *r], [n], [n], [] -> [?, *r], [?]">);
REGISTER_OP("SparseSegmentSqrtNWithNumSegments")
    .Input("data: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids")
    .Input("num_segments: Tnumsegments").Output("output: T")
    .Attr("T: {bfloat16, half, float, double}").Attr("Tidx: {int32, int64} = int32")
    .Attr("Tnumsegments: {int32, int64} = int32").Attr("Tsegmentids: {int32, int64} = int32")
    .Attr("sparse_gradient: bool = false")
    .ShapeFn(shape::Spec<"[?, *r], [n], [n], [] -> [$3, *r]">);
REGISTER_OP("SparseSegmentSum")
    .Input("data: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("Tidx: {int32, int64} = int32").Attr("Tsegmentids: {int32, int64} = int32")
    .Attr("sparse_gradient: bool = false").ShapeFn(shape::Spec<"[?, *r], [n], [n] -> [?, *r]">);
REGISTER_OP("SparseSegmentSumGrad")
    .Input("grad: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids")
    .Input("output_dim0: int32").Output("output: T").Attr("T: {bfloat16, half, float, double}")
    .Attr("Tidx: {int32, int64} = int32").Attr("Tsegmentids: {int32, int64} = int32")
    .ShapeFn(shape::Spec<"[?, *r], [n], [n], [] -> [$3, *r]">);
REGISTER_OP("SparseSegmentSumGradV2")
    .Input("grad: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids")
    .Input("dense_output_dim0: int32").Output("output: T").Output("sorted_unique_indices: Tidx")
    .Attr("T: {bfloat16, half, float, double}").Attr("Tidx: {int32, int64} = int32")
    .Attr("Tsegmentids: {int32, int64} = int32")
    .ShapeFn(shape::Spec<"[?, *r], [n], [n], [] -> [?, *r], [?]">);
REGISTER_OP("SparseSegmentSumWithNumSegments")
    .Input("data: T").Input("indices: Tidx").Input("segment_ids: Tsegmentids")
    .Input("num_segments: Tnumsegments").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("Tidx: {int32, int64} = int32").Attr("Tnumsegments: {int32, int64} = int32")
    .Attr("Tsegmentids: {int32, int64} = int32").Attr("sparse_gradient: bool = false")
    .ShapeFn(shape::Spec<"[?, *r], [n], [n], [] -> [$3, *r]">);
REGISTER_OP("SparseSlice")
    .Input("indices: int64").Input("values: T").Input("shape: int64").Input("start: int64")
    .Input("size: int64").Output("output_indices: int64").Output("output_values: T")
    .Output("output_shape: int64").Attr("T: type")
    .ShapeFn(shape::Spec<"[n, r], [n], [r], [r], [r] -> [?, r], [?], [r]">);
REGISTER_OP("SparseSliceGrad")
    .Input("backprop_val_grad: T").Input("input_indices: int64").Input("input_start: int64")
    .Input("output_indices: int64").Output("val_grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .ShapeFn(shape::Spec<"[?], [n, r], [r], [?, r] -> [n]">);
REGISTER_OP("SparseSoftmax")
    .Input("sp_indices: int64").Input("sp_values: T").Input("sp_shape: int64").Output("output: T")
    .Attr("T: {half, float, double}").ShapeFn(shape::Spec<"[n, r], [n], [r] -> [n]">);
REGISTER_OP("SparseSoftmaxCrossEntropyWithLogits")
    .Input("features: T").Input("labels: Tlabels").Output("loss: T").Output("backprop: T")
    .Attr("T: {half, bfloat16, float, double}").Attr("Tlabels: {int32, int64} = int64")
    .ShapeFn(shape::Spec<"[b, k], [b] -> [b], [b, k]">);
REGISTER_OP("SparseSparseMaximum")
    .Input("a_indices: int64").Input("a_values: T").Input("a_shape: int64")
    .Input("b_indices: int64").Input("b_values: T").Input("b_shape: int64")
    .Output("output_indices: int64").Output("output_values: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").ShapeFn(shape::Spec<"[n, r], [n], [r], [m, r], [m], [r] -> [?, r], [?]">);
REGISTER_OP("SparseSparseMinimum")
    .Input("a_indices: int64").Input("a_values: T").Input("a_shape: int64")
    .Input("b_indices: int64").Input("b_values: T").Input("b_shape: int64")
    .Output("output_indices: int64").Output("output_values: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .ShapeFn(shape::Spec<"[n, r], [n], [r], [m, r], [m], [r] -> [?, r], [?]">);
REGISTER_OP("SparseSplit")
    .Input("split_dim: int64").Input("indices: int64").Input("values: T").Input("shape: int64")
    .Output("output_indices: num_split * int64").Output("output_values: num_split * T")
    .Output("output_shape: num_split * int64").Attr("num_split: int >= 1").Attr("T: type")
    .ShapeFn(shape::SparseSplit);
REGISTER_OP("SparseTensorDenseAdd")
    .Input("a_indices: Tindices").Input("a_values: T").Input("a_shape: Tindices").Input("b: T")
    .Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").ShapeFn(shape::Spec<"[n, r], [n], [r], [*s] -> [*s]">);
REGISTER_OP("SparseTensorDenseMatMul")
    .Input("a_indices: Tindices").Input("a_values: T").Input("a_shape: int64").Input("b: T")
    .Output("product: T").Attr("T: type").Attr("Tindices: {int32, int64} = int64")
    .Attr("adjoint_a: bool = false").Attr("adjoint_b: bool = false")
    .ShapeFn(shape::SparseTensorDenseMatMul);
REGISTER_OP("SparseTensorToCSRSparseMatrix")
    .Input("indices: int64").Input("values: T").Input("dense_shape: int64")
    .Output("sparse_matrix: variant").Attr("T: {float, double, complex64, complex128}")
    .ShapeFn(shape::Spec<"[n, r], [n], [r] -> []">);
REGISTER_OP("SparseToDense")
    .Input("sparse_indices: Tindices").Input("output_shape: Tindices").Input("sparse_values: T")
    .Input("default_value: T").Output("dense: T").Attr("validate_indices: bool = true")
    .Attr("T: type").Attr("Tindices: {int32, int64}")
    .ShapeFn(shape::Spec<"_, [?], _, [] -> [<1>]">);
REGISTER_OP("SparseToSparseSetOperation")
    .Input("set1_indices: int64").Input("set1_values: T").Input("set1_shape: int64")
    .Input("set2_indices: int64").Input("set2_values: T").Input("set2_shape: int64")
    .Output("result_indices: int64").Output("result_values: T").Output("result_shape: int64")
    .Attr("set_operation: string").Attr("validate_indices: bool = true")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
    .ShapeFn(shape::Spec<"[n, r], [n], [r], [m, r], [m], [r] -> [?, r], [?], [r]">);
REGISTER_OP("TakeManySparseFromTensorsMap")
    .Input("sparse_handles: int64").Output("sparse_indices: int64").Output("sparse_values: dtype")
    .Output("sparse_shape: int64").Attr("dtype: type").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Stateful().ReadsOutside().WritesOutside()
    .ShapeFn(shape::Spec<"[?] -> [n, ?], [n], [?]">);

}  // namespace tessera
