// Images.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/window_shapes.h"

namespace tessera {

REGISTER_OP("AdjustContrast")
    .Input("images: T").Input("contrast_factor: float").Input("min_value: float")
    .Input("max_value: float").Output("output: float")
    .Attr("T: {uint8, int8, int16, int32, int64, float, double}").Deprecated(2)
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("AdjustContrastv2")
    .Input("images: T").Input("contrast_factor: float").Output("output: T")
    .Attr("T: {half, float} = float").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("AdjustHue")
    .Input("images: T").Input("delta: float").Output("output: T").Attr("T: {half, float} = float")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("AdjustSaturation")
    .Input("images: T").Input("scale: float").Output("output: T").Attr("T: {half, float} = float")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("CombinedNonMaxSuppression")
    .Input("boxes: float").Input("scores: float").Input("max_output_size_per_class: int32")
    .Input("max_total_size: int32").Input("iou_threshold: float").Input("score_threshold: float")
    .Output("nmsed_boxes: float").Output("nmsed_scores: float").Output("nmsed_classes: float")
    .Output("valid_detections: int32").Attr("pad_per_class: bool = false")
    .Attr("clip_boxes: bool = true")
    .ShapeFn(shape::Spec<"[b, n, ?, 4], [b, n, ?], [], [], [], [] -> [b, ?, 4], [b, ?], [b, ?], [b]">);
REGISTER_OP("CropAndResize")
    .Input("image: T").Input("boxes: float").Input("box_ind: int32").Input("crop_size: int32")
    .Output("crops: float")
    .Attr("T: {uint8, uint16, int8, int16, int32, int64, half, float, double}")
    .Attr("method: {'bilinear', 'nearest'} = 'bilinear'").Attr("extrapolation_value: float = 0")
    .ShapeFn(shape::Spec<"[?, ?, ?, c], [n, 4], [n], [2] -> [n, <3>, c]">);
REGISTER_OP("CropAndResizeGradBoxes")
    .Input("grads: float").Input("image: T").Input("boxes: float").Input("box_ind: int32")
    .Output("output: float")
    .Attr("T: {uint8, uint16, int8, int16, int32, int64, half, float, double}")
    .Attr("method: {'bilinear'} = 'bilinear'")
    .ShapeFn(shape::Spec<"[n, ?, ?, c], [?, ?, ?, c], [n, 4], [n] -> [n, 4]">);
REGISTER_OP("CropAndResizeGradImage")
    .Input("grads: float").Input("boxes: float").Input("box_ind: int32")
    .Input("image_size: int32").Output("output: T").Attr("T: {float, half, double}")
    .Attr("method: {'bilinear', 'nearest'} = 'bilinear'")
    .ShapeFn(shape::Spec<"[n, ?, ?, ?], [n, 4], [n], [4] -> [<3>]">);
REGISTER_OP("DecodeAndCropJpeg")
    .Input("contents: string").Input("crop_window: int32").Output("image: uint8")
    .Attr("channels: int = 0").Attr("ratio: int = 1").Attr("fancy_upscaling: bool = true")
    .Attr("try_recover_truncated: bool = false").Attr("acceptable_fraction: float = 1")
    .Attr("dct_method: string = ''").ShapeFn(shape::Spec<"[], [4] -> [?, ?, @channels]">);
REGISTER_OP("DecodeBmp")
    .Input("contents: string").Output("image: uint8").Attr("channels: int = 0")
    .ShapeFn(shape::Unknown);
REGISTER_OP("DecodeGif")
    .Input("contents: string").Output("image: uint8").ShapeFn(shape::Spec<"[] -> [?, ?, ?, 3]">);
REGISTER_OP("DecodeImage")
    .Input("contents: string").Output("image: dtype").Attr("channels: int = 0")
    .Attr("dtype: {uint8, uint16, float} = uint8").Attr("expand_animations: bool = true")
    .ShapeFn(shape::Unknown);
REGISTER_OP("DecodeJpeg")
    .Input("contents: string").Output("image: uint8").Attr("channels: int = 0")
    .Attr("ratio: int = 1").Attr("fancy_upscaling: bool = true")
    .Attr("try_recover_truncated: bool = false").Attr("acceptable_fraction: float = 1")
    .Attr("dct_method: string = ''").ShapeFn(shape::Spec<"[] -> [?, ?, @channels]">);
REGISTER_OP("DecodePng")
    .Input("contents: string").Output("image: dtype").Attr("channels: int = 0")
    .Attr("dtype: {uint8, uint16} = uint8").ShapeFn(shape::Spec<"[] -> [?, ?, @channels]">);
REGISTER_OP("DecodeWebP")
    .Input("contents: string").Output("image: dtype").Attr("channels: int = 0")
    .Attr("dtype: {uint8} = uint8").ShapeFn(shape::Unknown);
REGISTER_OP("DrawBoundingBoxes")
    .Input("images: T").Input("boxes: float").Output("output: T").Attr("T: {float, half} = float")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("DrawBoundingBoxesV2")
    .Input("images: T").Input("boxes: float").Input("colors: float").Output("output: T")
    .Attr("T: {float, half} = float").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("EncodeJpeg")
    .Input("image: uint8").Output("contents: string")
    .Attr("format: {'', 'grayscale', 'rgb'} = ''").Attr("quality: int = 95")
    .Attr("progressive: bool = false").Attr("optimize_size: bool = false")
    .Attr("chroma_downsampling: bool = true").Attr("density_unit: {'in', 'cm'} = 'in'")
    .Attr("x_density: int = 300").Attr("y_density: int = 300").Attr("xmp_metadata: string = ''")
    .ShapeFn(shape::Scalar);
REGISTER_OP("EncodeJpegVariableQuality")
    .Input("images: uint8").Input("quality: int32").Output("contents: string")
    .ShapeFn(shape::Scalar);
REGISTER_OP("EncodePng")
    .Input("image: T").Output("contents: string").Attr("compression: int = -1")
    .Attr("T: {uint8, uint16} = uint8").ShapeFn(shape::Spec<"[*b, ?, ?, ?] -> [*b]">);
REGISTER_OP("ExtractGlimpse")
    .Input("input: float").Input("size: int32").Input("offsets: float").Output("glimpse: float")
    .Attr("centered: bool = true").Attr("normalized: bool = true")
    .Attr("uniform_noise: bool = true").Attr("noise: string = 'uniform'")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [2], [b, 2] -> [b, <1>, c]">);
REGISTER_OP("ExtractGlimpseV2")
    .Input("input: float").Input("size: int32").Input("offsets: float").Output("glimpse: float")
    .Attr("centered: bool = true").Attr("normalized: bool = true")
    .Attr("uniform_noise: bool = true").Attr("noise: string = 'uniform'")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [2], [b, 2] -> [b, <1>, c]">);
REGISTER_OP("ExtractImagePatches")
    .Input("images: T").Output("patches: T").Attr("ksizes: list(int) >= 4")
    .Attr("strides: list(int) >= 4").Attr("rates: list(int) >= 4")
    .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, "
        "uint64, complex64, complex128, bool}")
    .Attr("padding: {'SAME', 'VALID'}").ShapeFn(shape::ExtractPatches);
