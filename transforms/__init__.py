"""The compiler of s2s: text, types and an environment in, text out.

It is pure: it never imports numba, nor anything of `s2s` outside this package.  `pipeline` is
the ordered list of passes, and each pass has a file of its name.
"""

if __name__ != "s2s.transforms":
    # A second copy under another name would have classes and rule tables of its own.
    raise ImportError(f"import the compiler as s2s.transforms, not as {__name__}")
