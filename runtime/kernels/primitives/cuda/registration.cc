#include "runtime/kernels/primitives/cuda/registration.h"

#include "runtime/kernels/primitives/activate.h"
#include "runtime/kernels/primitives/add_n.h"
#include "runtime/kernels/primitives/advance_generator.h"
#include "runtime/kernels/primitives/all_reduce.h"
#include "runtime/kernels/primitives/arg_max.h"
#include "runtime/kernels/primitives/arithmetic_sequence.h"
#include "runtime/kernels/primitives/attention.h"
#include "runtime/kernels/primitives/band_part.h"
#include "runtime/kernels/primitives/batch_norm.h"
#include "runtime/kernels/primitives/bincount.h"
#include "runtime/kernels/primitives/cast.h"
#include "runtime/kernels/primitives/channel_norm.h"
#include "runtime/kernels/primitives/choose.h"
#include "runtime/kernels/primitives/convolution.h"
#include "runtime/kernels/primitives/convolution_gradient.h"
#include "runtime/kernels/primitives/cross_entropy.h"
#include "runtime/kernels/primitives/dilation.h"
#include "runtime/kernels/primitives/elementwise.h"
#include "runtime/kernels/primitives/embedding_sum.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/fill_empty_rows.h"
#include "runtime/kernels/primitives/find_unique.h"
#include "runtime/kernels/primitives/fourier.h"
#include "runtime/kernels/primitives/fused_elementwise.h"
#include "runtime/kernels/primitives/gather.h"
#include "runtime/kernels/primitives/histogram.h"
#include "runtime/kernels/primitives/key_of_seeds.h"
#include "runtime/kernels/primitives/layer_norm.h"
#include "runtime/kernels/primitives/local_response.h"
#include "runtime/kernels/primitives/matmul.h"
#include "runtime/kernels/primitives/multinomial.h"
#include "runtime/kernels/primitives/nearest_pixels.h"
#include "runtime/kernels/primitives/non_max_suppression.h"
#include "runtime/kernels/primitives/non_zero.h"
#include "runtime/kernels/primitives/one_hot.h"
#include "runtime/kernels/primitives/optimizer_update.h"
#include "runtime/kernels/primitives/pooling.h"
#include "runtime/kernels/primitives/random_fill.h"
#include "runtime/kernels/primitives/ravel_multi_index.h"
#include "runtime/kernels/primitives/reduce.h"
#include "runtime/kernels/primitives/resample.h"
#include "runtime/kernels/primitives/reshape_indices.h"
#include "runtime/kernels/primitives/scaled_weights.h"
#include "runtime/kernels/primitives/scan.h"
#include "runtime/kernels/primitives/scatter.h"
#include "runtime/kernels/primitives/segment_lookup.h"
#include "runtime/kernels/primitives/segment_reduce.h"
#include "runtime/kernels/primitives/separable_block.h"
#include "runtime/kernels/primitives/softmax.h"
#include "runtime/kernels/primitives/sort.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera::cuda {

template <typename P>
CudaPrimitiveRegistration<P>::CudaPrimitiveRegistration(typename P::Function* function) {
  PrimitiveImplementations<P>::Add(kDeviceType, function);
}

