"""The normal forms of the package tokenizers, as the hash that TestNormalForms (model/text) holds.

Each line is a form of one code point below U+30000, then the canonical order of it beside four marks of other classes.
"""

import hashlib

import tokenizers
from tokenizers import normalizers

forms = [normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD()]
marks = "\u0338\u0316\u0301\u0345"  # classes 1, 220, 230, 240
h = hashlib.sha256()
for code in range(0x30000):
    if 0xD800 <= code < 0xE000:
        continue
    c = chr(code)
    lines = [f.normalize_str(c) for f in forms]
    lines += [forms[1].normalize_str(text) for m in marks for text in ("x" + m + c, "x" + c + m)]
    h.update("".join(line + "\n" for line in lines).encode())
print(tokenizers.__version__, h.hexdigest())
