#!/usr/bin/env bash
# Runs the README's commands where nothing but what it asks for is installed: a clean clone in a chroot of Debian with
# Python, a compiler and make, as an ordinary user whose home is read-only except for the clone.
#
#   scripts/bare_machine.sh RELEASE [COMMAND…]    RELEASE: bookworm, trixie, …; default commands: make run, make smoke
#
# PACKAGES=python3,python3-venv has a machine with these packages alone; SOURCES=mpich,hypre puts these source packages,
# as the archive has them, into /usr/src/packages; DIST=FOLDER puts a folder into the clone as dist; KEPT=NAME keeps the
# user's ~/.cache from run to run, beside the chroot.
#
# Needs root and mmdebstrap. The chroot (500 MB, three minutes) is kept below $XDG_CACHE_HOME/byteways-ci and made again
# when packages or sources change; to renew it, remove that folder. Exit status 3: no bare machine can be made here.
set -euo pipefail
shopt -s inherit_errexit

# The README's list: Python with its headers and venv, a C++20 compiler, make.
packages=${PACKAGES:-python3,python3-venv,python3-dev,g++,make}
sources_wanted=${SOURCES:-}
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/byteways-ci

left_out() { # reason, command that helps
  echo "note: bare machine left out: $1${2:+ ($2)}" >&2
  exit 3
}

# Prints Debian's sources for a release at the mirrors that this machine uses; nothing on other distributions, for
# which mmdebstrap has a mirror of its own.
sources_of() { # release
  local here
  here=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  grep -q '^ID=debian$' /etc/os-release || return 0
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v here="$here" -v wanted="$1" '$3 == "main" && sub("^" here "(-updates|-security|$)", "&", $2) {
      sub("^" here, wanted, $2); print "deb", $1, $2, $3 }' | sort -u
}

# Makes the chroot of a release unless it is there, and prints its folder.
chroot_of() { # release
  local sources settings key root partial hook
  sources=$(sources_of "$1")
  key=$(printf '%s\n' "$1" "$packages" "$sources" ${sources_wanted:+"$sources_wanted"} | sha256sum | cut -c1-12)
  root=$cache/$1-$key
  if [ ! -d "$root" ]; then
    echo "Making a Debian $1 with $packages in $root" >&2
    mkdir -p "$cache"
    settings=$(mktemp)
    partial=$(mktemp -d "$cache/partial.XXXXXX")
    # Expanded now: when the trap runs, these variables of the function are gone.
    trap "rm -rf --one-file-system '$partial' '$settings'" EXIT
    hook=true
    [ -z "$sources_wanted" ] || hook='list="$1/etc/apt/sources.list"; export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
      sed -n "s/^deb /deb-src /p" "$list" >"$list.d/sources.list"; apt-get update -qq; mkdir -p "$1/usr/src/packages"
      cd "$1/usr/src/packages"; apt-get source -qq --download-only '"${sources_wanted//,/ }"
    # Proxies and the like; everything else in apt's settings concerns the packages of this machine.
    apt-config dump | grep -E '^Acquire::(http|https|ftp|Check-|Retries)' >"$settings" || true
    printf '%s\n' "$sources" | mmdebstrap --quiet --mode=root --variant=apt --include="$packages" \
      --aptopt="$settings" --customize-hook="$hook" --customize-hook='install -d "$1/home/user"' \
      --customize-hook='echo user:x:1000:1000::/home/user:/bin/bash >>"$1/etc/passwd"' \
      --customize-hook='echo user:x:1000: >>"$1/etc/group"' "$1" "$partial" ${sources:+-} >&2
    chmod 755 "$partial"
    mv -T "$partial" "$root" 2>/dev/null || [ -d "$root" ]
    rm -rf --one-file-system "$partial" "$settings"
    trap - EXIT
  fi
  printf '%s\n' "$root"
}

# Lists the settings of pip: its files on this machine and where they are read by the user of the chroot.
pip_files() {
  local home=/home/user/.config/pip/pip.conf
  printf '%s\n' /etc/pip.conf:/etc/pip.conf /etc/xdg/pip/pip.conf:/etc/xdg/pip/pip.conf \
    "$HOME/.pip/pip.conf:/home/user/.pip/pip.conf" "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf:$home"
}

# Lists the files and folders that pip's settings and the variables given name. The pages of a package index link to
# files next to its folder.
named_paths() { # NAME=value…
  local word path
  { printf '%s\n' "$@"; pip_files | cut -d: -f1 | while read -r path; do [ ! -r "$path" ] || cat "$path"; done; } |
    grep -oE '(file:/)?/[^[:space:]=,"]+' | while read -r word; do
    case $word in
      file:///*) path=$(dirname "${word#file://}") ;;
      //*) continue ;; # the rest of a URL
      *) path=$word ;;
    esac
    [ ! -e "$path" ] || printf '%s\n' "$path"
  done | sort -u
}

