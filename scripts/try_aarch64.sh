#!/usr/bin/env bash
# Imports the aarch64 wheel of dist/ and simulates a machine with it, on an x86-64 machine: under qemu-user, with the
# Python of Debian trixie for arm64 (unpacked, never installed: no emulator needs to be registered with the kernel).
#
#   make test-aarch64        needs root, mmdebstrap and qemu-user-static; a minute
#
# Exit status 3: it cannot be tried here.
set -euo pipefail
cd "$(dirname "$0")/.."
left_out() { # reason, command that helps
  echo "note: aarch64 left out: $1 ($2)" >&2
  exit 3
}
[ "$(id -u)" -eq 0 ] || left_out "unpacking a Debian needs root" "sudo make test-aarch64"
command -v mmdebstrap >/dev/null || left_out "mmdebstrap is missing" "apt-get install mmdebstrap"
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) ||
  left_out "qemu is missing" "apt-get install qemu-user-static"
wheel=$(ls -t dist/*-abi3-*aarch64.whl 2>/dev/null | head -n 1)
if [ -z "$wheel" ]; then
  echo "error: dist has no wheel with the stable ABI for aarch64" >&2
  echo "hint: make wheel PYTHONS=python3.12 MACHINES=aarch64" >&2
  exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT

mmdebstrap --quiet --mode=root --variant=extract --architectures=arm64 \
  --include=python3,libc6,libgcc-s1,libexpat1,zlib1g,libbz2-1.0,liblzma5,libffi8 trixie "$folder/root"
ln -sfn usr/lib "$folder/root/lib" # what the package base-files does when it is installed
python=$(ls "$folder"/root/usr/bin/python3.?? | head -n 1)
version=${python##*python}
# Workers are started by the same words.
printf '#!/bin/sh\nexec %s -L %s %s "$@"\n' "$qemu" "$folder/root" "$python" >"$folder/python"
chmod +x "$folder/python"

platforms=(--platform manylinux_2_17_aarch64 --platform manylinux_2_24_aarch64 --platform manylinux_2_28_aarch64)
python3 -m pip install --quiet --disable-pip-version-check --no-compile --only-binary :all: "${platforms[@]}" \
  --python-version "$version" --implementation cp --abi "cp${version/./}" --abi abi3 --abi none \
  --target "$folder/site" "$wheel"
cd "$folder"
PYTHONPATH=$folder/site "$folder/python" -P -c '
import platform, runpy, sys
import byteways._core
print(platform.machine(), byteways._core.__file__)
sys.executable = sys.argv[1]
sys.argv = ["byteways", "run", "latency", "--machine", "h200-x4", "--only", "interface=copy", "--out", "run"]
runpy.run_module("byteways", run_name="__main__")
' "$folder/python"
