"""Certificates for tests, made by the program openssl."""

import subprocess


class Authority:
    """A certificate authority that signs for localhost and 127.0.0.1."""

    def __init__(self, folder, name):
        self.folder = folder / name
        self.folder.mkdir()
        (self.folder / "names").write_text(
            "subjectAltName=DNS:localhost,IP:127.0.0.1", encoding="utf-8"
        )
        self._openssl("req", "-x509", "-subj", f"/CN={name}", *self._new_key("ca"), "-out", "ca.crt")
        self.ca_file = self.folder / "ca.crt"
        self.cert = self._read("ca.crt")

    def sign(self, name, days=30):
        """A key and a certificate for it, which has expired for less than 0 days."""
        self._openssl("req", "-subj", f"/CN={name}", *self._new_key(name), "-out", f"{name}.csr")
        self._openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key"),
            *("-CAcreateserial", "-days", str(days), "-extfile", "names", "-out", f"{name}.crt"),
        )
        return self._read(f"{name}.key"), self._read(f"{name}.crt")

    def sign_files(self, name, days=30):
        """The paths of a key and a certificate for it."""
        self.sign(name, days)
        return self.folder / f"{name}.key", self.folder / f"{name}.crt"

    @staticmethod
    def _new_key(name):
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        return [*curve, "-nodes", "-keyout", f"{name}.key"]

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def _read(self, name):
        return (self.folder / name).read_text(encoding="utf-8")
