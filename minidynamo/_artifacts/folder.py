"""The folder that artifacts are kept in: files by key, checked as they are read, and removed where they grow too many.

    <folder>/entries/<key>          one compiled graph
    <folder>/libraries/<digest>.so  kernels; the name is the SHA-256 of the content

Loading an entry runs code, as loading from torch's own cache folder does. So the folder has to belong to this user, and nobody else may
write to it; else it is not read. Digests find damage, not malice. Files are written under another name and renamed, so that a reader
sees all of one or none; writers and whoever removes files wait for each other.
"""

import contextlib
import hashlib
import marshal
import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from minidynamo import _logging, config

_MAGIC = b"minidynamo artifact\n"
_DIGEST_LENGTH = 32
_PART_LEFT = 0.75  # of the limit, after a removal


class Unreadable(Exception):
    """A file that is damaged, or a folder that cannot be trusted."""


def path() -> str:
    """The folder: `config.artifact_folder`, or the user's folder for caches."""
    if config.artifact_folder:
        return config.artifact_folder
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "minidynamo")


def _check_owner(folder: str) -> None:
    owner = os.stat(folder)
    if owner.st_uid != os.getuid() or owner.st_mode & 0o022:
        raise Unreadable(f"artifacts in {folder} are not used: the folder has to belong to this user, and be writable by nobody else")


def read(key: str) -> Any:
    """The entry of a key: what was written, or None if there is none.

    Raises Unreadable for a damaged one.
    """
    folder = path()
    name = os.path.join(folder, "entries", key)
    try:
        _check_owner(folder)
        with open(name, "rb") as file:
            content = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    start = len(_MAGIC) + _DIGEST_LENGTH
    if not content.startswith(_MAGIC) or hashlib.sha256(content[start:]).digest() != content[len(_MAGIC) : start]:
        raise Unreadable(f"the artifact {name} is damaged, and made anew")
    with contextlib.suppress(OSError):
        os.utime(name)  # the least recently used go first
    return marshal.loads(content[start:])


def library_path(digest: str) -> str:
    """The path of a library whose content is what it was.

    Raises Unreadable if it is not, FileNotFoundError if there is none.
    """
    name = os.path.join(path(), "libraries", f"{digest}.so")
    with open(name, "rb") as file:
        if hashlib.sha256(file.read()).hexdigest() != digest:
            raise Unreadable(f"the library {name} is damaged, and made anew")
    return name


def write(key: str, entry: Any, libraries: dict[str, bytes]) -> None:
    """Writes an entry and its libraries, also over what there is, which may be damaged. OSError if it cannot be."""
    content = marshal.dumps(entry)
    with _locked() as folder:
        for digest, library in libraries.items():
            _replace(os.path.join(folder, "libraries", f"{digest}.so"), library)
        _replace(os.path.join(folder, "entries", key), _MAGIC + hashlib.sha256(content).digest() + content)
        _remove_least_used(folder, keep=key)


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
    for part in (folder, os.path.join(folder, "entries"), os.path.join(folder, "libraries")):
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
    for part in ("entries", "libraries"):
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
    libraries_of: dict[str, list[str]] = {}
    for name, _, _ in entries:
        libraries_of[name] = [os.path.join(folder, "libraries", f"{digest}.so") for digest in _libraries_of(name)]
        for library in libraries_of[name]:
            users[library] = users.get(library, 0) + 1
    for name in [n for n in sizes if n.endswith(".so") and n not in users]:
        total -= sizes[name]
        _remove(name)
    for name, size, _ in entries:
        if total <= config.artifact_limit * _PART_LEFT or os.path.basename(name) == keep:
            break
        _remove(name)
        total -= size
        for library in libraries_of[name]:
            users[library] -= 1
            if not users[library]:
                _remove(library)
                total -= sizes.get(library, 0)
    _logging.emit("artifacts", f"{folder} was over its limit; {total} bytes are left, after {time.time() - started:.2f} s")


def _libraries_of(name: str) -> list[str]:
    try:
        with open(name, "rb") as file:
            entry = marshal.loads(file.read()[len(_MAGIC) + _DIGEST_LENGTH :])
        return sorted({digest for module in entry["modules"] for digest, _ in module["kernels"].values()})
    except (OSError, ValueError, EOFError, TypeError, KeyError):
        return []  # damaged
