#!/bin/sh
# Runs programs that nobody here wrote alone and under every collector of `byteways watch`, in a chroot that has them:
# `make test-programs`. tests/programs/packages.txt lists the packages, tests/programs/table.py the programs.
#
#   scripts/try_programs.sh [ARGUMENT…]    of `python -m tests.programs`: names of programs, --collector memcpy
#
# Needs root and mmdebstrap (scripts/bare_machine.sh). What is built is kept beside the chroot. Exit status 1: a program
# behaves differently under a collector.
set -eu
cd "$(dirname "$0")/.."
list=tests/programs/packages.txt
named() { # prefix: names of its lines, separated by commas
  sed -n "s/^$1\([a-z0-9][^:=]*\)=.*/\1/p" "$list" | paste -s -d , -
}
version_of() { sed -n "s/^pypi:$1=//p" "$list"; }
PACKAGES=$(named '') SOURCES=$(named src:) KEPT=programs
export PACKAGES SOURCES KEPT
arguments=
for word; do arguments="$arguments '$word'"; done
exec scripts/bare_machine.sh bookworm 'CCACHE_SLOPPINESS=pch_defines,time_macros CXX=/usr/lib/ccache/g++ make setup' \
  "MPI4PY=$(version_of mpi4py) IMPI_RT=$(version_of impi-rt) .venv/bin/python -m tests.programs$arguments"
