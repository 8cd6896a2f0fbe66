// Optimizer updates.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"

namespace tessera {

REGISTER_OP("ApplyAdaMax")
    .Input("var: Ref(T)").Input("m: Ref(T)").Input("v: Ref(T)").Input("beta1_power: T")
    .Input("lr: T").Input("beta1: T").Input("beta2: T").Input("epsilon: T").Input("grad: T")
    .Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Writes("var").Writes("m").Writes("v")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyAdadelta")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("accum_update: Ref(T)").Input("lr: T")
    .Input("rho: T").Input("epsilon: T").Input("grad: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Writes("var").Writes("accum").Writes("accum_update")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyAdagrad")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("lr: T").Input("grad: T")
    .Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("update_slots: bool = true")
    .Writes("var").Writes("accum").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyAdagradDA")
    .Input("var: Ref(T)").Input("gradient_accumulator: Ref(T)")
    .Input("gradient_squared_accumulator: Ref(T)").Input("grad: T").Input("lr: T").Input("l1: T")
    .Input("l2: T").Input("global_step: int64").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false")
    .Writes("var").Writes("gradient_accumulator").Writes("gradient_squared_accumulator")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyAdagradV2")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("lr: T").Input("epsilon: T")
    .Input("grad: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("update_slots: bool = true")
    .Writes("var").Writes("accum").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyAdam")
    .Input("var: Ref(T)").Input("m: Ref(T)").Input("v: Ref(T)").Input("beta1_power: T")
    .Input("beta2_power: T").Input("lr: T").Input("beta1: T").Input("beta2: T")
    .Input("epsilon: T").Input("grad: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("use_nesterov: bool = false")
    .Writes("var").Writes("m").Writes("v").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyAddSign")
    .Input("var: Ref(T)").Input("m: Ref(T)").Input("lr: T").Input("alpha: T")
    .Input("sign_decay: T").Input("beta: T").Input("grad: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Writes("var").Writes("m").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyCenteredRMSProp")
    .Input("var: Ref(T)").Input("mg: Ref(T)").Input("ms: Ref(T)").Input("mom: Ref(T)")
    .Input("lr: T").Input("rho: T").Input("momentum: T").Input("epsilon: T").Input("grad: T")
    .Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Writes("var").Writes("mg").Writes("ms").Writes("mom")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyFtrl")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("linear: Ref(T)").Input("grad: T")
    .Input("lr: T").Input("l1: T").Input("l2: T").Input("lr_power: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("multiply_linear_by_lr: bool = false")
    .Writes("var").Writes("accum").Writes("linear").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyFtrlV2")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("linear: Ref(T)").Input("grad: T")
    .Input("lr: T").Input("l1: T").Input("l2: T").Input("l2_shrinkage: T").Input("lr_power: T")
    .Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("multiply_linear_by_lr: bool = false")
    .Writes("var").Writes("accum").Writes("linear").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyGradientDescent")
    .Input("var: Ref(T)").Input("alpha: T").Input("delta: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Writes("var").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyMomentum")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("lr: T").Input("grad: T")
    .Input("momentum: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("use_nesterov: bool = false")
    .Writes("var").Writes("accum").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyPowerSign")
    .Input("var: Ref(T)").Input("m: Ref(T)").Input("lr: T").Input("logbase: T")
    .Input("sign_decay: T").Input("beta: T").Input("grad: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Writes("var").Writes("m").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyProximalAdagrad")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("lr: T").Input("l1: T").Input("l2: T")
    .Input("grad: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Writes("var").Writes("accum")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyProximalGradientDescent")
    .Input("var: Ref(T)").Input("alpha: T").Input("l1: T").Input("l2: T").Input("delta: T")
    .Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Writes("var").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ApplyRMSProp")
    .Input("var: Ref(T)").Input("ms: Ref(T)").Input("mom: Ref(T)").Input("lr: T").Input("rho: T")
    .Input("momentum: T").Input("epsilon: T").Input("grad: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Writes("var").Writes("ms").Writes("mom")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("NegTrain")
    .Input("w_in: Ref(float)").Input("w_out: Ref(float)").Input("examples: int32")
    .Input("labels: int32").Input("lr: float").Attr("vocab_count: list(int)")
    .Attr("num_negative_samples: int").Stateful().Writes("w_in").Writes("w_out").Random();
REGISTER_OP("ResourceApplyAdaMax")
    .Input("var: resource").Input("m: resource").Input("v: resource").Input("beta1_power: T")
    .Input("lr: T").Input("beta1: T").Input("beta2: T").Input("epsilon: T").Input("grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Stateful().Writes("var").Writes("m").Writes("v");
REGISTER_OP("ResourceApplyAdadelta")
    .Input("var: resource").Input("accum: resource").Input("accum_update: resource")
    .Input("lr: T").Input("rho: T").Input("epsilon: T").Input("grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Stateful()
    .Writes("var").Writes("accum").Writes("accum_update");
REGISTER_OP("ResourceApplyAdagrad")
    .Input("var: resource").Input("accum: resource").Input("lr: T").Input("grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("update_slots: bool = true").Stateful()
    .Writes("var").Writes("accum");
REGISTER_OP("ResourceApplyAdagradDA")
    .Input("var: resource").Input("gradient_accumulator: resource")
    .Input("gradient_squared_accumulator: resource").Input("grad: T").Input("lr: T")
    .Input("l1: T").Input("l2: T").Input("global_step: int64")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Stateful()
    .Writes("var").Writes("gradient_accumulator").Writes("gradient_squared_accumulator");
REGISTER_OP("ResourceApplyAdagradV2")
    .Input("var: resource").Input("accum: resource").Input("lr: T").Input("epsilon: T")
    .Input("grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("update_slots: bool = true").Stateful()
    .Writes("var").Writes("accum");
REGISTER_OP("ResourceApplyAdam")
    .Input("var: resource").Input("m: resource").Input("v: resource").Input("beta1_power: T")
    .Input("beta2_power: T").Input("lr: T").Input("beta1: T").Input("beta2: T")
    .Input("epsilon: T").Input("grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("use_nesterov: bool = false").Stateful()
    .Writes("var").Writes("m").Writes("v");
REGISTER_OP("ResourceApplyAdamWithAmsgrad")
    .Input("var: resource").Input("m: resource").Input("v: resource").Input("vhat: resource")
    .Input("beta1_power: T").Input("beta2_power: T").Input("lr: T").Input("beta1: T")
    .Input("beta2: T").Input("epsilon: T").Input("grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Stateful()
    .Writes("var").Writes("m").Writes("v").Writes("vhat");
REGISTER_OP("ResourceApplyAddSign")
    .Input("var: resource").Input("m: resource").Input("lr: T").Input("alpha: T")
    .Input("sign_decay: T").Input("beta: T").Input("grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Stateful().Writes("var").Writes("m");
REGISTER_OP("ResourceApplyCenteredRMSProp")
    .Input("var: resource").Input("mg: resource").Input("ms: resource").Input("mom: resource")
    .Input("lr: T").Input("rho: T").Input("momentum: T").Input("epsilon: T").Input("grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Stateful()
    .Writes("var").Writes("mg").Writes("ms").Writes("mom");
REGISTER_OP("ResourceApplyFtrl")
    .Input("var: resource").Input("accum: resource").Input("linear: resource").Input("grad: T")
    .Input("lr: T").Input("l1: T").Input("l2: T").Input("lr_power: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("multiply_linear_by_lr: bool = false").Stateful()
    .Writes("var").Writes("accum").Writes("linear");
REGISTER_OP("ResourceApplyFtrlV2")
    .Input("var: resource").Input("accum: resource").Input("linear: resource").Input("grad: T")
    .Input("lr: T").Input("l1: T").Input("l2: T").Input("l2_shrinkage: T").Input("lr_power: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("multiply_linear_by_lr: bool = false").Stateful()
    .Writes("var").Writes("accum").Writes("linear");
REGISTER_OP("ResourceApplyGradientDescent")
    .Input("var: resource").Input("alpha: T").Input("delta: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Stateful().Writes("var");
REGISTER_OP("ResourceApplyKerasMomentum")
    .Input("var: resource").Input("accum: resource").Input("lr: T").Input("grad: T")
    .Input("momentum: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("use_nesterov: bool = false").Stateful()
    .Writes("var").Writes("accum");
REGISTER_OP("ResourceApplyMomentum")
    .Input("var: resource").Input("accum: resource").Input("lr: T").Input("grad: T")
    .Input("momentum: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Attr("use_nesterov: bool = false").Stateful()
    .Writes("var").Writes("accum");
REGISTER_OP("ResourceApplyPowerSign")
    .Input("var: resource").Input("m: resource").Input("lr: T").Input("logbase: T")
    .Input("sign_decay: T").Input("beta: T").Input("grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Stateful().Writes("var").Writes("m");
REGISTER_OP("ResourceApplyProximalAdagrad")
    .Input("var: resource").Input("accum: resource").Input("lr: T").Input("l1: T").Input("l2: T")
    .Input("grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Stateful().Writes("var").Writes("accum");
REGISTER_OP("ResourceApplyProximalGradientDescent")
    .Input("var: resource").Input("alpha: T").Input("l1: T").Input("l2: T").Input("delta: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Stateful().Writes("var");
REGISTER_OP("ResourceApplyRMSProp")
    .Input("var: resource").Input("ms: resource").Input("mom: resource").Input("lr: T")
    .Input("rho: T").Input("momentum: T").Input("epsilon: T").Input("grad: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("use_locking: bool = false").Stateful().Writes("var").Writes("ms").Writes("mom");
REGISTER_OP("ResourceSparseApplyAdadelta")
    .Input("var: resource").Input("accum: resource").Input("accum_update: resource")
    .Input("lr: T").Input("rho: T").Input("epsilon: T").Input("grad: T")
    .Input("indices: Tindices")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Stateful()
    .Writes("var").Writes("accum").Writes("accum_update");
REGISTER_OP("ResourceSparseApplyAdagrad")
    .Input("var: resource").Input("accum: resource").Input("lr: T").Input("grad: T")
    .Input("indices: Tindices")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("update_slots: bool = true").Stateful().Writes("var").Writes("accum");
REGISTER_OP("ResourceSparseApplyAdagradDA")
    .Input("var: resource").Input("gradient_accumulator: resource")
    .Input("gradient_squared_accumulator: resource").Input("grad: T").Input("indices: Tindices")
    .Input("lr: T").Input("l1: T").Input("l2: T").Input("global_step: int64")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Stateful()
    .Writes("var").Writes("gradient_accumulator").Writes("gradient_squared_accumulator");
REGISTER_OP("ResourceSparseApplyAdagradV2")
    .Input("var: resource").Input("accum: resource").Input("lr: T").Input("epsilon: T")
    .Input("grad: T").Input("indices: Tindices")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("update_slots: bool = true").Stateful().Writes("var").Writes("accum");
REGISTER_OP("ResourceSparseApplyCenteredRMSProp")
    .Input("var: resource").Input("mg: resource").Input("ms: resource").Input("mom: resource")
    .Input("lr: T").Input("rho: T").Input("momentum: T").Input("epsilon: T").Input("grad: T")
    .Input("indices: Tindices")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Stateful()
    .Writes("var").Writes("mg").Writes("ms").Writes("mom");
REGISTER_OP("ResourceSparseApplyFtrl")
    .Input("var: resource").Input("accum: resource").Input("linear: resource").Input("grad: T")
    .Input("indices: Tindices").Input("lr: T").Input("l1: T").Input("l2: T").Input("lr_power: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("multiply_linear_by_lr: bool = false").Stateful()
    .Writes("var").Writes("accum").Writes("linear");
REGISTER_OP("ResourceSparseApplyFtrlV2")
    .Input("var: resource").Input("accum: resource").Input("linear: resource").Input("grad: T")
    .Input("indices: Tindices").Input("lr: T").Input("l1: T").Input("l2: T")
    .Input("l2_shrinkage: T").Input("lr_power: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("multiply_linear_by_lr: bool = false").Stateful()
    .Writes("var").Writes("accum").Writes("linear");
REGISTER_OP("ResourceSparseApplyKerasMomentum")
    .Input("var: resource").Input("accum: resource").Input("lr: T").Input("grad: T")
    .Input("indices: Tindices").Input("momentum: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("use_nesterov: bool = false").Stateful().Writes("var").Writes("accum");
REGISTER_OP("ResourceSparseApplyMomentum")
    .Input("var: resource").Input("accum: resource").Input("lr: T").Input("grad: T")
    .Input("indices: Tindices").Input("momentum: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("use_nesterov: bool = false").Stateful().Writes("var").Writes("accum");
REGISTER_OP("ResourceSparseApplyProximalAdagrad")
    .Input("var: resource").Input("accum: resource").Input("lr: T").Input("l1: T").Input("l2: T")
    .Input("grad: T").Input("indices: Tindices")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Stateful()
    .Writes("var").Writes("accum");
REGISTER_OP("ResourceSparseApplyProximalGradientDescent")
    .Input("var: resource").Input("alpha: T").Input("l1: T").Input("l2: T").Input("grad: T")
    .Input("indices: Tindices")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Stateful().Writes("var");
REGISTER_OP("ResourceSparseApplyRMSProp")
    .Input("var: resource").Input("ms: resource").Input("mom: resource").Input("lr: T")
    .Input("rho: T").Input("momentum: T").Input("epsilon: T").Input("grad: T")
    .Input("indices: Tindices")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Stateful()
    .Writes("var").Writes("ms").Writes("mom");
REGISTER_OP("SdcaOptimizer")
    .Input("sparse_example_indices: num_sparse_features * int64")
    .Input("sparse_feature_indices: num_sparse_features * int64")
    .Input("sparse_feature_values: num_sparse_features_with_values * float")
    .Input("dense_features: num_dense_features * float").Input("example_weights: float")
    .Input("example_labels: float").Input("sparse_indices: num_sparse_features * int64")
    .Input("sparse_weights: num_sparse_features * float")
    .Input("dense_weights: num_dense_features * float").Input("example_state_data: float")
    .Output("out_example_state_data: float")
    .Output("out_delta_sparse_weights: num_sparse_features * float")
    .Output("out_delta_dense_weights: num_dense_features * float")
    .Attr("loss_type: {'logistic_loss', 'squared_loss', 'hinge_loss', 'smooth_hinge_loss', "
        "'poisson_loss'}")
    .Attr("adaptative: bool = false").Attr("num_sparse_features: int >= 0")
    .Attr("num_sparse_features_with_values: int >= 0").Attr("num_dense_features: int >= 0")
    .Attr("l1: float").Attr("l2: float").Attr("num_loss_partitions: int >= 1")
    .Attr("num_inner_iterations: int >= 1").ShapeFn(shape::Unknown);
REGISTER_OP("SdcaOptimizerV2")
    .Input("sparse_example_indices: num_sparse_features * int64")
    .Input("sparse_feature_indices: num_sparse_features * int64")
    .Input("sparse_feature_values: num_sparse_features_with_values * float")
    .Input("dense_features: num_dense_features * float").Input("example_weights: float")
    .Input("example_labels: float").Input("sparse_indices: num_sparse_features * int64")
    .Input("sparse_weights: num_sparse_features * float")
    .Input("dense_weights: num_dense_features * float").Input("example_state_data: float")
    .Output("out_example_state_data: float")
    .Output("out_delta_sparse_weights: num_sparse_features * float")
    .Output("out_delta_dense_weights: num_dense_features * float")
    .Attr("loss_type: {'logistic_loss', 'squared_loss', 'hinge_loss', 'smooth_hinge_loss', "
        "'poisson_loss'}")
    .Attr("adaptive: bool = false").Attr("num_sparse_features: int >= 0")
    .Attr("num_sparse_features_with_values: int >= 0").Attr("num_dense_features: int >= 0")
    .Attr("l1: float").Attr("l2: float").Attr("num_loss_partitions: int >= 1")
    .Attr("num_inner_iterations: int >= 1").ShapeFn(shape::Unknown);
REGISTER_OP("SdcaShrinkL1")
    .Input("weights: Ref(num_features*float)").Attr("num_features: int >= 0").Attr("l1: float")
    .Attr("l2: float").Writes("weights");
REGISTER_OP("Skipgram")
    .Output("vocab_word: string").Output("vocab_freq: int32").Output("words_per_epoch: int64")
    .Output("current_epoch: int32").Output("total_words_processed: int64")
    .Output("examples: int32").Output("labels: int32").Attr("filename: string")
    .Attr("batch_size: int").Attr("window_size: int = 5").Attr("min_count: int = 5")
    .Attr("subsample: float = 0.0010000000474974513").Stateful().ReadsOutside().Random()
    .ShapeFn(shape::Spec<"-> [v], [v], [], [], [], [@batch_size], [@batch_size]">);
REGISTER_OP("SparseApplyAdadelta")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("accum_update: Ref(T)").Input("lr: T")
    .Input("rho: T").Input("epsilon: T").Input("grad: T").Input("indices: Tindices")
    .Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Writes("var").Writes("accum").Writes("accum_update").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SparseApplyAdagrad")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("lr: T").Input("grad: T")
    .Input("indices: Tindices").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("update_slots: bool = true").Writes("var").Writes("accum")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SparseApplyAdagradDA")
    .Input("var: Ref(T)").Input("gradient_accumulator: Ref(T)")
    .Input("gradient_squared_accumulator: Ref(T)").Input("grad: T").Input("indices: Tindices")
    .Input("lr: T").Input("l1: T").Input("l2: T").Input("global_step: int64")
    .Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Writes("var").Writes("gradient_accumulator").Writes("gradient_squared_accumulator")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SparseApplyAdagradV2")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("lr: T").Input("epsilon: T")
    .Input("grad: T").Input("indices: Tindices").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("update_slots: bool = true").Writes("var").Writes("accum")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SparseApplyCenteredRMSProp")
    .Input("var: Ref(T)").Input("mg: Ref(T)").Input("ms: Ref(T)").Input("mom: Ref(T)")
    .Input("lr: T").Input("rho: T").Input("momentum: T").Input("epsilon: T").Input("grad: T")
    .Input("indices: Tindices").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Writes("var").Writes("mg").Writes("ms").Writes("mom").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SparseApplyFtrl")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("linear: Ref(T)").Input("grad: T")
    .Input("indices: Tindices").Input("lr: T").Input("l1: T").Input("l2: T").Input("lr_power: T")
    .Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("multiply_linear_by_lr: bool = false").Writes("var").Writes("accum").Writes("linear")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SparseApplyFtrlV2")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("linear: Ref(T)").Input("grad: T")
    .Input("indices: Tindices").Input("lr: T").Input("l1: T").Input("l2: T")
    .Input("l2_shrinkage: T").Input("lr_power: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("multiply_linear_by_lr: bool = false").Writes("var").Writes("accum").Writes("linear")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SparseApplyMomentum")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("lr: T").Input("grad: T")
    .Input("indices: Tindices").Input("momentum: T").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Attr("use_nesterov: bool = false").Writes("var").Writes("accum")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SparseApplyProximalAdagrad")
    .Input("var: Ref(T)").Input("accum: Ref(T)").Input("lr: T").Input("l1: T").Input("l2: T")
    .Input("grad: T").Input("indices: Tindices").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Writes("var").Writes("accum").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SparseApplyProximalGradientDescent")
    .Input("var: Ref(T)").Input("alpha: T").Input("l1: T").Input("l2: T").Input("grad: T")
    .Input("indices: Tindices").Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false").Writes("var")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SparseApplyRMSProp")
    .Input("var: Ref(T)").Input("ms: Ref(T)").Input("mom: Ref(T)").Input("lr: T").Input("rho: T")
    .Input("momentum: T").Input("epsilon: T").Input("grad: T").Input("indices: Tindices")
    .Output("out: Ref(T)")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tindices: {int32, int64}").Attr("use_locking: bool = false")
    .Writes("var").Writes("ms").Writes("mom").ShapeFn(shape::SameAsFirstInput);

}  // namespace tessera