REGISTER_OP("ExtractJpegShape")
    .Input("contents: string").Output("image_shape: output_type")
    .Attr("output_type: {int32, int64} = int32").ShapeFn(shape::Spec<"[] -> [3]">);
REGISTER_OP("FusedResizeAndPadConv2D")
    .Input("input: T").Input("size: int32").Input("paddings: int32").Input("filter: T")
    .Output("output: T").Attr("T: {half, float, double}")
    .Attr("resize_align_corners: bool = false").Attr("mode: {'REFLECT', 'SYMMETRIC'}")
    .Attr("strides: list(int)").Attr("padding: {'SAME', 'VALID'}")
    .ShapeFn(shape::PaddedConvolution);
REGISTER_OP("HSVToRGB")
    .Input("images: T").Output("output: T").Attr("T: {half, bfloat16, float, double} = float")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ImageProjectiveTransformV2")
    .Input("images: dtype").Input("transforms: float").Input("output_shape: int32")
    .Output("transformed_images: dtype")
    .Attr("dtype: {uint8, int32, int64, half, bfloat16, float, double}")
    .Attr("interpolation: string").Attr("fill_mode: string = 'CONSTANT'")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [?, 8], [2] -> [b, <2>, c]">);
REGISTER_OP("ImageProjectiveTransformV3")
    .Input("images: dtype").Input("transforms: float").Input("output_shape: int32")
    .Input("fill_value: float").Output("transformed_images: dtype")
    .Attr("dtype: {uint8, int32, int64, half, bfloat16, float, double}")
    .Attr("interpolation: string").Attr("fill_mode: string = 'CONSTANT'")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [?, 8], [2], [] -> [b, <2>, c]">);
