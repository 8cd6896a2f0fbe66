"""The admin address of a real server: who may use it, over gRPC, REST and `tessera rollout`."""

import datetime
import http.client
import json
import socket
import ssl
import subprocess

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from clients.authority import Authority
from clients.client import SECONDS, Client
from clients.conftest import HALF_PLUS_TWO, assert_serves
from clients.server import REPOSITORY, Model, Server, binary, free_port

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@pytest.fixture(scope="module", name="messages")
def _messages(tmp_path_factory):
    """Message classes of admin.proto by name."""
    file = tmp_path_factory.mktemp("protos") / "set"
    subprocess.run(
        ["protoc", "-Iapis", f"--descriptor_set_out={file}", "--include_imports",
         "tessera/admin.proto"],
        cwd=REPOSITORY,
        check=True,
    )
    pool = descriptor_pool.DescriptorPool()
    for proto in descriptor_pb2.FileDescriptorSet.FromString(file.read_bytes()).file:
        pool.Add(proto)
    return lambda name: message_factory.GetMessageClass(
        pool.FindMessageTypeByName(f"tessera.{name}")
    )


class Admin:
    """A server with a token file, and requests to its admin address."""

    def __init__(self, folder):
        self.tokens = folder / "tokens"
        self.tokens.write_text("secret\nold 2020-01-01T00:00:00Z\n", encoding="utf-8")
        self.port = free_port()
        self.server = Server(
            f"--admin_port={self.port}",
            f"--admin_token_file={self.tokens}",
            models=[Model("m", HALF_PLUS_TWO)],
        )

    def http(self, method, path, token="secret", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection.request(method, path, headers=headers)
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        return reply.status, body

    def raw(self, data):
        """What the server answers to bytes, after which the client sends no more."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            answer = b""
            while part := client.recv(65536):
                answer += part
            return answer

    def command(self, *words, token="secret"):
        file = self.tokens.with_name("client")
        file.write_text(token + "\n", encoding="utf-8")
        return subprocess.run(
            [binary(), "rollout", *words, f"--admin=127.0.0.1:{self.port}",
             f"--token_file={file}"],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )


@pytest.fixture(scope="module", name="running")
def _running(tmp_path_factory):
    admin = Admin(tmp_path_factory.mktemp("admin"))
    with admin.server:
        yield admin


@pytest.fixture
def admin(running):
    yield running
    with Client(running.server) as client:
        assert_serves(running.server, client)
    assert running.http("GET", "/admin/v1/rollouts")[0] == 200


@pytest.mark.parametrize("token", ["", "wrong", "old", "secre", "secret1"])
def test_wrong_tokens_are_refused(admin, token):
    status, body = admin.http("GET", "/admin/v1/rollouts", token=token)
    assert status == 401
    assert json.loads(body)["error"]


def test_a_new_token_counts_at_once(admin):
    before = admin.tokens.read_text(encoding="utf-8")
    later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    admin.tokens.write_text(before + f"new {later.isoformat()}\n", encoding="utf-8")
    assert admin.http("GET", "/admin/v1/rollouts", token="new")[0] == 200
    admin.tokens.write_text(before, encoding="utf-8")
    assert admin.http("GET", "/admin/v1/rollouts", token="new")[0] == 401


def test_models_without_a_rollout_are_not_found(admin):
    assert admin.http("GET", "/admin/v1/rollouts/m")[0] == 404
    assert admin.http("POST", "/admin/v1/rollouts/m:promote")[0] == 404
    assert admin.http("GET", "/admin/v1/rollouts/../../etc/passwd")[0] == 404


@pytest.mark.parametrize(
    "start",
    [b"", b"P", PREFACE[:9], PREFACE[:-1], PREFACE, PREFACE + b"no frame at all, and a long one",
     b"GET /admin/v1/rollouts HTTP/1.1\r\nHost: a"],
)
def test_what_is_cut_short_ends_alone(admin, start):
    admin.raw(start)


def test_huge_headers_are_refused(admin):
    head = b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 200_000 + b"\r\n\r\n"
    assert b" 431 " in admin.raw(head)


@pytest.mark.parametrize("token, code", [("secret", "OK"), ("old", "UNAUTHENTICATED")])
def test_grpc_on_the_same_port(admin, messages, token, code):
    with grpc.insecure_channel(f"127.0.0.1:{admin.port}") as channel:
        call = channel.unary_unary(
            "/tessera.AdminService/ListRollouts",
            request_serializer=messages("ListRolloutsRequest").SerializeToString,
            response_deserializer=messages("ListRolloutsResponse").FromString,
        ).future(
            messages("ListRolloutsRequest")(),
            metadata=[("authorization", f"Bearer {token}")],
            timeout=SECONDS,
        )
        assert call.code().name == code


def test_the_command_says_what_to_do(admin):
    assert admin.command("status").returncode == 0
    absent = admin.command("promote", "m")
    assert absent.returncode == 1 and "'m' has no rollout" in absent.stderr
    wrong = admin.command("status", token="wrong")
    assert wrong.returncode == 1 and "--admin_token_file" in wrong.stderr
    assert admin.command("explode", "m").returncode == 2


@pytest.fixture(scope="module", name="encrypted")
def _encrypted(tmp_path_factory):
    """A server whose admin address wants certificates of clients, their authority, and its port."""
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder, "ours")
    key, cert = authority.sign_files("server")
    port = free_port()
    with Server(
        f"--ssl_certificate_file={cert}", f"--ssl_key_file={key}",
        f"--ssl_client_ca_file={authority.ca_file}", "--admin_ssl", f"--admin_port={port}",
        "--enable_dashboard",
        models=[Model("m", HALF_PLUS_TWO)],
    ) as server:
        yield server, authority, port


def test_both_protocols_are_encrypted(encrypted, messages):
    server, authority, port = encrypted
    key, cert = authority.sign_files("client")
    context = ssl.create_default_context(cafile=authority.ca_file)
    with pytest.raises(OSError):  # TLS 1.3 tells the refusal of a client when that reads
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=SECONDS, context=context)
        connection.request("GET", "/admin/v1/rollouts")
        connection.getresponse()
    context.load_cert_chain(cert, key)
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=SECONDS, context=context)
    for path in ("/admin/v1/rollouts", "/dashboard"):
        connection.request("GET", path)
        reply = connection.getresponse()
        assert reply.status == 200 and reply.read()
    connection.close()

    def call(credentials):
        with grpc.secure_channel(f"127.0.0.1:{port}", credentials) as channel:
            call = channel.unary_unary(
                "/tessera.AdminService/ListRollouts",
                request_serializer=messages("ListRolloutsRequest").SerializeToString,
                response_deserializer=messages("ListRolloutsResponse").FromString,
            ).future(messages("ListRolloutsRequest")(), timeout=SECONDS)
            return call.code().name

    roots = authority.ca_file.read_bytes()
    assert call(grpc.ssl_channel_credentials(roots, key.read_bytes(), cert.read_bytes())) == "OK"
    assert call(grpc.ssl_channel_credentials(roots)) == "UNAVAILABLE"
    assert server.http("GET", "/livez")[0] == 200, "REST stays plain without its own flag"


def test_a_client_that_offers_both_protocols_gets_pages(encrypted):
    """Browsers and curl prefer HTTP/2, which only gRPC speaks here."""
    _, authority, port = encrypted
    key, cert = authority.sign_files("browser")
    page = subprocess.run(
        ["curl", "--silent", "--fail", "--http2", "--cacert", authority.ca_file, "--cert", cert,
         "--key", key, f"https://127.0.0.1:{port}/dashboard"],
        capture_output=True, text=True, timeout=SECONDS, check=True,
    )
    assert "</html>" in page.stdout.lower()


def test_the_command_reaches_an_encrypted_address(encrypted):
    _, authority, port = encrypted
    key, cert = authority.sign_files("command")

    def command(*flags):
        return subprocess.run(
            [binary(), "rollout", "status", f"--admin=127.0.0.1:{port}", *flags],
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )

    known = command(f"--ca={authority.ca_file}", f"--cert={cert}", f"--key={key}")
    assert known.returncode == 0, known.stderr
    plain = command()
    assert plain.returncode == 1 and "--ca=FILE" in plain.stderr


def test_calls_of_an_encrypted_address_end_with_the_server(encrypted, messages):  # the last one
    server, authority, port = encrypted
    key, cert = authority.sign_files("watcher")
    credentials = grpc.ssl_channel_credentials(
        authority.ca_file.read_bytes(), key.read_bytes(), cert.read_bytes()
    )
    with grpc.secure_channel(f"127.0.0.1:{port}", credentials) as channel:
        watch = channel.unary_stream(
            "/tessera.AdminService/WatchEvents",
            request_serializer=messages("WatchEventsRequest").SerializeToString,
            response_deserializer=messages("RolloutEvent").FromString,
        )(messages("WatchEventsRequest")())
        grpc.channel_ready_future(channel).result(timeout=SECONDS)
        assert server.stop() == 0
        with pytest.raises(grpc.RpcError):
            list(watch)


def test_health(admin):
    for flag in (f"--rest_api_port={admin.server.rest_port}", f"--port={admin.server.grpc_port}"):
        assert subprocess.run([binary(), "health", flag], check=False).returncode == 0
    closed = f"--rest_api_port={free_port()}"
    assert subprocess.run([binary(), "health", closed], check=False).returncode == 1
