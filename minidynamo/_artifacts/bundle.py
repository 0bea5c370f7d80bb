"""Artifacts in one file, for an image of a server or another machine: a ZIP file with the entries and libraries of the folder."""

import os
import re
import zipfile

from minidynamo._artifacts import folder

_ENTRY = re.compile(r"entries/([0-9a-f]{64})")


def save(path: str | os.PathLike[str], keys: set[str]) -> int:
    """Writes the artifacts with these keys to a file, and says how many they are. Those that the folder has lost are left out."""
    count = 0
    written: set[str] = set()
    with zipfile.ZipFile(path, "w") as bundle:
        for key in sorted(keys):
            try:
                content, libraries = folder.files_of(key)
            except (FileNotFoundError, folder.Damaged):
                continue
            bundle.writestr(f"entries/{key}", content)
            for digest, library in libraries.items():
                if digest not in written:
                    bundle.writestr(f"libraries/{digest}.so", library)
                    written.add(digest)
            count += 1
    return count


def load(path: str | os.PathLike[str]) -> int:
    """Puts the artifacts of a file into the folder, and says how many they are.

    Raises OSError for a file that cannot be read or a folder that cannot be written to, ValueError for a file that is none of `save`'s
    or is damaged.
    """
    try:
        with zipfile.ZipFile(path) as bundle:
            names = set(bundle.namelist())
            keys = [match[1] for name in sorted(names) if (match := _ENTRY.fullmatch(name))]
            if not keys and names:
                raise ValueError(f"{os.fspath(path)} has no artifacts of minidynamo's")
            for key in keys:
                content = bundle.read(f"entries/{key}")
                entry = folder.parsed(content)
                libraries = {digest: bundle.read(f"libraries/{digest}.so") for digest in folder.libraries_of(entry)}
                folder.write(key, entry, libraries)
    except (zipfile.BadZipFile, KeyError, folder.Damaged) as error:
        raise ValueError(f"{os.fspath(path)} is no file of artifacts, or a damaged one: {error}") from error
    return len(keys)
