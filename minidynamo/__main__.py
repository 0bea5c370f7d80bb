"""`python -m minidynamo`: versions, whose frame hook is installed, settings, and what the environment says. For bug reports.

`info` prints the same. `run SCRIPT` captures a whole program; `explain SCRIPT` and `report SCRIPT` run one and say what was captured,
what it cost and what to do first, `report --html FILE SCRIPT` as a page. On a terminal, these three show a capture that takes long while
it is made. `cache` shows the artifacts on the disk, `cache --clear` removes them. `breaks` lists the reasons for graph breaks,
`breaks NAME` prints the page of one. The command `minidynamo` is the same as `python -m minidynamo`.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Sequence

import torch

from minidynamo import _C, __version__, _built_for, config, list_backends, report
from minidynamo._api import environment, global_capture, script
from minidynamo._artifacts import folder
from minidynamo._records import break_pages, progress
from minidynamo._records.breaks import break_reasons
from minidynamo.exceptions import InvalidBackend


def info() -> str:
    """The output of `python -m minidynamo info`. Settings that are not as after an import without environment are marked by a star."""
    whole_program = global_capture.active_backend()
    lines = [
        f"minidynamo {__version__} in {os.path.dirname(__file__)}",
        f"torch {torch.__version__}, built for {_built_for.TORCH}",
        f"{platform.python_implementation()} {platform.python_version()} in {sys.executable}, {platform.platform()}",
        f"frames are evaluated by {_C.hook_owner()}; "
        + (f"the whole program is captured, for {whole_program}" if whole_program else "nothing is captured unasked"),
        f"backends: {', '.join(list_backends())}",
        "settings:",
    ]
    for name, value in config.to_dict().items():
        default = config.DEFAULTS[name]
        lines.append(f"  {name} = {_plain(value)}" + ("" if value == default else f"  * default: {_plain(default)}"))
    lines.append("environment:")
    found = environment.seen()
    lines += [f"  {name}={value}  ({environment.VARIABLES.get(name, 'not read by the package')})" for name, value in found.items()] or [
        "  no variable of minidynamo's"
    ]
    return "\n".join(lines)


def _plain(value: object) -> str:
    """Collections as the comma separated text that the setting takes."""
    if isinstance(value, (frozenset, tuple)):
        return ",".join(sorted(map(str, value))) or "none"
    return repr(value)


def cache(clear: bool) -> str:
    """The output of `python -m minidynamo cache`: the artifacts, those used last first."""
    if clear:
        return f"{folder.clear()} artifacts are removed from {folder.path()}"
    entries = sorted(folder.contents(), key=lambda entry: -entry[2])
    lines = [f"{len(entries)} artifacts, {folder.size() / 1e6:.1f} MB of at most {config.artifact_limit / 1e6:.0f}, in {folder.path()}"]
    lines += [f"  {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(used))}  {key}" for key, _, used in entries]
    return "\n".join(lines)


def breaks(name: str | None) -> str:
    """The output of `python -m minidynamo breaks`: a line for each reason, or the page of one.

    Raises LookupError with a sentence where no reason has that name.
    """
    if name is None:
        return break_pages.listing() + "\n\npython -m minidynamo breaks NAME prints the page of one, with an example."
    for reason in break_reasons():
        if reason.code == name:
            return break_pages.page(reason)
    nearest = break_pages.nearest(name)
    advice = f"did you mean {', '.join(nearest)}?" if nearest else "`python -m minidynamo breaks` lists all."
    raise LookupError(f"no reason for a graph break is called {name!r}: {advice}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command.

    Args:
        arguments: those of the command line, without the program's name; None takes them from `sys.argv`.

    Raises SystemExit, with status 2, where they are not understood.
    """
    parser = argparse.ArgumentParser("python -m minidynamo", description="versions and settings, for bug reports")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("info", help="versions and settings, for bug reports")
    _add_script(commands.add_parser("run", help="capture a whole program"), backend="eager")
    _add_script(commands.add_parser("explain", help="run a program, and say what was captured and where graphs end"), backend="eager")
    of_report = commands.add_parser("report", help="run a program, and say what captures cost and what to do first")
    of_report.add_argument("--html", metavar="FILE", help="write a page in place of the text")
    _add_script(of_report, backend=None)
    of_cache = commands.add_parser("cache", help="show what was compiled and is kept on the disk")
    of_cache.add_argument("--clear", action="store_true", help="remove it")
    of_breaks = commands.add_parser("breaks", help="list the reasons for graph breaks, or explain one with an example")
    of_breaks.add_argument("name", nargs="?", help="as it stands in brackets in messages, such as data-dependent-branch")
    parsed = parser.parse_args(arguments)
    match parsed.command:
        case "run" | "explain" | "report":
            progress.show_on(sys.stderr)
            try:
                status = script.run_script(parsed.script, parsed.arguments, parsed.backend)
            except (FileNotFoundError, InvalidBackend) as wrong:
                parser.error(str(wrong))
            _tell(parsed.command, getattr(parsed, "html", None))
            sys.exit(status)
        case "cache":
            print(cache(parsed.clear))
        case "breaks":
            try:
                print(breaks(parsed.name))
            except LookupError as unknown:
                of_breaks.error(str(unknown))
        case _:
            print(info())


def _add_script(command: argparse.ArgumentParser, backend: str | None) -> None:
    default = f"; {backend} unless given" if backend else "; what the program itself captures unless given"
    command.add_argument("--backend", default=backend, help=f"captures the whole program for this backend{default}")
    command.add_argument("script", help="a Python file")
    command.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")


def _tell(command: str, page: str | None) -> None:
    """The message of a command after the program has ended: on stderr, since stdout is the program's."""
    if command == "run":
        return
    found = report()
    if page is not None:
        found.write_html(page)
        print(f"the report is in {page}", file=sys.stderr)
    else:
        print(found, file=sys.stderr)


if __name__ == "__main__":
    main()