template struct CudaPrimitiveRegistration<Activate>;
template struct CudaPrimitiveRegistration<AddN>;
template struct CudaPrimitiveRegistration<AdvanceGenerator>;
template struct CudaPrimitiveRegistration<AllReduce>;
template struct CudaPrimitiveRegistration<ArgMax>;
template struct CudaPrimitiveRegistration<ArgmaxPoolGradient>;
template struct CudaPrimitiveRegistration<ArithmeticSequence>;
template struct CudaPrimitiveRegistration<Attention>;
template struct CudaPrimitiveRegistration<AveragePool>;
template struct CudaPrimitiveRegistration<AveragePoolGradient>;
template struct CudaPrimitiveRegistration<BandPart>;
template struct CudaPrimitiveRegistration<BatchNorm>;
template struct CudaPrimitiveRegistration<BatchNormGradient>;
template struct CudaPrimitiveRegistration<Bincount>;
template struct CudaPrimitiveRegistration<Bucketize>;
template struct CudaPrimitiveRegistration<Cast>;
template struct CudaPrimitiveRegistration<ChannelMaxPool>;
template struct CudaPrimitiveRegistration<ChannelNorm>;
template struct CudaPrimitiveRegistration<Choose>;
template struct CudaPrimitiveRegistration<Convolution>;
template struct CudaPrimitiveRegistration<ConvolutionFilterGradient>;
template struct CudaPrimitiveRegistration<ConvolutionInputGradient>;
template struct CudaPrimitiveRegistration<Dilation>;
template struct CudaPrimitiveRegistration<DilationGradient>;
template struct CudaPrimitiveRegistration<Elementwise>;
template struct CudaPrimitiveRegistration<EmbeddingSum>;
template struct CudaPrimitiveRegistration<Fill>;
template struct CudaPrimitiveRegistration<FillEmptyRows>;
template struct CudaPrimitiveRegistration<FindUnique>;
template struct CudaPrimitiveRegistration<FourierTransform>;
template struct CudaPrimitiveRegistration<FusedElementwise>;
template struct CudaPrimitiveRegistration<Gather>;
template struct CudaPrimitiveRegistration<Histogram>;
template struct CudaPrimitiveRegistration<InTopK>;
template struct CudaPrimitiveRegistration<KeyOfSeeds>;
template struct CudaPrimitiveRegistration<LayerNorm>;
template struct CudaPrimitiveRegistration<LocalResponse>;
template struct CudaPrimitiveRegistration<LocalResponseGradient>;
template struct CudaPrimitiveRegistration<MatMul>;
template struct CudaPrimitiveRegistration<MaxPool>;
template struct CudaPrimitiveRegistration<MaxPoolGradient>;
template struct CudaPrimitiveRegistration<MaxPoolSecondGradient>;
template struct CudaPrimitiveRegistration<MaxPoolWithArgmax>;
template struct CudaPrimitiveRegistration<Multinomial>;
template struct CudaPrimitiveRegistration<NarrowAttention>;
template struct CudaPrimitiveRegistration<NearestPixels>;
template struct CudaPrimitiveRegistration<NearestPixelsGradient>;
template struct CudaPrimitiveRegistration<NonMaxSuppression>;
template struct CudaPrimitiveRegistration<NonZero>;
template struct CudaPrimitiveRegistration<NthElement>;
template struct CudaPrimitiveRegistration<OneHot>;
template struct CudaPrimitiveRegistration<OptimizerUpdate>;
template struct CudaPrimitiveRegistration<RandomFill>;
template struct CudaPrimitiveRegistration<RavelMultiIndex>;
template struct CudaPrimitiveRegistration<Reduce>;
template struct CudaPrimitiveRegistration<Resample>;
template struct CudaPrimitiveRegistration<ResampleGradient>;
template struct CudaPrimitiveRegistration<ReshapeIndices>;
template struct CudaPrimitiveRegistration<ScaleWeights>;
template struct CudaPrimitiveRegistration<Scan>;
template struct CudaPrimitiveRegistration<Scatter>;
template struct CudaPrimitiveRegistration<SegmentLookup>;
template struct CudaPrimitiveRegistration<SegmentLookupGradient>;
template struct CudaPrimitiveRegistration<SegmentReduce>;
template struct CudaPrimitiveRegistration<SeparableBlock>;
template struct CudaPrimitiveRegistration<Softmax>;
template struct CudaPrimitiveRegistration<SoftmaxCrossEntropy>;
template struct CudaPrimitiveRegistration<SparseSoftmaxCrossEntropy>;
template struct CudaPrimitiveRegistration<StridedCopy>;
template struct CudaPrimitiveRegistration<TopK>;

}  // namespace tessera::cuda
