"""Writes a C++ file that holds the files of `tessera train --init digits` as arrays of bytes.

    embed.py digits.zz forward.pbtxt job.yaml > digits_files.cc
"""

import pathlib
import re
import sys


def constant(path):
    """kDigitsZz for digits.zz."""
    words = re.findall(r"[a-z]+", path.name)
    numbers = ",".join(str(byte) for byte in path.read_bytes())
    name = "".join(word.capitalize() for word in words)
    size = path.stat().st_size
    return (
        f"static const unsigned char {name}[] = {{{numbers}}};\n"
        f"extern const absl::string_view k{name}(reinterpret_cast<const char*>({name}), {size});\n"
    )


print('#include "serving/commands/digits/digits_files.h"\n\nnamespace tessera::serving {\n')
for argument in sys.argv[1:]:
    print(constant(pathlib.Path(argument)))
print("}  // namespace tessera::serving")
