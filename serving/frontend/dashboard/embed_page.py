"""Writes a C++ file that holds a page: its gzip bytes, and the hashes of its script and style.

A line `@include FILE` of the page stands for that file, which lies beside it.

    embed_page.py page.html > dashboard_page_data.cc
"""

import base64
import gzip
import hashlib
import pathlib
import re
import sys


def read_page(path):
    """The whole page, as one file."""
    return re.sub(
        rb"^@include (\S+)$",
        lambda include: (path.parent / include[1].decode()).read_bytes().rstrip(),
        path.read_bytes(),
        flags=re.MULTILINE,
    )


def content_of(tag, page):
    """The text of the one element of this kind."""
    (text,) = re.findall(f"<{tag}>(.*?)</{tag}>".encode(), page, re.DOTALL)
    return text


def content_hash(text):
    """As a Content-Security-Policy names the text of an element."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text).digest()).decode()


def embed(page):
    compressed = gzip.compress(page, mtime=0)
    numbers = ",".join(str(byte) for byte in compressed)
    return f"""#include "serving/frontend/dashboard/dashboard_page.h"

namespace tessera::serving {{

constexpr unsigned char kBytes[] = {{{numbers}}};
const absl::string_view kDashboardGzip(reinterpret_cast<const char*>(kBytes), sizeof(kBytes));
const absl::string_view kDashboardScriptHash = "{content_hash(content_of('script', page))}";
const absl::string_view kDashboardStyleHash = "{content_hash(content_of('style', page))}";

}}  // namespace tessera::serving
"""


if __name__ == "__main__":
    print(embed(read_page(pathlib.Path(sys.argv[1]))), end="")
