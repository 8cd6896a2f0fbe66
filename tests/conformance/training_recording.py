"""Records trainings in the format of tests/conformance/training_case.h, SavedModels in particular.

A case is a `Trainer`: its variables, and what a step, a loss and a prediction are. `record_trainer`
trains it with TensorFlow and writes the SavedModel, the batches, the losses and the checkpoint.
"""

import json

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import predict_pb2

from conformance import debug_information

STEPS, SAVED_STEP = 50, 25


class Trainer(tf.Module):
    """What is trained. Subclasses define `loss`, `predict` and `batches`, and may define `step`.

    `variables_by_key` has all variables of a checkpoint, those of the optimizer included.
    """

    def __init__(self, models, optimizers):
        super().__init__()
        self.models, self.optimizers = models, optimizers
        self.trained = [v for model in models for v in model.trainable_variables]
        for model, optimizer in zip(models, optimizers):
            optimizer.build(model.trainable_variables)
        self.tracked = list(self.variables_by_key().values())

    def variables_by_key(self):
        keyed = {}
        for kind, holders in (("model", self.models), ("optimizer", self.optimizers)):
            for number, holder in enumerate(holders):
                for place, variable in enumerate(holder.variables):
                    # Keras keeps TensorFlow's variable in its own.
                    is_plain = isinstance(variable, tf.Variable)
                    path = variable.name.split(":")[0] if is_plain else variable.path
                    keyed[f"{kind}/{number}/{place}/{path}"] = (
                        variable if is_plain else variable.value)
        return keyed

    def step(self, batch):
        """Updates by the gradients of the loss, and returns the loss."""
        with tf.GradientTape() as tape:
            loss = self.loss(batch, training=True)
        self.optimizers[0].apply_gradients(zip(tape.gradient(loss, self.trained), self.trained))
        return loss


def _signatures(trainer, batch):
    """The functions of the SavedModel, by the names of their signatures."""
    variables = trainer.variables_by_key()
    keys, values = list(variables), list(variables.values())
    initial = [value.numpy() for value in values]

    def function(body, names=()):
        specs = [tf.TensorSpec(trainer.shapes.get(name, batch[name].shape), batch[name].dtype, name)
                 for name in names]

        def call(*tensors):
            return body(dict(zip(names, tensors)))
        return tf.function(call, input_signature=specs)

    def assign_all(tensors):
        for variable, tensor in zip(values, tensors):
            variable.assign(tensor)
        return {"ok": tf.constant(True)}

    def gradients(fed):
        with tf.GradientTape() as tape:
            loss = trainer.loss(fed, training=True)
        found = tape.gradient(loss, trainer.trained)
        dense = {f"grad_{i}": tf.convert_to_tensor(gradient) for i, gradient in enumerate(found)
                 if gradient is not None}
        return {"loss": loss, **dense}

    def save(prefix):
        written = tf.raw_ops.SaveV2(prefix=prefix, tensor_names=keys,
                                    shape_and_slices=[""] * len(keys),
                                    tensors=[value.read_value() for value in values])
        with tf.control_dependencies([written] if written is not None else []):
            return {"prefix": tf.identity(prefix)}

    def restore(prefix):
        return assign_all(tf.raw_ops.RestoreV2(
            prefix=prefix, tensor_names=keys, shape_and_slices=[""] * len(keys),
            dtypes=[value.dtype for value in values]))

    path = [tf.TensorSpec([], tf.string, "prefix")]
    everything = tuple(batch)
    return {
        "init": function(lambda _: assign_all([tf.constant(value) for value in initial])),
        "train_step": function(lambda fed: {"loss": trainer.step(fed)}, everything),
        "loss": function(lambda fed: {"loss": trainer.loss(fed, training=False)}, everything),
        "gradients": function(gradients, everything),
        "predict": function(lambda fed: {"output": trainer.predict(fed)}, trainer.inputs),
        "save": tf.function(save, input_signature=path),
        "restore": tf.function(restore, input_signature=path),
    }


def write_feed(path, batch):
    request = predict_pb2.PredictRequest()
    for name, value in batch.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(np.asarray(value)))
    path.write_bytes(request.SerializeToString(deterministic=True))


def write_answer(path, tensors):
    response = predict_pb2.PredictResponse()
    for name, value in tensors.items():
        response.outputs[name].CopyFrom(tf.make_tensor_proto(np.asarray(value)))
    path.write_bytes(response.SerializeToString(deterministic=True))


def _functions_named_by(nodes):
    for node in nodes:
        yield node.op  # a function may stand in the place of an op
        for attr in node.attr.values():
            if attr.HasField("func"):
                yield attr.func.name
            for function in attr.list.func:
                yield function.name


def _shrink(saved_model):
    """Takes out what training does not read: objects, debug information, unused functions."""
    path = saved_model / "saved_model.pb"
    message = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    meta = message.meta_graphs[0]
    for field in ("object_graph_def", "collection_def"):
        meta.ClearField(field)
    for field in ("stripped_op_list", "function_aliases"):
        meta.meta_info_def.ClearField(field)
    functions = {f.signature.name: f for f in meta.graph_def.library.function}
    used, pending = set(), list(_functions_named_by(meta.graph_def.node))
    while pending:
        name = pending.pop()
        if name in functions and name not in used:
            used.add(name)
            pending += _functions_named_by(functions[name].node_def)
    kept = [functions[name] for name in functions if name in used]
    for function in kept:
        debug_information.strip_function(function)
        function.attr.pop("_construction_context", None)
    meta.graph_def.ClearField("library")
    meta.graph_def.library.function.extend(kept)
    path.write_bytes(message.SerializeToString(deterministic=True))
    (saved_model / "fingerprint.pb").unlink()
    for empty in (saved_model / "assets",):
        empty.rmdir()


def record_trainer(folder, trainer):
    """Trains for 50 steps and writes the folder. Returns the losses."""
    folder.mkdir(parents=True, exist_ok=True)
    batches = [{name: tf.constant(value) for name, value in batch.items()}
               for batch in trainer.batches]
    calls = _signatures(trainer, batches[0])

    def run(name, batch):
        names = {"init": (), "predict": trainer.inputs}.get(name, tuple(batch))
        return calls[name](*(batch[n] for n in names))

    run("init", batches[0])
    answers = run("gradients", batches[0])
    write_answer(folder / "grads_0.pb", answers)
    run("init", batches[0])
    losses = []
    for step in range(STEPS):
        if step == SAVED_STEP:
            calls["save"](tf.constant(str(folder / f"step{SAVED_STEP}")))
        losses.append(float(run("train_step", batches[step % len(batches)])["loss"]))
    write_answer(folder / "predict_after_50.pb", run("predict", batches[0]))
    calls["restore"](tf.constant(str(folder / f"step{SAVED_STEP}")))
    again = [float(run("train_step", batches[step % len(batches)])["loss"])
             for step in range(SAVED_STEP, STEPS)]
    np.testing.assert_allclose(again, losses[SAVED_STEP:], rtol=1e-3)
    for number, batch in enumerate(batches):
        write_feed(folder / f"feed_{number}.pb", batch)
    (folder / "losses.json").write_text(json.dumps(losses), encoding="utf-8")
    (folder / "info.json").write_text(json.dumps({"feeds": len(batches)}), encoding="utf-8")
    run("init", batches[0])
    tf.saved_model.save(trainer, str(folder / "1"), signatures=calls,
                        options=tf.saved_model.SaveOptions(experimental_custom_gradients=False))
    _shrink(folder / "1")
    return losses
