"""TLS from certificate files, for REST and gRPC: who is answered, certificates that are replaced while
the server runs, and clients that speak something else."""

import contextlib
import hashlib
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess

import pytest

from clients.authority import Authority
from clients.conftest import HALF_PLUS_TWO
from clients.server import Model, Server, StartError
from clients.test_command_line import done, tessera
from clients.test_tls import ask, assert_not_answered

SECONDS = 20
MODELS = [Model("m", HALF_PLUS_TWO)]
BODY = b'{"instances": [1.0, 2.0]}'


@pytest.fixture(scope="module", name="authority")
def _authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"), "ours")


@pytest.fixture(scope="module", name="stranger")
def _stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"), "theirs")


def context(authority, client=None):
    """What a client trusts, and the files of the key and certificate that it shows."""
    result = ssl.create_default_context(cafile=authority.ca_file)
    if client is not None:
        key, cert = client
        result.load_cert_chain(cert, key)
    return result


class Files:
    """A certificate and its key, which can be replaced."""

    def __init__(self, folder, authority):
        self.key, self.cert = folder / "key.pem", folder / "cert.pem"
        self._authority = authority
        self.replace("server")

    def replace(self, name, which=("cert", "key")):
        """New ones; returns the digest of the certificate."""
        key, cert = self._authority.sign_files(name)
        for part, source in (("cert", cert), ("key", key)):
            if part in which:
                shutil.copy(source, f"{self.key}.new")
                os.replace(f"{self.key}.new", getattr(self, part))
        return digest(ssl.PEM_cert_to_DER_cert(cert.read_text(encoding="utf-8")))

    @property
    def flags(self):
        return [f"--ssl_certificate_file={self.cert}", f"--ssl_key_file={self.key}"]


def digest(certificate):
    return hashlib.sha256(certificate).hexdigest()


@pytest.fixture(name="files")
def _files(tmp_path, authority):
    return Files(tmp_path, authority)


@pytest.fixture(name="start")
def _start(files, authority):
    """start(flags..., client=(key, certificate)) -> a server with TLS on both ports."""
    with contextlib.ExitStack() as stack:

        def start(*flags, client=None):
            tls = context(authority, client)
            flags = [*files.flags, "--rest_api_ssl", "--enable_grpc_healthcheck_service", *flags]
            return stack.enter_context(Server(*flags, models=MODELS, tls=tls))

        yield start


@pytest.fixture(name="server")
def _server(start):
    return start()


def predicts(server, authority, *client):
    """Asserts that the model answers by both protocols."""
    assert ask(server, authority.cert, *client) == [2.5]
    status, _, body = server.http("POST", "/v1/models/m:predict", BODY)
    assert (status, json.loads(body)) == (200, {"predictions": [2.5, 3.0]})


def curl(server, *arguments, scheme="https", path="/v1/models/m"):
    url = f"{scheme}://localhost:{server.rest_port}{path}"
    return subprocess.run(
        ["curl", "--silent", "--show-error", "--ipv4", "--max-time", str(SECONDS), *arguments, url],
        capture_output=True,
        check=False,
    )


def s_client(server, *arguments):
    """What openssl's client prints of a connection."""
    run = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.rest_port}", *arguments],
        input=b"",
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return (run.stdout + run.stderr).decode(errors="replace")


def shown(server, authority, port=None):
    """The digest of the certificate that a new connection gets."""
    address = ("127.0.0.1", port or server.rest_port)
    offered = context(authority)
    offered.set_alpn_protocols(["h2"] if port else ["http/1.1"])
    with socket.create_connection(address, SECONDS) as plain:
        with offered.wrap_socket(plain, server_hostname="localhost") as encrypted:
            return digest(encrypted.getpeercert(binary_form=True))


def test_one_certificate_is_for_both_protocols(server, authority, stranger):
    predicts(server, authority)
    assert_not_answered(server)
    assert_not_answered(server, stranger.cert)
    answer = curl(server, "--cacert", authority.ca_file)
    assert json.loads(answer.stdout)["model_version_status"][0]["state"] == "AVAILABLE"
    assert curl(server, "--cacert", stranger.ca_file).returncode == 60  # no trust
    assert server.http("GET", "/v2/health/ready")[0] == 200