REGISTER_OP("NonMaxSuppression")
    .Input("boxes: float").Input("scores: float").Input("max_output_size: int32")
    .Output("selected_indices: int32").Attr("iou_threshold: float = 0.5")
    .ShapeFn(shape::Spec<"[n, 4], [n], [] -> [?]">);
REGISTER_OP("NonMaxSuppressionV2")
    .Input("boxes: T").Input("scores: T").Input("max_output_size: int32")
    .Input("iou_threshold: T_threshold").Output("selected_indices: int32")
    .Attr("T: {half, float} = float").Attr("T_threshold: {half, float} = float")
    .ShapeFn(shape::Spec<"[n, 4], [n], [], [] -> [?]">);
REGISTER_OP("NonMaxSuppressionV3")
    .Input("boxes: T").Input("scores: T").Input("max_output_size: int32")
    .Input("iou_threshold: T_threshold").Input("score_threshold: T_threshold")
    .Output("selected_indices: int32").Attr("T: {half, float} = float")
    .Attr("T_threshold: {half, float} = float")
    .ShapeFn(shape::Spec<"[n, 4], [n], [], [], [] -> [?]">);
REGISTER_OP("NonMaxSuppressionV4")
    .Input("boxes: T").Input("scores: T").Input("max_output_size: int32")
    .Input("iou_threshold: T_threshold").Input("score_threshold: T_threshold")
    .Output("selected_indices: int32").Output("valid_outputs: int32")
    .Attr("T: {half, float} = float").Attr("T_threshold: {half, float} = float")
    .Attr("pad_to_max_output_size: bool = false")
    .ShapeFn(shape::Spec<"[n, 4], [n], [], [], [] -> [?], []">);
REGISTER_OP("NonMaxSuppressionV5")
    .Input("boxes: T").Input("scores: T").Input("max_output_size: int32")
    .Input("iou_threshold: T").Input("score_threshold: T").Input("soft_nms_sigma: T")
    .Output("selected_indices: int32").Output("selected_scores: T").Output("valid_outputs: int32")
    .Attr("T: {half, float} = float").Attr("pad_to_max_output_size: bool = false")
    .ShapeFn(shape::Spec<"[n, 4], [n], [], [], [], [] -> [?], [?], []">);
REGISTER_OP("NonMaxSuppressionWithOverlaps")
    .Input("overlaps: float").Input("scores: float").Input("max_output_size: int32")
    .Input("overlap_threshold: float").Input("score_threshold: float")
    .Output("selected_indices: int32").ShapeFn(shape::Spec<"[n, n], [n], [], [], [] -> [?]">);
REGISTER_OP("RGBToHSV")
    .Input("images: T").Output("output: T").Attr("T: {half, bfloat16, float, double} = float")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("RandomCrop")
    .Input("image: T").Input("size: int64").Output("output: T")
    .Attr("T: {uint8, int8, int16, int32, int64, float, double}").Attr("seed: int = 0")
    .Attr("seed2: int = 0").Stateful().Deprecated(8).Random()
    .ShapeFn(shape::Spec<"[?, ?, c], [2] -> [<1>, c]">);
REGISTER_OP("ResizeArea")
    .Input("images: T").Input("size: int32").Output("resized_images: float")
    .Attr("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}")
    .Attr("align_corners: bool = false").ShapeFn(shape::Spec<"[b, ?, ?, c], [2] -> [b, <1>, c]">);
REGISTER_OP("ResizeBicubic")
    .Input("images: T").Input("size: int32").Output("resized_images: float")
    .Attr("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}")
    .Attr("align_corners: bool = false").Attr("half_pixel_centers: bool = false")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [2] -> [b, <1>, c]">);
REGISTER_OP("ResizeBicubicGrad")
    .Input("grads: float").Input("original_image: T").Output("output: T")
    .Attr("T: {float, double}").Attr("align_corners: bool = false")
    .Attr("half_pixel_centers: bool = false")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [b, h, w, c] -> [b, h, w, c]">);
