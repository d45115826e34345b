"""Cases that do not work yet, and why.  Each is a strict expected failure: the test suite
says so when one begins to work, and its line must then go.

A key is a case's name, or "name[backend]" or "name[backend-dtype]" where only that fails."""

KNOWN: dict[str, str] = {}