def test_rest_is_plain_unless_asked_for(files, authority):
    with Server(*files.flags, models=MODELS) as server:
        assert ask(server, authority.cert) == [2.5]
        assert server.http("GET", "/v1/models/m")[0] == 200
        assert "REST is not encrypted" in server.log()


def test_what_openssl_sees(server, authority):
    text = s_client(server, "-alpn", "h2,http/1.1", "-CAfile", str(authority.ca_file))
    assert "ALPN protocol: http/1.1" in text
    assert "Verify return code: 0 (ok)" in text
    assert "no application protocol" in s_client(server, "-alpn", "h2")
    assert "Protocol  : TLSv1.2" in s_client(server, "-tls1_2")
    assert "no protocols available" in s_client(server, "-tls1") or "alert protocol version" in (
        s_client(server, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
    )


def test_clients_show_a_certificate_where_an_authority_is_named(start, authority, stranger):
    client = authority.sign_files("client")
    server = start(f"--ssl_client_ca_file={authority.ca_file}", client=client)
    pem = [part.read_text(encoding="utf-8") for part in client]
    predicts(server, authority, *pem)
    refused = [None, stranger.sign_files("client"), authority.sign_files("late", days=-1)]
    for files in refused:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connection = http.client.HTTPSConnection(
                "localhost", server.rest_port, timeout=SECONDS, context=context(authority, files)
            )
            connection.request("GET", "/v1/models/m")
            connection.getresponse()
        credentials = [part.read_text(encoding="utf-8") for part in files or ()]
        assert_not_answered(server, authority.cert, *credentials)
    # A session that is resumed is one of a client that was believed.
    with_key = ["--cacert", authority.ca_file, "--key", client[0], "--cert", client[1]]
    assert curl(server, *with_key).returncode == 0
    assert "Reused, " in s_client(
        server, "-reconnect", "-tls1_2", "-key", str(client[0]), "-cert", str(client[1])
    )
    predicts(server, authority, *pem)


def test_new_connections_get_a_new_certificate(server, files, authority):
    before = shown(server, authority)
    kept = http.client.HTTPSConnection(
        "localhost", server.rest_port, timeout=SECONDS, context=context(authority)
    )
    kept.request("GET", "/v1/models/m")
    assert kept.getresponse().read()
    after = files.replace("next")
    assert after != before
    assert shown(server, authority) == after
    assert shown(server, authority, server.grpc_port) == after
    kept.request("POST", "/v1/models/m:predict", BODY)  # what is connected stays so
    assert kept.getresponse().status == 200
    kept.close()
    assert "the certificates for TLS were read again" in server.log()
    predicts(server, authority)


def test_a_new_certificate_that_does_not_fit_its_key_is_refused(server, files, authority):
    before = shown(server, authority)
    fitting = files.replace("next", which=["cert"])
    for port in (None, server.grpc_port):
        assert shown(server, authority, port) == before
    assert "the private key does not belong to the server's certificate" in server.log()
    assert "the last ones stay in force" in server.log()
    files.cert.unlink()
    assert shown(server, authority) == before
    predicts(server, authority)
    fitting = files.replace("next")
    for port in (None, server.grpc_port):
        assert shown(server, authority, port) == fitting
    predicts(server, authority)


def test_new_authorities_of_clients_count(start, authority, stranger, tmp_path):
    believed = tmp_path / "clients.pem"
    shutil.copy(authority.ca_file, believed)
    ours, theirs = authority.sign_files("client"), stranger.sign_files("client")
    server = start(f"--ssl_client_ca_file={believed}", client=ours)
    keys = ["--cacert", authority.ca_file]
    assert curl(server, *keys, "--key", theirs[0], "--cert", theirs[1]).returncode != 0
    shutil.copy(stranger.ca_file, tmp_path / "new.pem")
    os.replace(tmp_path / "new.pem", believed)
    assert curl(server, *keys, "--key", theirs[0], "--cert", theirs[1]).returncode == 0
    assert curl(server, *keys, "--key", ours[0], "--cert", ours[1]).returncode != 0
    pem = [part.read_text(encoding="utf-8") for part in theirs]
    assert ask(server, authority.cert, *pem) == [2.5]


def test_certificates_in_the_text_proto_are_read_again(tmp_path, authority):
    file = tmp_path / "ssl.config"

    def write(name):
        key, cert = authority.sign(name)
        text = f"server_key: {json.dumps(key)}\nserver_cert: {json.dumps(cert)}"
        (tmp_path / "new").write_text(text, encoding="utf-8")
        os.replace(tmp_path / "new", file)
        return digest(ssl.PEM_cert_to_DER_cert(cert))

    first = write("first")
    flags = [f"--ssl_config_file={file}", "--rest_api_ssl"]
    with Server(*flags, models=MODELS, tls=context(authority)) as server:
        assert shown(server, authority) == first
        second = write("second")
        assert shown(server, authority) == second
        assert shown(server, authority, server.grpc_port) == second
        predicts(server, authority)


def test_http_on_the_port_of_https_is_told_so(server, authority):
    answer = curl(server, "--write-out", "%{http_code}", scheme="http")
    assert answer.stdout.endswith(b"400"), answer
    assert b"https://" in answer.stdout
    code, _, err = tessera("health", f"--rest_api_port={server.rest_port}")
    assert code == 1 and "--ca=FILE" in err
    for port, nonsense in ((server.rest_port, b"\0" * 1000), (server.grpc_port, b"GET / HTTP/1.1\r\n")):
        with socket.create_connection(("127.0.0.1", port), SECONDS) as plain:
            plain.sendall(nonsense)
            plain.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while plain.recv(1000):
                    pass
    predicts(server, authority)


def test_https_on_the_port_of_http_fails_for_that_client_alone(authority):
    with Server(models=MODELS) as server:
        assert curl(server, "--cacert", authority.ca_file).returncode == 35  # no TLS there
        assert_not_answered(server, authority.cert)
        assert "wrong version number" in s_client(server)
        assert server.http("GET", "/v1/models/m")[0] == 200
        assert ask(server) == [2.5]


def test_large_bodies_and_many_requests_on_a_connection(server, authority, tmp_path):
    values = [i / 2 for i in range(1_000_000)]
    (tmp_path / "body").write_text(json.dumps({"instances": values}), encoding="utf-8")
    answer = curl(  # which waits to be told that it may send so much
        *(server, "--cacert", authority.ca_file, "--data-binary", f"@{tmp_path / 'body'}"),
        path="/v1/models/m:predict",
    )
    assert json.loads(answer.stdout)["predictions"][-1] == values[-1] / 2 + 2
    connection = http.client.HTTPSConnection(
        "localhost", server.rest_port, timeout=SECONDS, context=context(authority)
    )
    for _ in range(100):
        connection.request("POST", "/v1/models/m:predict", BODY)
        assert json.loads(connection.getresponse().read()) == {"predictions": [2.5, 3.0]}
    connection.close()


@pytest.mark.parametrize(
    "request_bytes, status",
    [
        (b"GET /v1/models/m HTTP/1.0\r\n\r\n", b"HTTP/1.0 200"),
        (b"GET /v1/models/m HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", b"HTTP/1.1 200"),
        # The body of a request that is refused is read, so that the reply is not lost.
        (
            b"POST /v1/models/m:predict HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000000\r\n\r\n"
            + b"x" * 100_000,
            b"HTTP/1.1 413",
        ),
    ],
)
def test_the_end_of_a_reply_is_told_apart_from_a_cut(server, authority, request_bytes, status):
    with socket.create_connection(("127.0.0.1", server.rest_port), SECONDS) as plain:
        with context(authority).wrap_socket(
            plain, server_hostname="localhost", suppress_ragged_eofs=False
        ) as encrypted:
            encrypted.sendall(request_bytes)
            reply = b""
            while part := encrypted.recv(1 << 16):  # an end that was not told raises an error
                reply += part
    assert reply.startswith(status)


@pytest.mark.parametrize(
    "flags, reason",
    [
        (["--ssl_certificate_file={cert}"], "set both ssl_certificate_file and ssl_key_file"),
        (["--ssl_certificate_file={cert}", "--ssl_key_file={cert}"], "private key is no PEM text"),
        (["--ssl_certificate_file={cert}", "--ssl_key_file=/none"], "/none"),
        (["--rest_api_ssl"], "rest_api_ssl needs a certificate"),
        (["--use_alts_credentials"], "ALTS works on machines of Google Cloud alone"),
        (
            ["--use_alts_credentials", "--port=0", "--grpc_socket_path={cert}.socket"],
            "ALTS works on machines of Google Cloud alone",
        ),
    ],
)
def test_a_wrong_start_says_why(files, flags, reason):
    with pytest.raises(StartError) as error:
        Server(*[flag.format(cert=files.cert) for flag in flags], models=MODELS)
    assert "ended with code 255" in str(error.value)
    assert reason in str(error.value)


@pytest.fixture(name="secured")
def _secured(start, authority, tmp_path):
    """A server that asks for a certificate and a token, and the flags with both."""
    key, cert = client = authority.sign_files("client")
    (tmp_path / "tokens").write_text("secret\n", encoding="utf-8")
    flags = [f"--token_file={tmp_path / 'tokens'}"]
    server = start(f"--ssl_client_ca_file={authority.ca_file}", *flags, client=client)
    return server, [f"--ca={authority.ca_file}", f"--cert={cert}", f"--key={key}", *flags]


@pytest.mark.parametrize("protocol", ["grpc", "rest"])
def test_our_commands_show_a_certificate_and_a_token(secured, protocol):
    server, flags = secured
    port = server.grpc_port if protocol == "grpc" else server.rest_port
    at = [f"--server=localhost:{port}", *(["--rest"] if protocol == "rest" else [])]
    predict = ["client", "predict", "m", *at, "--input=x=[1]"]
    assert done(*predict, *flags) == "y: float[1] [2.5]\n"
    out = done("bench", "--model=m", *at, "--seconds=0.2", "--warmup=0", "--json", *flags)
    assert json.loads(out)["failed"] == 0
    where = f"--port={port}" if protocol == "grpc" else f"--rest_api_port={port}"
    assert done("health", where, *flags[:3]) == "ready\n"  # a probe needs no token
    assert done("health", where, *flags[:3], "--server_name=localhost") == "ready\n"
    plain = "--ca=FILE" if protocol == "grpc" else "https://"
    for left_out, reason in ((flags[:3], "--token_file=FILE"), (flags[3:], plain)):
        code, _, error = tessera(*predict, *left_out)
        assert code == 1 and reason in error
    code, _, error = tessera(*predict, *flags, "--server_name=elsewhere")
    assert code == 1 and "is --ca its authority?" in error
    assert tessera("health", where)[0] == 1


def test_profiles_are_taken_with_a_certificate_and_a_token(secured, tmp_path):
    server, flags = secured
    address = f"localhost:{server.grpc_port}"
    trace = tmp_path / "trace.json"
    code, out, error = tessera("profile", address, "--duration=0.1", f"--output={trace}", *flags)
    assert code == 0 and "wrote" in out, error
    assert tessera("profile", address, f"--output={trace}", *flags[:3])[0] == 1


@pytest.mark.parametrize(
    "flags, reason",
    [
        (["--cert=c", "--key=k"], "need --ca"),
        (["--server_name=s"], "need --ca"),
        (["--ca=c", "--cert=c"], "need each other"),
    ],
)
def test_flags_of_a_connection_that_do_not_fit_together(flags, reason):
    code, _, error = tessera("client", "status", "m", *flags)
    assert code == 2 and reason in error
