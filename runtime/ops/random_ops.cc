// Random numbers.
#include "runtime/base/status.h"
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/array_shapes.h"

namespace tessera {
namespace {

// Candidates, and how often each true class and each candidate is expected.
absl::Status CandidateShapes(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t num_sampled, c.attr<int64_t>("num_sampled"));
  ASSIGN_OR_RETURN(PartialShape classes, c.WithRank(0, 2));
  c.set_output(0, PartialShape{num_sampled});
  c.set_output(1, std::move(classes));
  c.set_output(2, PartialShape{num_sampled});
  return absl::OkStatus();
}

// The shape that input 0 describes.
absl::Status ShapeOfInput0(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeInput(0));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("AllCandidateSampler")
    .Input("true_classes: int64").Output("sampled_candidates: int64")
    .Output("true_expected_count: float").Output("sampled_expected_count: float")
    .Attr("num_true: int >= 1").Attr("num_sampled: int >= 1").Attr("unique: bool")
    .Attr("seed: int = 0").Attr("seed2: int = 0").Stateful().Random().ShapeFn(CandidateShapes);
REGISTER_OP("ComputeAccidentalHits")
    .Input("true_classes: int64").Input("sampled_candidates: int64").Output("indices: int32")
    .Output("ids: int64").Output("weights: float").Attr("num_true: int").Attr("seed: int = 0")
    .Attr("seed2: int = 0").ShapeFn(shape::Spec<"[?, ?], [?] -> [h], [h], [h]">);
REGISTER_OP("FixedUnigramCandidateSampler")
    .Input("true_classes: int64").Output("sampled_candidates: int64")
    .Output("true_expected_count: float").Output("sampled_expected_count: float")
    .Attr("num_true: int >= 1").Attr("num_sampled: int >= 1").Attr("unique: bool")
    .Attr("range_max: int >= 1").Attr("vocab_file: string = ''").Attr("distortion: float = 1")
    .Attr("num_reserved_ids: int = 0").Attr("num_shards: int >= 1 = 1")
    .Attr("shard: int >= 0 = 0").Attr("unigrams: list(float) = []").Attr("seed: int = 0")
    .Attr("seed2: int = 0").Stateful().Random().ReadsOutside().ShapeFn(CandidateShapes);
REGISTER_OP("KMC2ChainInitialization")
    .Input("distances: float").Input("seed: int64").Output("index: int64").ShapeFn(shape::Scalar);
REGISTER_OP("KmeansPlusPlusInitialization")
    .Input("points: float").Input("num_to_sample: int64").Input("seed: int64")
    .Input("num_retries_per_sample: int64").Output("samples: float")
    .ShapeFn(shape::Spec<"[?, d], [], [], [] -> [$1, d]">);
REGISTER_OP("LearnedUnigramCandidateSampler")
    .Input("true_classes: int64").Output("sampled_candidates: int64")
    .Output("true_expected_count: float").Output("sampled_expected_count: float")
    .Attr("num_true: int >= 1").Attr("num_sampled: int >= 1").Attr("unique: bool")
    .Attr("range_max: int >= 1").Attr("seed: int = 0").Attr("seed2: int = 0").Stateful().Random()
    .ShapeFn(CandidateShapes);
REGISTER_OP("LogUniformCandidateSampler")
    .Input("true_classes: int64").Output("sampled_candidates: int64")
    .Output("true_expected_count: float").Output("sampled_expected_count: float")
    .Attr("num_true: int >= 1").Attr("num_sampled: int >= 1").Attr("unique: bool")
    .Attr("range_max: int >= 1").Attr("seed: int = 0").Attr("seed2: int = 0").Stateful().Random().ShapeFn(CandidateShapes);
REGISTER_OP("Multinomial")
    .Input("logits: T").Input("num_samples: int32").Output("output: output_dtype")
    .Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("output_dtype: {int32, int64} = int64").Stateful().Random()
    .ShapeFn(shape::Spec<"[b, ?], [] -> [b, $1]">);
REGISTER_OP("ParameterizedTruncatedNormal")
    .Input("shape: T").Input("means: dtype").Input("stdevs: dtype").Input("minvals: dtype")
    .Input("maxvals: dtype").Output("output: dtype").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("dtype: {half, bfloat16, float, double}").Attr("T: {int32, int64}").Stateful().Random().ShapeFn(ShapeOfInput0);
REGISTER_OP("RandomGamma")
    .Input("shape: S").Input("alpha: T").Output("output: T").Attr("seed: int = 0")
    .Attr("seed2: int = 0").Attr("S: {int32, int64}").Attr("T: {half, float, double}").Stateful()
    .Random().ShapeFn(shape::Spec<"[?], [*a] -> [<0>, *a]">);
REGISTER_OP("RandomGammaGrad")
    .Input("alpha: T").Input("sample: T").Output("output: T").Attr("T: {float, double}")
    .ShapeFn(shape::Broadcast);
REGISTER_OP("RandomIndexShuffle")
    .Input("index: dtype").Input("seed: Tseed").Input("max_index: dtype").Output("output: dtype")
    .Attr("rounds: int = 4").Attr("dtype: {int32, uint32, int64, uint64}")
    .Attr("Tseed: {int32, uint32, int64, uint64}").ShapeFn(shape::Unknown);
REGISTER_OP("RandomPoisson")
    .Input("shape: S").Input("rate: dtype").Output("output: dtype").Attr("seed: int = 0")
    .Attr("seed2: int = 0").Attr("S: {int32, int64}").Attr("dtype: {half, float, double}")
    .Stateful().Deprecated(25).Random().ShapeFn(shape::Spec<"[?], [*a] -> [<0>, *a]">);
REGISTER_OP("RandomPoissonV2")
    .Input("shape: S").Input("rate: R").Output("output: dtype").Attr("seed: int = 0")
    .Attr("seed2: int = 0").Attr("S: {int32, int64}")
    .Attr("R: {half, float, double, int32, int64} = double")
    .Attr("dtype: {half, float, double, int32, int64} = int64").Stateful().Random()
    .ShapeFn(shape::Spec<"[?], [*a] -> [<0>, *a]">);
REGISTER_OP("RandomShuffle")
    .Input("value: T").Output("output: T").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("T: type").Stateful().Random().ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("RandomStandardNormal")
    .Input("shape: T").Output("output: dtype").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("dtype: {half, bfloat16, float, double}").Attr("T: {int32, int64}").Stateful().Random().ShapeFn(ShapeOfInput0);
REGISTER_OP("RandomUniform")
    .Input("shape: T").Output("output: dtype").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("dtype: {half, bfloat16, float, double}").Attr("T: {int32, int64}").Stateful().Random().ShapeFn(ShapeOfInput0);
REGISTER_OP("RandomUniformInt")
    .Input("shape: T").Input("minval: Tout").Input("maxval: Tout").Output("output: Tout")
    .Attr("seed: int = 0").Attr("seed2: int = 0").Attr("Tout: {int32, int64}")
    .Attr("T: {int32, int64}").Stateful().Random().ShapeFn(ShapeOfInput0);
REGISTER_OP("RngReadAndSkip")
    .Input("resource: resource").Input("alg: int32").Input("delta: uint64").Output("value: int64")
    .Stateful().Writes("resource").ShapeFn(shape::Spec<"_, [], [] -> [?]">);
REGISTER_OP("RngSkip")
    .Input("resource: resource").Input("algorithm: int64").Input("delta: int64").Stateful()
    .Writes("resource");
REGISTER_OP("NonDeterministicInts")
    .Input("shape: shape_dtype").Output("output: dtype").Attr("dtype: type = int64")
    .Attr("shape_dtype: type = int64").Stateful().Random().ShapeFn(shape::FromShapeInput0);
REGISTER_OP("SobolSample")
    .Input("dim: int32").Input("num_results: int32").Input("skip: int32").Output("samples: dtype")
    .Attr("dtype: {float, double} = float").ShapeFn(shape::Spec<"[], [], [] -> [$1, $0]">);
REGISTER_OP("StatefulRandomBinomial")
    .Input("resource: resource").Input("algorithm: int64").Input("shape: S").Input("counts: T")
    .Input("probs: T").Output("output: dtype").Attr("S: {int32, int64}")
    .Attr("T: {half, float, double, int32, int64} = double")
    .Attr("dtype: {half, float, double, int32, int64} = int64").Stateful().Writes("resource")
    .ShapeFn(shape::FromShapeInput2);
REGISTER_OP("StatefulStandardNormal")
    .Input("resource: resource").Input("shape: shape_dtype").Output("output: dtype")
    .Attr("dtype: type = float").Attr("shape_dtype: type = int64").Stateful().Writes("resource")
    .Deprecated(29).ShapeFn(shape::FromShapeInput1);
REGISTER_OP("StatefulStandardNormalV2")
    .Input("resource: resource").Input("algorithm: int64").Input("shape: shape_dtype")
    .Output("output: dtype").Attr("dtype: type = float").Attr("shape_dtype: type = int64")
    .Stateful().Writes("resource").ShapeFn(shape::FromShapeInput2);
REGISTER_OP("StatefulTruncatedNormal")
    .Input("resource: resource").Input("algorithm: int64").Input("shape: shape_dtype")
    .Output("output: dtype").Attr("dtype: type = float").Attr("shape_dtype: type = int64")
    .Stateful().Writes("resource").ShapeFn(shape::FromShapeInput2);
REGISTER_OP("StatefulUniform")
    .Input("resource: resource").Input("algorithm: int64").Input("shape: shape_dtype")
    .Output("output: dtype").Attr("dtype: type = float").Attr("shape_dtype: type = int64")
    .Stateful().Writes("resource").ShapeFn(shape::FromShapeInput2);
REGISTER_OP("StatefulUniformFullInt")
    .Input("resource: resource").Input("algorithm: int64").Input("shape: shape_dtype")
    .Output("output: dtype").Attr("dtype: type = uint64").Attr("shape_dtype: type = int64")
    .Stateful().Writes("resource").ShapeFn(shape::FromShapeInput2);
REGISTER_OP("StatefulUniformInt")
    .Input("resource: resource").Input("algorithm: int64").Input("shape: shape_dtype")
    .Input("minval: dtype").Input("maxval: dtype").Output("output: dtype")
    .Attr("dtype: type = int64").Attr("shape_dtype: type = int64").Stateful().Writes("resource")
    .ShapeFn(shape::FromShapeInput2);
REGISTER_OP("StatelessMultinomial")
    .Input("logits: T").Input("num_samples: int32").Input("seed: Tseed")
    .Output("output: output_dtype")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("Tseed: {int32, int64} = int64").Attr("output_dtype: {int32, int64} = int64")
    .ShapeFn(shape::Spec<"[b, ?], [], [2] -> [b, $1]">);
REGISTER_OP("StatelessParameterizedTruncatedNormal")
    .Input("shape: S").Input("seed: Tseed").Input("means: dtype").Input("stddevs: dtype")
    .Input("minvals: dtype").Input("maxvals: dtype").Output("output: dtype")
    .Attr("S: {int32, int64}").Attr("Tseed: {int32, int64} = int64")
    .Attr("dtype: {half, float, double}").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomBinomial")
    .Input("shape: S").Input("seed: Tseed").Input("counts: T").Input("probs: T")
    .Output("output: dtype").Attr("S: {int32, int64}").Attr("Tseed: {int32, int64} = int64")
    .Attr("T: {half, float, double, int32, int64} = double")
    .Attr("dtype: {half, float, double, int32, int64} = int64").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomGammaV2")
    .Input("shape: T").Input("seed: Tseed").Input("alpha: dtype").Output("output: dtype")
    .Attr("dtype: {half, float, double}").Attr("T: {int32, int64}")
    .Attr("Tseed: {int32, int64} = int64").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomGammaV3")
    .Input("shape: shape_dtype").Input("key: uint64").Input("counter: uint64").Input("alg: int32")
    .Input("alpha: dtype").Output("output: dtype").Attr("dtype: {half, float, double}")
    .Attr("shape_dtype: {int32, int64} = int32").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomGetAlg")
    .Output("alg: int32").Stateful().ShapeFn(shape::Scalar).ComputesOnly();
REGISTER_OP("StatelessRandomGetKeyCounter")
    .Input("seed: Tseed").Output("key: uint64").Output("counter: uint64")
    .Attr("Tseed: {int32, int64} = int64").ShapeFn(shape::Spec<"[2] -> [1], [2]">);
REGISTER_OP("StatelessRandomGetKeyCounterAlg")
    .Input("seed: Tseed").Output("key: uint64").Output("counter: uint64").Output("alg: int32")
    .Attr("Tseed: {int32, int64} = int64").ShapeFn(shape::Spec<"[2] -> [1], [2], []">);
REGISTER_OP("StatelessRandomNormal")
    .Input("shape: T").Input("seed: Tseed").Output("output: dtype")
    .Attr("dtype: {half, bfloat16, float, double} = float").Attr("T: {int32, int64} = int32")
    .Attr("Tseed: {int32, int64} = int64").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomNormalV2")
    .Input("shape: Tshape").Input("key: uint64").Input("counter: uint64").Input("alg: int32")
    .Output("output: dtype").Attr("dtype: {half, bfloat16, float, double} = float")
    .Attr("Tshape: {int32, int64} = int32").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomPoisson")
    .Input("shape: T").Input("seed: Tseed").Input("lam: Rtype").Output("output: dtype")
    .Attr("Rtype: {half, float, double, int32, int64}")
    .Attr("dtype: {half, float, double, int32, int64}").Attr("T: {int32, int64}")
    .Attr("Tseed: {int32, int64} = int64").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomUniform")
    .Input("shape: T").Input("seed: Tseed").Output("output: dtype")
    .Attr("dtype: {half, bfloat16, float, double} = float").Attr("T: {int32, int64} = int32")
    .Attr("Tseed: {int32, int64} = int64").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomUniformFullInt")
    .Input("shape: T").Input("seed: Tseed").Output("output: dtype")
    .Attr("dtype: {int32, int64, uint32, uint64} = uint64").Attr("T: {int32, int64} = int32")
    .Attr("Tseed: {int32, int64, uint32, uint64} = int64").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomUniformFullIntV2")
    .Input("shape: Tshape").Input("key: uint64").Input("counter: uint64").Input("alg: int32")
    .Output("output: dtype").Attr("dtype: {int32, int64, uint32, uint64} = uint64")
    .Attr("Tshape: {int32, int64} = int32").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomUniformInt")
    .Input("shape: T").Input("seed: Tseed").Input("minval: dtype").Input("maxval: dtype")
    .Output("output: dtype").Attr("dtype: {int32, int64}").Attr("T: {int32, int64}")
    .Attr("Tseed: {int32, int64} = int64").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomUniformIntV2")
    .Input("shape: Tshape").Input("key: uint64").Input("counter: uint64").Input("alg: int32")
    .Input("minval: dtype").Input("maxval: dtype").Output("output: dtype")
    .Attr("dtype: {int32, int64, uint32, uint64}").Attr("Tshape: {int32, int64} = int32").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessRandomUniformV2")
    .Input("shape: Tshape").Input("key: uint64").Input("counter: uint64").Input("alg: int32")
    .Output("output: dtype").Attr("dtype: {half, bfloat16, float, double} = float")
    .Attr("Tshape: {int32, int64} = int32").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessShuffle")
    .Input("value: T").Input("key: uint64").Input("counter: uint64").Input("alg: int32")
    .Output("output: T").Attr("T: type").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("StatelessTruncatedNormal")
    .Input("shape: T").Input("seed: Tseed").Output("output: dtype")
    .Attr("dtype: {half, bfloat16, float, double} = float").Attr("T: {int32, int64} = int32")
    .Attr("Tseed: {int32, int64} = int64").ShapeFn(ShapeOfInput0);
REGISTER_OP("StatelessTruncatedNormalV2")
    .Input("shape: Tshape").Input("key: uint64").Input("counter: uint64").Input("alg: int32")
    .Output("output: dtype").Attr("dtype: {half, bfloat16, float, double} = float")
    .Attr("Tshape: {int32, int64} = int32").ShapeFn(ShapeOfInput0);
REGISTER_OP("StochasticCastToInt")
    .Input("input: Tin").Input("key: uint64").Input("counter: uint64").Input("alg: int32")
    .Output("output: Tout").Attr("Tin: {half, bfloat16, float, double}")
    .Attr("Tout: {int8, int16, int32}").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ThreadUnsafeUnigramCandidateSampler")
    .Input("true_classes: int64").Output("sampled_candidates: int64")
    .Output("true_expected_count: float").Output("sampled_expected_count: float")
    .Attr("num_true: int >= 1").Attr("num_sampled: int >= 1").Attr("unique: bool")
    .Attr("range_max: int >= 1").Attr("seed: int = 0").Attr("seed2: int = 0").Stateful().Random()
    .ShapeFn(CandidateShapes);
REGISTER_OP("TruncatedNormal")
    .Input("shape: T").Output("output: dtype").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("dtype: {half, bfloat16, float, double}").Attr("T: {int32, int64}").Stateful().Random().ShapeFn(ShapeOfInput0);
REGISTER_OP("UniformCandidateSampler")
    .Input("true_classes: int64").Output("sampled_candidates: int64")
    .Output("true_expected_count: float").Output("sampled_expected_count: float")
    .Attr("num_true: int >= 1").Attr("num_sampled: int >= 1").Attr("unique: bool")
    .Attr("range_max: int >= 1").Attr("seed: int = 0").Attr("seed2: int = 0").Stateful().Random().ShapeFn(CandidateShapes);

}  // namespace tessera
