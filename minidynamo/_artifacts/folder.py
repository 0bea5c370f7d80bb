"""The folder that artifacts are kept in: files by key, checked as they are read, and removed where they grow too many.

    <folder>/entries/<key>          one compiled graph
    <folder>/libraries/<digest>.so  kernels; the name is the SHA-256 of the content
    <folder>/answers/<digest>       an empty file: the answer to a query of the compiler was yes

An entry is code that is run when it is loaded, like an entry of torch's own cache. The folder is read only if it belongs to this user
and no other user may write to it. Digests find damage, not malice. Files are written under another name and renamed, so that a reader
sees all of one or none; processes that write or remove files wait for each other.
"""

import contextlib
import hashlib
import marshal
import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from minidynamo import config
from minidynamo._records import log_records

_MAGIC = b"minidynamo artifact\n"
_DIGEST_LENGTH = 32
_PARTS = ("entries", "libraries", "answers")
_PART_LEFT = 0.75  # share of the limit, after a removal


class Damaged(Exception):
    """A file that is not as it was written."""


class Untrusted(Exception):
    """A folder that others may write to."""


def path() -> str:
    """The folder: `config.artifact_folder`, or the user's folder for caches."""
    if config.artifact_folder:
        return config.artifact_folder
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "minidynamo")


def _check_owner(folder: str) -> None:
    owner = os.stat(folder)
    if owner.st_uid != os.getuid() or owner.st_mode & 0o022:
        raise Untrusted(f"artifacts in {folder} are not used: the folder has to belong to this user, and be writable by no other user")


def read(key: str) -> Any:
    """The entry of a key: what was written, or None if there is none.

    Raises Damaged for a damaged one.
    """
    name = _entry(key)
    try:
        content = _content(name)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    try:
        entry = parsed(content)
    except Damaged:
        raise Damaged(f"the artifact {name} is damaged, and made anew") from None
    with contextlib.suppress(OSError):
        os.utime(name)  # the least recently used go first
    return entry


def _entry(key: str) -> str:
    return os.path.join(path(), "entries", key)


def _content(name: str) -> bytes:
    _check_owner(path())
    with open(name, "rb") as file:
        return file.read()


def parsed(content: bytes) -> Any:
    """The entry that a file holds.

    Raises Damaged if it is damaged.
    """
    start = len(_MAGIC) + _DIGEST_LENGTH
    if not content.startswith(_MAGIC) or hashlib.sha256(content[start:]).digest() != content[len(_MAGIC) : start]:
        raise Damaged("a damaged artifact")
    return marshal.loads(content[start:])


def library_path(digest: str) -> str:
    """The path of a library whose content is what it was.

    Raises Damaged if it is not, FileNotFoundError if there is none.
    """
    _check_library(name := _library(digest), _content(name), digest)
    return name


def _library(digest: str) -> str:
    return os.path.join(path(), "libraries", f"{digest}.so")


def _check_library(name: str, content: bytes, digest: str) -> None:
    if hashlib.sha256(content).hexdigest() != digest:
        raise Damaged(f"the library {name} is damaged, and made anew")


def files_of(key: str) -> tuple[bytes, dict[str, bytes]]:
    """The content of an entry's file, and of its libraries by their digests.

    Raises Damaged if one is, FileNotFoundError if one is gone.
    """
    content = _content(_entry(key))
    libraries = {}
    for digest in libraries_of(parsed(content)):
        libraries[digest] = _content(_library(digest))
        _check_library(_library(digest), libraries[digest], digest)
    return content, libraries


def write(key: str, entry: Any, libraries: dict[str, bytes]) -> None:
    """Writes an entry and its libraries, also over what there is, which may be damaged. OSError if it cannot be."""
    content = marshal.dumps(entry)
    with _locked() as folder:
        for digest, library in libraries.items():
            _replace(os.path.join(folder, "libraries", f"{digest}.so"), library)
        _replace(os.path.join(folder, "entries", key), _MAGIC + hashlib.sha256(content).digest() + content)
        _remove_least_used(folder, keep=key)


