#!/bin/sh
# Installs the wheel of dist/ and runs it, as a user does who has Python and no compiler: by pip, by pipx and by uvx.
#
#   make test-wheel          in a chroot of Debian without a compiler (scripts/bare_machine.sh); RELEASE=bookworm for 12
#   scripts/try_wheel.sh     on this machine
#
# Fails when `pip install` and `byteways run` together take more than a minute.
set -eu
limit_s=60
cd "$(dirname "$0")/.."
dist=$PWD/dist
tag=$(python3 -c 'import sys; print("cp312-abi3" if sys.version_info >= (3, 12) else "cp3%d-cp3%d" % (2 * sys.version_info[1:2]))')
wheel=$(ls -t "$dist"/*"-$tag-"*"$(uname -m).whl" 2>/dev/null | head -n 1)
if [ -z "$wheel" ]; then
  echo "error: dist has no wheel for this Python ($tag, $(uname -m))" >&2
  echo "hint: make wheel PYTHONS=python3.12 (or python3.10, python3.11 for these)" >&2
  exit 1
fi
for compiler in cc c++ gcc g++ clang clang++; do
  ! command -v "$compiler" >/dev/null || echo "note: $compiler is here: that none is needed is not shown" >&2
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# Nothing is left in the home of the user.
export XDG_CACHE_HOME="$folder/cache" XDG_DATA_HOME="$folder/data" UV_TOOL_DIR="$folder/uv"
export PIPX_HOME="$folder/pipx" PIPX_BIN_DIR="$folder/bin" PIPX_MAN_DIR="$folder/man"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv "$folder/tools"

started=$(date +%s)
python3 -m venv "$folder/fresh"
"$folder/fresh/bin/pip" install --quiet --only-binary :all: "$wheel"
installed=$(date +%s)
"$folder/fresh/bin/byteways" run --out "$folder/measured"
ended=$(date +%s)
echo "pip install: $((installed - started)) s; byteways run: $((ended - installed)) s"

"$folder/tools/bin/pip" install --quiet --only-binary :all: pipx uv
"$folder/tools/bin/pipx" run --spec "$wheel" byteways run --machine h200-x4 --out "$folder/by-pipx"
"$folder/tools/bin/uvx" --from "$wheel" byteways run --machine h200-x4 --out "$folder/by-uvx"
for run in measured by-pipx by-uvx; do test -s "$folder/$run/report.html"; done
echo "pip, pipx run and uvx: passed"
if [ $((ended - started)) -gt $limit_s ]; then
  echo "error: installing and running took $((ended - started)) s, more than $limit_s" >&2
  echo "hint: a busy machine or a slow package index? Try again" >&2
  exit 1
fi
