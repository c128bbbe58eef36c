#!/bin/sh
# Succeeds when NVIDIA's driver library is on this machine: the `cuda` extra (NVRTC, 100 MB) is only worth fetching then.
# Arguments replace the folders that are searched after the dynamic linker's own list.
set -u

PATH=$PATH:/sbin:/usr/sbin # ldconfig is not on the path of every user
if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
  exit 0
fi
[ $# -gt 0 ] || set -- /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu /usr/lib64 /usr/lib \
  /usr/lib/wsl/lib /usr/local/nvidia/lib64 /usr/local/nvidia/lib
for folder in "$@"; do
  [ ! -e "$folder/libcuda.so.1" ] || exit 0
done
exit 1