def is_known(name: str) -> bool:
    """True if the answer to a query about this machine is known to be yes."""
    _check_owner(path())
    return os.path.exists(os.path.join(path(), "answers", name))


def make_known(name: str) -> None:
    """Keeps that the answer to a question is yes."""
    with _locked() as folder:
        _replace(os.path.join(folder, "answers", name), b"")


def clear() -> int:
    """Removes all artifacts, and says how many entries there were."""
    if not os.path.isdir(path()):
        return 0
    with _locked() as folder:
        files = _files(folder)
        for name, _, _ in files:
            _remove(name)
        return sum(os.path.basename(os.path.dirname(name)) == "entries" for name, _, _ in files)


def contents() -> list[tuple[str, int, float]]:
    """The entries: key, bytes without libraries, and when it was last used (seconds since the epoch)."""
    entries = os.path.join(path(), "entries")
    return [(os.path.basename(name), size, used) for name, size, used in _files(path()) if os.path.dirname(name) == entries]


def size() -> int:
    """The bytes of all files."""
    return sum(size for _, size, _ in _files(path()))


@contextlib.contextmanager
def _locked() -> Iterator[str]:
    """While a thread of a process writes or removes: the others wait. Readers do not."""
    import fcntl

    folder = path()
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    for part in (folder, *(os.path.join(folder, part) for part in _PARTS)):
        os.makedirs(part, mode=0o700, exist_ok=True)
    _check_owner(folder)
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _replace(name: str, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(name), prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, name)
    except BaseException:
        _remove(temporary)
        raise


def _remove(name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(name)


def _files(folder: str) -> list[tuple[str, int, float]]:
    """Path, size and time of the last use of each file."""
    found = []
    for part in _PARTS:
        with contextlib.suppress(FileNotFoundError), os.scandir(os.path.join(folder, part)) as items:
            for item in items:
                with contextlib.suppress(FileNotFoundError):
                    status = item.stat()
                    found.append((item.path, status.st_size, status.st_mtime))
    return found


def _remove_least_used(folder: str, keep: str) -> None:
    """Keeps the folder below its limit: entries go in the order of their last use, then libraries that no entry is left for."""
    files = _files(folder)
    total = sum(size for _, size, _ in files)
    if total <= config.artifact_limit:
        return
    started = time.time()
    entries = sorted((f for f in files if os.path.basename(os.path.dirname(f[0])) == "entries"), key=lambda f: f[2])
    sizes = {name: size for name, size, _ in files}
    users: dict[str, int] = {}
    libraries: dict[str, list[str]] = {}
    for name, _, _ in entries:
        libraries[name] = [os.path.join(folder, "libraries", f"{digest}.so") for digest in _libraries_in(name)]
        for library in libraries[name]:
            users[library] = users.get(library, 0) + 1
    for name in [n for n in sizes if n.endswith(".so") and n not in users]:
        total -= sizes[name]
        _remove(name)
    for name, size, _ in entries:
        if total <= config.artifact_limit * _PART_LEFT or os.path.basename(name) == keep:
            break
        _remove(name)
        total -= size
        for library in libraries[name]:
            users[library] -= 1
            if not users[library]:
                _remove(library)
                total -= sizes.get(library, 0)
    log_records.emit("artifacts", f"{folder} was over its limit; {total} bytes are left, after {time.time() - started:.2f} s")


def libraries_of(entry: Any) -> list[str]:
    """The digests of the libraries that an entry needs."""
    return sorted({digest for module in entry["modules"] for digest, _ in module["kernels"].values()})


def _libraries_in(name: str) -> list[str]:
    try:
        return libraries_of(parsed(_content(name)))
    except (OSError, Damaged, Untrusted):
        return []
