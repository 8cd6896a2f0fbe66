// Optimizer updates.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"

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
