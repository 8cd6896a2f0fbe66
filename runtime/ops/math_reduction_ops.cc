// Reductions, scans, segments, histograms.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/reduction_shapes.h"

namespace tessera {

REGISTER_OP("All")
    .Input("input: bool").Input("reduction_indices: Tidx").Output("output: bool")
    .Attr("keep_dims: bool = false").Attr("Tidx: {int32, int64} = int32")
    .ShapeFn(shape::Reduction);
REGISTER_OP("Any")
    .Input("input: bool").Input("reduction_indices: Tidx").Output("output: bool")
    .Attr("keep_dims: bool = false").Attr("Tidx: {int32, int64} = int32")
    .ShapeFn(shape::Reduction);
REGISTER_OP("ArgMax")
    .Input("input: T").Input("dimension: Tidx").Output("output: output_type")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64, qint8, quint8, qint32, qint16, quint16, bool}")
    .Attr("Tidx: {int16, int32, int64} = int32")
    .Attr("output_type: {int16, uint16, int32, int64} = int64").ShapeFn(shape::ArgMax);
REGISTER_OP("ArgMin")
    .Input("input: T").Input("dimension: Tidx").Output("output: output_type")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64, qint8, quint8, qint32, qint16, quint16, bool}")
    .Attr("Tidx: {int32, int64} = int32").Attr("output_type: {int32, int64} = int64")
    .ShapeFn(shape::ArgMax);
REGISTER_OP("Bincount")
    .Input("arr: int32").Input("size: int32").Input("weights: T").Output("bins: T")
    .Attr("T: {int32, int64, float, double}").ShapeFn(shape::Spec<"_, [], _ -> [$1]">);
REGISTER_OP("Bucketize")
    .Input("input: T").Output("output: int32").Attr("T: {int32, int64, float, double}")
    .Attr("boundaries: list(float)").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Cumprod")
    .Input("x: T").Input("axis: Tidx").Output("out: T").Attr("exclusive: bool = false")
    .Attr("reverse: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Cumsum")
    .Input("x: T").Input("axis: Tidx").Output("out: T").Attr("exclusive: bool = false")
    .Attr("reverse: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("CumulativeLogsumexp")
    .Input("x: T").Input("axis: Tidx").Output("out: T").Attr("exclusive: bool = false")
    .Attr("reverse: bool = false").Attr("T: {bfloat16, half, float, double}")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("DenseBincount")
    .Input("input: Tidx").Input("size: Tidx").Input("weights: T").Output("output: T")
    .Attr("Tidx: {int32, int64}").Attr("T: {int32, int64, float, double}")
    .Attr("binary_output: bool = false").ShapeFn(shape::DenseBincount);
REGISTER_OP("EuclideanNorm")
    .Input("input: T").Input("reduction_indices: Tidx").Output("output: T")
    .Attr("keep_dims: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::Reduction);
REGISTER_OP("HistogramFixedWidth")
    .Input("values: T").Input("value_range: T").Input("nbins: int32").Output("out: dtype")
    .Attr("T: {int32, int64, float, double}").Attr("dtype: {int32, int64} = int32")
    .ShapeFn(shape::Spec<"_, [2], [] -> [$2]">);
REGISTER_OP("Max")
    .Input("input: T").Input("reduction_indices: Tidx").Output("output: T")
    .Attr("keep_dims: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64, qint8, quint8, qint32, qint16, quint16}")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::Reduction);
REGISTER_OP("Mean")
    .Input("input: T").Input("reduction_indices: Tidx").Output("output: T")
    .Attr("keep_dims: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::Reduction);
REGISTER_OP("Min")
    .Input("input: T").Input("reduction_indices: Tidx").Output("output: T")
    .Attr("keep_dims: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64, qint8, quint8, qint32, qint16, quint16}")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::Reduction);
REGISTER_OP("Prod")
    .Input("input: T").Input("reduction_indices: Tidx").Output("output: T")
    .Attr("keep_dims: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::Reduction);
REGISTER_OP("SegmentMax")
    .Input("data: T").Input("segment_ids: Tindices").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("Tindices: {int32, int64}").ShapeFn(shape::Spec<"[n, *r], [n] -> [?, *r]">);
REGISTER_OP("SegmentMean")
    .Input("data: T").Input("segment_ids: Tindices").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").ShapeFn(shape::Spec<"[n, *r], [n] -> [?, *r]">);
REGISTER_OP("SegmentMin")
    .Input("data: T").Input("segment_ids: Tindices").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("Tindices: {int32, int64}").ShapeFn(shape::Spec<"[n, *r], [n] -> [?, *r]">);
REGISTER_OP("SegmentProd")
    .Input("data: T").Input("segment_ids: Tindices").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").ShapeFn(shape::Spec<"[n, *r], [n] -> [?, *r]">);
REGISTER_OP("SegmentSum")
    .Input("data: T").Input("segment_ids: Tindices").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").ShapeFn(shape::Spec<"[n, *r], [n] -> [?, *r]">);
REGISTER_OP("Sum")
    .Input("input: T").Input("reduction_indices: Tidx").Output("output: T")
    .Attr("keep_dims: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::Reduction);
REGISTER_OP("UnsortedSegmentMax")
    .Input("data: T").Input("segment_ids: Tindices").Input("num_segments: Tnumsegments")
    .Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("Tindices: {int32, int64}").Attr("Tnumsegments: {int32, int64} = int32")
    .ShapeFn(shape::UnsortedSegment);
REGISTER_OP("UnsortedSegmentMin")
    .Input("data: T").Input("segment_ids: Tindices").Input("num_segments: Tnumsegments")
    .Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("Tindices: {int32, int64}").Attr("Tnumsegments: {int32, int64} = int32")
    .ShapeFn(shape::UnsortedSegment);
REGISTER_OP("UnsortedSegmentProd")
    .Input("data: T").Input("segment_ids: Tindices").Input("num_segments: Tnumsegments")
    .Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("Tnumsegments: {int32, int64} = int32")
    .ShapeFn(shape::UnsortedSegment);
REGISTER_OP("UnsortedSegmentSum")
    .Input("data: T").Input("segment_ids: Tindices").Input("num_segments: Tnumsegments")
    .Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int16, int32, int64}").Attr("Tnumsegments: {int32, int64} = int32")
    .ShapeFn(shape::UnsortedSegment);

}  // namespace tessera
