"""Reads YAML files, renders the Helm chart, and checks both by published schemas."""

import ast
import json
import pathlib
import subprocess

from clients.server import REPOSITORY

KUBERNETES = REPOSITORY / "config" / "kubernetes"
LOAD = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))"


class Schemas:
    """The environment `manifests` of scripts/python_env: a YAML reader, Helm and the schemas."""

    def __init__(self):
        run = subprocess.run(
            [REPOSITORY / "scripts" / "python_env", "manifests"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        self._python = pathlib.Path(run.stdout.strip())

    def load(self, text):
        """The documents of a YAML text."""
        command = [self._python, "-c", LOAD]
        run = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(run.stdout)

    def read(self, path):
        """The one document of a file."""
        (document,) = self.load(path.read_text(encoding="utf-8"))
        return document

    def render(self, chart, values=""):
        """{kind: document} of a chart that is installed as `tessera`, with these values as YAML."""
        helm = self._python.with_name("helm")
        subprocess.run([helm, "lint", "--strict", chart], stdout=subprocess.DEVNULL, check=True)
        command = [helm, "template", "tessera", chart, "--values=-"]
        run = subprocess.run(command, input=values, stdout=subprocess.PIPE, text=True, check=True)
        documents = [document for document in self.load(run.stdout) if document]
        by_kind = {document["kind"]: document for document in documents}
        assert len(by_kind) == len(documents)
        return by_kind

    def problems_of_compose(self, path):
        """What is wrong with a Compose file, "" if nothing is."""
        return self._output("check-jsonschema", "--builtin-schema", "vendor.compose-spec", path)

    def problems_of_resource(self, path, version):
        """What is wrong with a resource in a version of Kubernetes; unknown fields are."""
        return self._output("kubernetes-validate", "--strict", "-k", version, path)

    def unknown_to_kserve(self, type_name, value):
        """The fields of a value that a type of KServe does not have, as paths."""
        fields = self._fields(type_name)
        unknown = []
        for name, part in value.items():
            if name not in fields:
                unknown.append(f"{type_name}.{name}")
            elif fields[name].removeprefix("list[").startswith("V1alpha1"):
                inner = fields[name].removeprefix("list[").removesuffix("]")
                for item in part if isinstance(part, list) else [part]:
                    unknown += self.unknown_to_kserve(inner, item)
        return unknown

    def _output(self, program, *arguments):
        run = subprocess.run(
            [self._python.with_name(program), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return run.stdout if run.returncode else ""

    def _fields(self, type_name):
        """{name in YAML: type} of a generated class, whose dictionaries of names are literals."""
        words = type_name.removeprefix("V1alpha1")
        snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in words)
        (file,) = self._python.parents[1].glob(f"lib/*/site-packages/kserve/models/v1alpha1{snake}.py")
        (body,) = [
            node.body
            for node in ast.parse(file.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ClassDef)
        ]
        names = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        }
        types = names["openapi_types"]
        return {shown: types[name] for name, shown in names["attribute_map"].items()}
