#!/bin/bash
# Stands in for ssh, as launchers call it: agent.sh [-x …] HOST COMMAND…
#
# Runs the command in the network namespace of the host, with its name; and if $BYTEWAYS_TEST_HOSTS/clock-HOST
# exists, with a monotonic clock that many seconds ahead. Files unreachable-HOST and broken-HOST make it fail as a
# host that does not answer and as one without the program.
while [[ $1 == -* ]]; do shift; done
host=$1
shift
folder=$BYTEWAYS_TEST_HOSTS
if [[ -e $folder/unreachable-$host ]]; then
  echo "ssh: connect to host $host port 22: No route to host" >&2
  exit 255
fi
clock=()
[[ -e $folder/clock-$host ]] && clock=(--time --monotonic "$(< "$folder/clock-$host")")
exec ip netns exec "$host" unshare --uts "${clock[@]}" bash -c "hostname $host; $*"
