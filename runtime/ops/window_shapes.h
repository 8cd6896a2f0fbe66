// Shape functions of the ops that slide a window over an image or a volume.
#pragma once

#include "runtime/framework/shape_inference.h"

namespace tessera {
namespace shape {

absl::Status Convolution(ShapeContext& c);           // Conv, Conv2D and Conv3D
absl::Status DepthwiseConvolution(ShapeContext& c);  // DepthwiseConv2dNative
// Input 0 has the sizes of the output, or those of its height and width alone; input 2 is the
// gradient.
absl::Status ConvolutionInputGradient(ShapeContext& c);
// Convolution with a minimum and a maximum for the output.
absl::Status QuantizedConvolution(ShapeContext& c);
// A convolution of an image that is padded, or resized and padded, before it: the sizes are unknown.
absl::Status PaddedConvolution(ShapeContext& c);
absl::Status Pool(ShapeContext& c);    // every output is input 0 pooled by attributes
// The same for MaxPoolWithArgmax, whose window over channels leaves them apart.
absl::Status PoolWithArgmax(ShapeContext& c);
absl::Status PoolV2(ShapeContext& c);  // ksize and strides are inputs 1 and 2
absl::Status QuantizedPool(ShapeContext& c);
absl::Status FractionalPool(ShapeContext& c);
absl::Status Dilation(ShapeContext& c);        // Dilation2D
absl::Status ExtractPatches(ShapeContext& c);  // of images and of volumes

}  // namespace shape
}  // namespace tessera
