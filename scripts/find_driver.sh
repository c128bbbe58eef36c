#!/bin/sh
# Succeeds when NVIDIA's driver library is on this machine: NVRTC (100 MB) is only worth fetching then. Prints the extra
# that has an NVRTC for this driver. Arguments replace the folders that are searched after the dynamic linker's own list;
# DRIVER_VERSION replaces the file in which the kernel module says its version.
set -u

# CUDA 13 needs a driver of the branch 580 or later; one of which no version is known is taken for such.
extra() {
  branch=$(sed -nE '1s/.* ([0-9]{3})\.[0-9.]+ .*/\1/p' "${DRIVER_VERSION:-/proc/driver/nvidia/version}" 2>/dev/null)
  if [ "${branch:-580}" -lt 580 ]; then echo cuda12; else echo cuda; fi
  exit 0
}

PATH=$PATH:/sbin:/usr/sbin # ldconfig is not on the path of every user
if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
  extra
fi
[ $# -gt 0 ] || set -- /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu /usr/lib64 /usr/lib \
  /usr/lib/wsl/lib /usr/local/nvidia/lib64 /usr/local/nvidia/lib
for folder in "$@"; do
  [ ! -e "$folder/libcuda.so.1" ] || extra
done
exit 1
