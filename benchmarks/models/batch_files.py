"""The batches of a training as train_runner reads them."""


def write(folder, batches):
    """Writes batch_K.pb, a PredictRequest, of arrays by name. Needs the messages of TensorFlow Serving,
    not TensorFlow."""
    from tensorflow.core.framework import types_pb2
    from tensorflow_serving.apis import predict_pb2

    dtypes = {"float32": types_pb2.DT_FLOAT, "int32": types_pb2.DT_INT32}
    for k, batch in enumerate(batches):
        request = predict_pb2.PredictRequest()
        for name, value in batch.items():
            proto = request.inputs[name]
            proto.dtype = dtypes[value.dtype.name]
            for size in value.shape:
                proto.tensor_shape.dim.add(size=size)
            proto.tensor_content = value.tobytes()
        (folder / f"batch_{k}.pb").write_bytes(request.SerializeToString())
