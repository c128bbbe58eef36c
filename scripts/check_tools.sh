#!/bin/sh
# Finds the two tools that set-up cannot fetch by itself: a Python with its headers and venv, and a C++20 compiler.
#
# Prints `python='…'` and `compiler='…'` for the caller to evaluate, or one error that names everything tried.
# PYTHON and CXX, when set, are taken at their word: nothing else is tried.
set -u

fail() { # what, causes (one a line), hint
  printf 'error: %s\n' "$1" >&2
  printf '%s\n' "$2" | while IFS= read -r cause; do
    [ -z "$cause" ] || printf '  caused by: %s\n' "$cause" >&2
  done
  printf 'hint: %s\n' "$3" >&2
  exit 2
}

# One line: "3.11.2 headers venv", each word only when it is so. Runs under any Python, so no new syntax.
python_probe='
import os, sys, sysconfig
words = [".".join(str(part) for part in sys.version_info[:3])]
include = sysconfig.get_path("include") or ""
if os.path.exists(os.path.join(include, "Python.h")):
    words.append("headers")
try:
    import ensurepip, venv
    words.append("venv")
except ImportError:
    pass
print(" ".join(words))
'

python='' python_causes='' python_hint=''
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python3.10}; do
  # A version manager's shim exists for versions that are not active, so only running it tells.
  command -v "$candidate" >/dev/null 2>&1 || continue
  found=$("$candidate" -c "$python_probe" 2>/dev/null) || continue
  version=${found%% *}
  major=${version%%.*} rest=${version#*.}
  minor=${rest%%.*}
  cause=''
  if [ "$major" -lt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -lt 10 ]; }; then
    cause="$candidate is Python $version, older than 3.10"
    hint='install Python 3.10 or newer, or name one: make PYTHON=/path/to/python3 setup'
  else
    case " $found " in *' headers '*) ;; *)
      cause="$candidate (Python $version) has no C headers: Python.h is missing"
      hint="install them (Debian, Ubuntu: apt install python$major.$minor-dev), or name another Python: make PYTHON=/path/to/python3 setup" ;;
    esac
    case " $found " in *' venv '*) ;; *)
      cause="$candidate (Python $version) has no venv module"
      hint="install it (Debian, Ubuntu: apt install python$major.$minor-venv), or name another Python: make PYTHON=/path/to/python3 setup" ;;
    esac
  fi
  if [ -z "$cause" ]; then
    python=$(command -v "$candidate")
    break
  fi
  python_causes="$python_causes$cause
"
  python_hint=$hint
done
if [ -z "$python" ]; then
  [ -n "$python_causes" ] || python_causes="nothing runs under the name ${PYTHON:-python3, nor python3.10 to python3.14}"
  fail 'no usable Python 3.10 or newer' "$python_causes" \
    "${python_hint:-install Python 3.10 or newer, or name one: make PYTHON=/path/to/python3 setup}"
fi

program='#if __cplusplus < 202002L
#error C++20 is not complete
#endif
#include <bit>
#include <concepts>
#include <numbers>
#include <span>
int main() { std::span<const int> none; return static_cast<int>(none.size()); }'

compiler='' compiler_causes=''
for candidate in ${CXX:-c++ g++ clang++ g++-15 g++-14 g++-13 g++-12 g++-11 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16}; do
  command -v "$candidate" >/dev/null 2>&1 || continue
  if printf '%s\n' "$program" | "$candidate" -std=c++20 -fsyntax-only -x c++ - >/dev/null 2>&1; then
    compiler=$(command -v "$candidate")
    break
  fi
  about=$("$candidate" --version 2>/dev/null) || about='unknown version'
  compiler_causes="$compiler_causes$candidate (${about%%
*}) does not compile a C++20 program
"
done
if [ -z "$compiler" ]; then
  what='the C++ compiler is too old for C++20'
  if [ -z "$compiler_causes" ]; then
    what='no C++ compiler'
    compiler_causes="nothing is called ${CXX:-c++, g++ or clang++}"
  fi
  fail "$what" "$compiler_causes" \
    'install g++ 11 or clang++ 16 or newer (Debian, Ubuntu: apt install g++), or name one: make CXX=/path/to/g++ setup'
fi

printf "python='%s'\ncompiler='%s'\n" "$python" "$compiler"