REGISTER_OP("ResizeBilinear")
    .Input("images: T").Input("size: int32").Output("resized_images: float")
    .Attr("T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double, bfloat16}")
    .Attr("align_corners: bool = false").Attr("half_pixel_centers: bool = false")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [2] -> [b, <1>, c]">);
REGISTER_OP("ResizeBilinearGrad")
    .Input("grads: float").Input("original_image: T").Output("output: T")
    .Attr("T: {float, bfloat16, half, double}").Attr("align_corners: bool = false")
    .Attr("half_pixel_centers: bool = false")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [b, h, w, c] -> [b, h, w, c]">);
REGISTER_OP("ResizeNearestNeighbor")
    .Input("images: T").Input("size: int32").Output("resized_images: T")
    .Attr("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}")
    .Attr("align_corners: bool = false").Attr("half_pixel_centers: bool = false")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [2] -> [b, <1>, c]">);
REGISTER_OP("ResizeNearestNeighborGrad")
    .Input("grads: T").Input("size: int32").Output("output: T")
    .Attr("T: {uint8, int8, int32, half, float, double, bfloat16}")
    .Attr("align_corners: bool = false").Attr("half_pixel_centers: bool = false")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [2] -> [b, <1>, c]">);
REGISTER_OP("SampleDistortedBoundingBox")
    .Input("image_size: T").Input("bounding_boxes: float").Output("begin: T").Output("size: T")
    .Output("bboxes: float").Attr("T: {uint8, int8, int16, int32, int64}").Attr("seed: int = 0")
    .Attr("seed2: int = 0").Attr("min_object_covered: float = 0.100000001")
    .Attr("aspect_ratio_range: list(float) = [0.75, 1.33000004]")
    .Attr("area_range: list(float) = [0.0500000007, 1]").Attr("max_attempts: int = 100")
    .Attr("use_image_if_no_bounding_boxes: bool = false").Stateful().Random()
    .ShapeFn(shape::Spec<"[3], [?, ?, 4] -> [3], [3], [1, 1, 4]">);
REGISTER_OP("SampleDistortedBoundingBoxV2")
    .Input("image_size: T").Input("bounding_boxes: float").Input("min_object_covered: float")
    .Output("begin: T").Output("size: T").Output("bboxes: float")
    .Attr("T: {uint8, int8, int16, int32, int64}").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("aspect_ratio_range: list(float) = [0.75, 1.33000004]")
    .Attr("area_range: list(float) = [0.0500000007, 1]").Attr("max_attempts: int = 100")
    .Attr("use_image_if_no_bounding_boxes: bool = false").Stateful().Random()
    .ShapeFn(shape::Spec<"[3], [?, ?, 4], [] -> [3], [3], [1, 1, 4]">);
REGISTER_OP("ScaleAndTranslate")
    .Input("images: T").Input("size: int32").Input("scale: float").Input("translation: float")
    .Output("resized_images: float")
    .Attr("T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}")
    .Attr("kernel_type: string = 'lanczos3'").Attr("antialias: bool = true")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [2], [2], [2] -> [b, <1>, c]">);
REGISTER_OP("ScaleAndTranslateGrad")
    .Input("grads: T").Input("original_image: T").Input("scale: float")
    .Input("translation: float").Output("output: T").Attr("T: {float}")
    .Attr("kernel_type: string = 'lanczos3'").Attr("antialias: bool = true")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [?, h, w, ?], [2], [2] -> [b, h, w, c]">);
REGISTER_OP("StatelessSampleDistortedBoundingBox")
    .Input("image_size: T").Input("bounding_boxes: float").Input("min_object_covered: float")
    .Input("seed: Tseed").Output("begin: T").Output("size: T").Output("bboxes: float")
    .Attr("T: {uint8, int8, int16, int32, int64}").Attr("Tseed: {int32, int64}")
    .Attr("aspect_ratio_range: list(float) = [0.75, 1.33000004]")
    .Attr("area_range: list(float) = [0.0500000007, 1]").Attr("max_attempts: int = 100")
    .Attr("use_image_if_no_bounding_boxes: bool = false")
    .ShapeFn(shape::Spec<"[3], [?, ?, 4], [], [2] -> [3], [3], [1, 1, 4]">);

}  // namespace tessera
