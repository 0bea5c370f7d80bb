# Sourced by the other scripts: makes .venv with torch and what a build needs, and defines the steps that they share.
#
# Needs a supported Python, a C++ compiler and the package registries that pip is configured for. A system package is installed only
# where a tool is missing, as root or through sudo. PYTHON names the interpreter to make the environment with, MINIDYNAMO_VENV another
# environment to make or use, MINIDYNAMO_TORCH another version of torch than that of constraints.txt (or the first two numbers of one),
# MINIDYNAMO_WERROR=ON takes the compiler's warnings for errors.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=${MINIDYNAMO_VENV:-.venv}
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-2}
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf '== %s\n' "$*"; }

# system_package <package>...: for tools that pip cannot provide.
system_package() {
  say "installing $*"
  local -a as_root=()
  if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
  if ! command -v apt-get >/dev/null; then
    echo "please install $* (there is no apt-get on this machine)" >&2
    return 1
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

pythons=(3.14 3.13 3.12 3.11) # that are supported, the newest first
torches=(2.15 2.14 2.13)

# is_python <command> <version>...: whether it is an interpreter of one of these versions, with the GIL.
is_python() {
  command -v "$1" >/dev/null &&
    "$1" -c 'import sys; raise SystemExit("%d.%d" % sys.version_info[:2] not in sys.argv[1:] or "t" in sys.abiflags)' "${@:2}" 2>/dev/null
}

# find_python [version]...: the interpreter that PYTHON names, or the newest that is there of these versions (of all that are
# supported unless one is given).
find_python() {
  local version candidate
  local -a wanted=("$@")
  if [ $# = 0 ]; then wanted=("${pythons[@]}"); fi
  if [ -n "${PYTHON:-}" ]; then
    if is_python "$PYTHON" "${wanted[@]}"; then
      echo "$PYTHON"
      return
    fi
    echo "minidynamo needs Python ${wanted[*]}, and PYTHON=$PYTHON is none of these" >&2
    return 1
  fi
  for version in "${wanted[@]}"; do
    for candidate in "python$version" python3 python; do
      if is_python "$candidate" "$version"; then
        echo "$candidate"
        return
      fi
    done
  done
  echo "minidynamo needs Python ${wanted[*]}, and none was found (PYTHON names one)" >&2
  return 1
}

has_headers() { "$1" -c 'import os, sysconfig; raise SystemExit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; }

# As Debian names it: python3.12.
debian_name() { "$1" -c 'import sys; print("python%d.%d" % sys.version_info[:2])'; }

# Of the environment, without what follows a plus sign. Fails where there is none.
version_of_torch() { "$python" -c 'from importlib.metadata import version; print(version("torch").split("+")[0])' 2>/dev/null; }

# make_environment [extra]...: .venv with torch first, then what the named extras of pyproject.toml list.
make_environment() {
  local base
  if [ ! -x "$venv/bin/python" ]; then
    base=$(find_python)
    "$base" -c 'import ensurepip, venv' 2>/dev/null || system_package "$(debian_name "$base")-venv"
    say "making $venv with $("$base" --version)"
    "$base" -m venv "$venv"
  fi
  python=$venv/bin/python
  has_headers "$python" || system_package "$(debian_name "$python")-dev"
  command -v "${CXX:-c++}" >/dev/null || system_package g++
  # Not asked for again where it is: pip would then want all that it depends on, which scripts/cuda_environment leaves out.
  local torch=${MINIDYNAMO_TORCH:-$(sed -n 's/^torch==//p' constraints.txt)}
  if [[ "$(version_of_torch)." != "$torch".* ]]; then
    say "installing torch $torch"
    "$python" -m pip install "torch==$torch$([[ $torch = *.*.* ]] || echo '.*')"
  fi
  say "installing what the build and these need: ${*:-nothing else}"
  # The lists of pyproject.toml, without building the project to learn them.
  "$python" - "$@" <<'PYTHON' | xargs -d '\n' "$python" -m pip install -q -c <(sed "s/^torch==.*/torch==$(version_of_torch)/" constraints.txt)
import sys, tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)
print(*project["build-system"]["requires"], sep="\n")
for extra in sys.argv[1:]:
    print(*project["project"]["optional-dependencies"][extra], sep="\n")
PYTHON
}

# interpreter_of <version>: that of PATH, or pyenv's. Fails where neither is there.
interpreter_of() {
  local interpreter
  local -a of_pyenv=("${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/"python$1")
  interpreter=$(PYTHON="" find_python "$1" 2>/dev/null) || interpreter=${of_pyenv[0]}
  is_python "$interpreter" "$1" && echo "$interpreter"
}

# enter_version <python>[-torch<version>]: from here on the environment in build/versions for these (3.12, 3.12-torch2.15), with the least
# of torch (scripts/cuda_environment). An interpreter that is not there is one that scripts/debian_python unpacks.
enter_version() {
  local version=${1%%-torch*} interpreter
  MINIDYNAMO_TORCH=$(sed -n 's/^torch==\([0-9]*\.[0-9]*\).*/\1/p' constraints.txt)
  if [[ $1 = *-torch* ]]; then MINIDYNAMO_TORCH=${1##*-torch}; fi
  venv=$PWD/build/versions/python$version-torch$MINIDYNAMO_TORCH
  if ! interpreter=$(interpreter_of "$version"); then
    command -v patchelf >/dev/null || system_package patchelf
    scripts/debian_python "$version" build/versions/debian
    interpreter=$PWD/build/versions/debian/usr/bin/python$version
  fi
  say "Python $version with torch $MINIDYNAMO_TORCH: $interpreter"
  "$interpreter" scripts/cuda_environment "$venv" "$MINIDYNAMO_TORCH"
  python=$venv/bin/python
  export MINIDYNAMO_TORCH MINIDYNAMO_VENV=$venv
}

# In which minidynamo is built for the environment's Python and torch.
build_folder() { echo "build/$(debian_name "$python")-torch$(version_of_torch | cut -d. -f1,2)"; }

# install_project [cmake definition]...: builds in a folder for this version of Python, which later builds reuse.
install_project() {
  local definition
  local -a settings=(-C "build-dir=$(build_folder)" -C "cmake.define.MINIDYNAMO_WERROR=${MINIDYNAMO_WERROR:-OFF}")
  for definition in "$@"; do settings+=(-C "cmake.define.$definition"); done
  say "building and installing minidynamo (${CMAKE_BUILD_PARALLEL_LEVEL} jobs, $(command -v ccache >/dev/null && echo with || echo without) ccache)"
  # -v: what the compiler is at, since it takes minutes.
  PATH="$(cd "$venv/bin" && pwd):$PATH" "$python" -m pip install -v --no-build-isolation --no-deps --force-reinstall \
    "${settings[@]}" .
}
