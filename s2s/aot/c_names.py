"""C identifiers: names reserved by C, its standard library or the loader, and valid replacements.

The name of a parameter in a prototype has no effect, so a reserved one gets an underscore appended.
A reserved name of an exported symbol is an error instead, because programs link against it.
"""

from __future__ import annotations

import ast
import builtins
import functools
import keyword
import re
from pathlib import Path

from ..errors import S2SValueError
from ..transforms.ir.quote import c_identifier

# Keywords of C and C++, and identifiers that the generated header uses.
_KEYWORDS = """
alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool
break case catch char char8_t char16_t char32_t class co_await co_return co_yield compl concept
const const_cast consteval constexpr constinit continue contract_assert decltype default delete do
double dynamic_cast else enum explicit export extern false far float for fortran friend goto huge if
inline int long mutable namespace near new noexcept not not_eq nullptr operator or or_eq pascal
private protected public reflexpr register reinterpret_cast requires restrict return short signed
sizeof static static_assert static_cast struct switch synchronized template this thread_local throw
true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile
wchar_t while xor xor_eq state workspace workspace_bytes size_t int8_t int16_t int32_t int64_t
uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t ptrdiff_t
"""

# Lower-case macros of compilers and standard headers, and common upper-case macros.
_MACROS = """
linux unix i386 sun vax mips arm errno stdin stdout stderr complex imaginary assert offsetof
math_errhandling noreturn signbit isnan isinf isfinite isnormal isless isgreater isunordered
setjmp va_start va_end va_arg va_copy sa_handler sa_sigaction si_addr si_addr_lsb si_arch si_band
si_call_addr si_fd si_int si_lower si_overrun si_pid si_pkey si_ptr si_status si_stime si_syscall
si_timerid si_uid si_upper si_utime si_value sigev_notify_attributes sigev_notify_function st_atime
st_ctime st_mtime L_ctermid L_cuserid L_tmpnam P_tmpdir interface small I NULL EOF NAN
INFINITY BUFSIZ
"""

RESERVED = frozenset(_KEYWORDS.split()) | frozenset(_MACROS.split())

# By convention a macro has no lower-case letter.  Names that begin with two underscores, or one and
# a capital, are reserved for the implementation.  `W` and `W1` are allowed: they are common names
# of arrays.
_LIKE_MACRO = re.compile(r"_[_A-Z]\w*|(?![A-Z]\d*$)[A-Z_][A-Z0-9_]*|(?:PRI|SCN)[a-zA-Z]\w*")

# Functions of the C library and of POSIX.  A library that exports one of these names would
# interpose it for the whole program.
_FUNCTIONS = """
abort abs accept access acos aligned_alloc alarm asctime atexit atof atoi atol atoll bind bsearch
calloc chdir chmod chown clearerr clock clock_gettime close closedir connect creat ctime difftime
div dlclose dlerror dlopen dlsym dup dup2 environ execl execv execve execvp exit fchmod fclose
fcntl fdopen feof ferror fflush fgetc fgetpos fgets fileno fopen fork fprintf fputc fputs fread
free freopen fscanf fseek fsetpos fstat fsync ftell ftruncate fwrite getc getchar getcwd getenv
getpid gets getuid gmtime index ioctl isalnum isalpha isatty iscntrl isdigit isgraph islower isprint
ispunct isspace isupper isxdigit kill labs ldiv link listen llabs lldiv localeconv localtime longjmp
lseek lstat main malloc mblen mbstowcs mbtowc memchr memcmp memcpy memmem memmove memset mkdir
mkstemp mktime mlock mmap mount mprotect munmap nanosleep open opendir pause perror pipe poll
posix_memalign printf pthread_create putc putchar putenv puts qsort quick_exit raise rand random
read readdir readlink realloc recv remove rename rewind rindex rmdir scanf select send setbuf
setenv setlocale setvbuf shutdown sigaction signal sleep snprintf socket sprintf srand srandom
sscanf stat strcat strchr strcmp strcoll strcpy strcspn strdup strerror strftime strlen strncat
strncmp strncpy strndup strnlen strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold
strtoll strtoul strtoull strxfrm swab symlink sync sysconf system tcsetattr time timespec_get
tmpfile tmpnam tolower toupper truncate ttyname umask uname ungetc unlink unsetenv usleep vfork
vfprintf vprintf vsnprintf vsprintf wait waitpid wcslen wcstombs wctomb write
"""
FUNCTIONS = frozenset(_FUNCTIONS.split())

# Global names that the wrapper functions of a generated loader refer to.
WRAPPER_GLOBALS = frozenset(
    ["_fixed", "_chosen", "namedtuple", "SimpleNamespace", "float", "getattr"]
)
RUNTIME_FILE = Path(__file__).with_name("loader_runtime.py")


@functools.cache
def loader_globals() -> frozenset[str]:
    """The global names that the generated Python loader of a library uses or defines."""
    tree = ast.parse(RUNTIME_FILE.read_text())
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and hasattr(builtins, n.id)}
    made = {s.name for s in tree.body if isinstance(s, (ast.FunctionDef, ast.ClassDef))}
    return frozenset(
        {*used, *made, *WRAPPER_GLOBALS, "np", "os", "ctypes", "_library", "_WORKSPACE"}
    )


def parameter(name: str) -> str:
    """A valid, unreserved C parameter name made from any text."""
    name = c_identifier(name)
    if not re.match(r"[A-Za-z_]", name) or name == "I" or _LIKE_MACRO.fullmatch(name):
        name = f"p_{name}"
    return f"{name}_" if name in RESERVED else name


def is_size(name: str) -> bool:
    """True if a size parameter may have this name, in C and in Python."""
    taken = name in RESERVED or keyword.iskeyword(name) or name.startswith("_")
    return name.isascii() and not taken


def check_symbol(name: str, what: str) -> str:
    """Return the name of a library or of a function in it; raise S2SValueError if C or Python
    cannot use it."""
    advice = "choose another name, of letters, digits and underscores"
    if not re.fullmatch(r"[A-Za-z]\w*|_[a-z0-9]\w*", name, re.ASCII):
        raise S2SValueError(f"{name!r} is no name for a {what}", advice=advice)
    if name in RESERVED or name in FUNCTIONS or _LIKE_MACRO.fullmatch(name):
        raise S2SValueError(f"{name} means something else in C", advice=advice)
    if keyword.iskeyword(name) or name in loader_globals():
        raise S2SValueError(f"{name} means something else in Python", advice=advice)
    return name


class Unique:
    """Generates unique names: a name that is taken gets a numeric suffix."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def __call__(self, name: str) -> str:
        unique, number = name, 1
        while unique in self.taken:
            number += 1
            unique = f"{name}_{number}"
        self.taken.add(unique)
        return unique
