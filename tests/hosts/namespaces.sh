#!/bin/bash
# Makes network namespaces that stand for hosts n0, n1, … and runs a command on n0. Needs root.
#
#   unshare --mount --propagation private namespaces.sh COUNT FOLDER COMMAND…
#
# All of it is in a mount namespace of its own and gone with it: the host's addresses, interfaces and files stay
# as they are. FOLDER receives the file of host names. Hosts are on one bridge, with addresses of 198.18.0.0/15,
# which RFC 2544 keeps for tests; nothing outside can be reached.
set -e
count=$1 folder=$2
shift 2
mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
echo "127.0.0.1 localhost" > "$folder/etc-hosts"
: > "$folder/hosts.txt"
ip netns add switch
ip -n switch link add bridge0 type bridge
ip -n switch link set bridge0 up
for ((host = 0; host < count; host++)); do
  address=198.18.$((host / 250)).$((host % 250 + 1))
  ip netns add "n$host"
  ip -n switch link add "port$host" type veth peer name eth0 netns "n$host"
  ip -n switch link set "port$host" master bridge0 up
  ip -n "n$host" address add "$address/15" dev eth0
  ip -n "n$host" link set eth0 up
  ip -n "n$host" link set lo up
  echo "$address n$host" >> "$folder/etc-hosts"
  echo "n$host" >> "$folder/hosts.txt"
done
mount --bind "$folder/etc-hosts" /etc/hosts
export BYTEWAYS_TEST_HOSTS=$folder
exec ip netns exec n0 unshare --uts bash -c 'hostname n0; exec "$@"' command "$@"
