"""Asks a server by one of the clients of KServe's own package, and fails where an answer is wrong.

    "$(scripts/python_env kserve_sdk)" tests/kserve/sdk_calls.py PROTOCOL ADDRESS [CA_CERTIFICATE [TOKEN]]

PROTOCOL is grpc, v2 or v1, the last two of which are of REST. The server has the models of
tests/data/kserve_v2. With a certificate, it speaks TLS.
"""

import asyncio
import ssl
import sys

import grpc
import httpx
import numpy as np
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest, RESTConfig
from kserve.protocol.infer_type import RequestedOutput

X, Y = np.array([1, 2, -8], np.float32), [2.5, 3, -2]
TEXTS = ["", "\u00e4\0b"]  # the client by REST takes no bytes that are no UTF-8


def request(model, tensors, binary, **options):
    """An InferRequest with {name: (values, datatype)}, as bytes or as numbers."""
    inputs = []
    for name, (values, datatype) in tensors.items():
        tensor = InferInput(name, list(values.shape), datatype)
        tensor.set_data_from_numpy(values, binary_data=binary)
        inputs.append(tensor)
    return InferRequest(model, inputs, **options)


async def expect(error_type, awaitable, *texts):
    try:
        await awaitable
    except error_type as error:
        assert all(text in str(error) for text in texts), error
        return
    raise AssertionError(f"{texts} did not fail")


async def check_tensors(infer):
    """What both forms of version 2 must answer. `infer` takes a request."""
    for binary in (False, True):
        answer = await infer(request("half_plus_two", {"x": (X, "FP32")}, binary, request_id="one"))
        assert (answer.id, answer.model_name) == ("one", "half_plus_two")
        np.testing.assert_array_equal(answer.get_output_by_name("y").as_numpy(), Y)
    large = np.random.default_rng(1).random((512, 1024))
    answer = await infer(request("identity_fp64", {"x": (large, "FP64")}, True))
    np.testing.assert_array_equal(answer.outputs[0].as_numpy(), large)
    half = np.array([[1.5, -2, 65504]], np.float16)
    answer = await infer(
        request("identity_fp16", {"x": (half, "FP16")}, True, parameters={"binary_data_output": True})
    )
    np.testing.assert_array_equal(answer.outputs[0].as_numpy(), half)
    tensors = {
        "s": (np.array([text.encode() for text in TEXTS], np.object_), "BYTES"),
        "n": (np.array([7, 8], np.int32), "INT32"),
    }
    outputs = [RequestedOutput(name, {"binary_data": True}) for name in ("s_out", "n_out")]
    answer = await infer(request("identity_pair", tensors, True, request_outputs=outputs))
    texts = answer.get_output_by_name("s_out").as_numpy()
    assert [t.decode() if isinstance(t, bytes) else t for t in texts] == TEXTS
    np.testing.assert_array_equal(answer.get_output_by_name("n_out").as_numpy(), [7, 8])


async def check_grpc(address, certificate, token):
    headers = [("authorization", f"Bearer {token}")] if token else None
    options = {"use_ssl": True, "root_certificates": certificate} if certificate else {}
    async with InferenceGRPCClient(address, **options) as client:
        assert await client.is_server_live(headers=headers)
        assert await client.is_server_ready(headers=headers)
        assert await client.is_model_ready("half_plus_two", headers=headers)
        assert not await client.is_model_ready("no_such_model", headers=headers)
        await check_tensors(lambda asked: client.infer(asked, headers=headers))
        unknown = request("no_such_model", {"x": (X, "FP32")}, True)
        await expect(grpc.RpcError, client.infer(unknown, headers=headers), "no_such_model")


async def check_v2(client, url, headers):
    assert await client.is_server_live(url, headers=headers)
    assert await client.is_server_ready(url, headers=headers)
    assert await client.is_model_ready(url, "half_plus_two", headers=headers)
    assert not await client.is_model_ready(url, "no_such_model", headers=headers)
    # The client adds its own headers to those that it is given.
    await check_tensors(
        lambda asked: client.infer(url, asked, model_name=asked.model_name, headers=dict(headers))
    )
    wrong = request("half_plus_two", {"x": (np.ones((2, 2)), "FP64")}, True)
    failing = client.infer(url, wrong, model_name="half_plus_two", headers=dict(headers))
    await expect(httpx.HTTPStatusError, failing, "400", "'x'")


async def check_v1(client, url, headers):
    """Version 1's inferences are TensorFlow Serving's; its states of models and servers are not."""
    answer = await client.infer(url, {"instances": X.tolist()}, "half_plus_two", headers=headers)
    assert answer == {"predictions": Y}
    failing = client.infer(url, {"instances": ["a"]}, "half_plus_two", headers=headers)
    await expect(httpx.HTTPStatusError, failing, "400")


async def check_rest(check, protocol, address, certificate, token):
    headers = {"authorization": f"Bearer {token}"} if token else {}
    verify = ssl.create_default_context(cafile=certificate) if certificate else True
    client = InferenceRESTClient(RESTConfig(protocol=protocol, verify=verify))
    try:
        await check(client, f"{'https' if certificate else 'http'}://{address}", headers)
    finally:
        await client.close()


def main():
    protocol, address, certificate, token = (sys.argv[1:] + [None, None])[:4]
    if protocol == "grpc":
        asyncio.run(check_grpc(address, certificate, token))
    else:
        check = {"v1": check_v1, "v2": check_v2}[protocol]
        asyncio.run(check_rest(check, protocol, address, certificate, token))


if __name__ == "__main__":
    main()