bind() { # what, at which path of the machine; read-only
  [ -e "$1" ] || return 0
  if [ -d "$1" ]; then mkdir -p "$machine$2"; else mkdir -p "$(dirname "$machine$2")" && touch "$machine$2"; fi
  mount --bind "$1" "$machine$2"
  mount -o remount,bind,ro "$machine$2"
}

# The second half, in namespaces of its own: its mounts and processes end with it.
inside() { # chroot, work folder, command…
  local root=$1 work=$2 path variable pair
  shift 2
  machine=$work/machine
  mount -t tmpfs none "$work/layer"
  mkdir "$work/layer/upper" "$work/layer/work"
  mount -t overlay none -o "lowerdir=$root,upperdir=$work/layer/upper,workdir=$work/layer/work" "$machine"
  mount -t proc none "$machine/proc"
  mount --rbind /dev "$machine/dev"
  mount --rbind /sys "$machine/sys"
  mount --bind "$work/tmp" "$machine/tmp"
  mkdir "$machine/home/user/byteways"
  mount --bind "$work/byteways" "$machine/home/user/byteways"
  if [ -d "$work/kept" ]; then
    mkdir "$machine/home/user/.cache"
    mount --bind "$work/kept" "$machine/home/user/.cache"
  fi
  for path in /etc/resolv.conf /etc/hosts /etc/hostname; do
    [ ! -e "$path" ] || cp -L "$path" "$machine$path"
  done
  for path in /etc/ssl /usr/share/ca-certificates /usr/local/share/ca-certificates; do bind "$path" "$path"; done
  for pair in $(pip_files); do bind "${pair%%:*}" "${pair#*:}"; done

  local environment=(HOME=/home/user USER=user LOGNAME=user PATH=/usr/local/bin:/usr/bin:/bin TERM="${TERM:-dumb}")
  for variable in $(compgen -e); do
    case $variable in
      CI | JOBS | PIP_* | UV_* | SSL_CERT_FILE | SSL_CERT_DIR | REQUESTS_CA_BUNDLE | CURL_CA_BUNDLE | *_proxy | *_PROXY)
        environment+=("$variable=${!variable}") ;;
    esac
  done
  for path in $(named_paths "${environment[@]:4}"); do
    [ -e "$machine$path" ] || bind "$path" "$path"
  done
  # As a root of its own, for in a changed root no user may make namespaces, as containers do.
  mkdir "$machine/before"
  cd "$machine"
  pivot_root . before
  chroot before umount --lazy / # the machine itself need not have umount
  rmdir before
  # Not by exec: a change of user would undo --kill-child, and the namespaces would outlive the script.
  chroot --userspec=1000:1000 / /usr/bin/env -i "${environment[@]}" \
    /bin/bash -c 'cd ~/byteways && for command; do echo "\$ $command"; bash -c "$command" || exit; done' bash "$@"
}

if [ "${1:-}" = --inside ]; then
  shift
  inside "$@"
  exit
fi

release=${1:?usage: scripts/bare_machine.sh RELEASE [COMMAND…]}
shift
[ $# -gt 0 ] || set -- 'make run' 'make smoke'
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || left_out "a chroot needs root" "sudo make test-bare"
command -v mmdebstrap >/dev/null || left_out "mmdebstrap is missing" "apt-get install mmdebstrap"
unshare --mount --pid --fork true 2>/dev/null || left_out "this container may not make mount namespaces"
[ -z "$(git status --porcelain)" ] || echo "note: what is not committed is not in the clone" >&2

root=$(chroot_of "$release")
work=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
machine_pid=
end() { # the machine first: with its first process its mounts vanish
  if [ -n "$machine_pid" ]; then
    kill -KILL "$machine_pid" 2>/dev/null || true
    wait "$machine_pid" 2>/dev/null || true
  fi
  rm -rf --one-file-system "$work"
}
trap end EXIT
trap 'exit 130' INT TERM HUP
mkdir "$work/machine" "$work/layer"
mkdir -m 1777 "$work/tmp"
git clone --quiet --depth 1 "file://$PWD" "$work/byteways"
[ -z "${DIST:-}" ] || cp -r "$DIST" "$work/byteways/dist"
chown -R 1000:1000 "$work/byteways"
if [ -n "${KEPT:-}" ]; then
  install -d -o 1000 -g 1000 "$cache/$KEPT"
  ln -s "$cache/$KEPT" "$work/kept"
fi
echo "A bare Debian $release:"
# In the background: a shell acts on signals while it waits, not while a command runs in the foreground.
unshare --mount --propagation private --pid --fork --kill-child "$PWD/scripts/bare_machine.sh" --inside \
  "$root" "$work" "$@" </dev/null &
machine_pid=$!
status=0
wait "$machine_pid" || status=$?
machine_pid=
exit "$status"
