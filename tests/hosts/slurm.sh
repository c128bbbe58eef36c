#!/bin/bash
# Starts a Slurm on the hosts that namespaces.sh made, without systemd and its control groups: slurmctld on n0,
# where users submit, and a slurmd on each other host. Then runs a command on n0.
#
#   namespaces.sh COUNT FOLDER slurm.sh FOLDER COMMAND…
#
# All files are in FOLDER/slurm. Killing the process namespace ends all of it.
set -e
folder=$1/slurm hosts=$1/hosts.txt
shift
mkdir "$folder" "$folder/state"
last=$(($(wc -l < "$hosts") - 1))
dd if=/dev/urandom of="$folder/munge.key" bs=128 count=1 status=none
chmod 600 "$folder/munge.key"
munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
  --log-file="$folder/munged.log" --seed-file="$folder/munge.seed"
# More CPUs than this machine has, so that jobs do not wait for each other; times in seconds where
# the defaults are minutes.
cat > "$folder/slurm.conf" <<END
ClusterName=namespaces
SlurmctldHost=n0
SlurmUser=root
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdSpoolDir=$folder/spool-%n
TmpFS=$folder/tmp-%n
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmi2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
MessageTimeout=5
KillWait=10
MailProg=/bin/true
NodeName=n[1-$last] CPUs=16 State=UNKNOWN
PartitionName=all Nodes=n[1-$last] Default=YES State=UP
END
# `autodetect` wants a mounted hierarchy, though nothing here uses one.
echo "CgroupPlugin=cgroup/v1" > "$folder/cgroup.conf"
export SLURM_CONF=$folder/slurm.conf
slurmctld
for ((node = 1; node <= last; node++)); do
  mkdir "$folder/spool-n$node" "$folder/tmp-n$node"
  ip netns exec "n$node" unshare --uts bash -c "hostname n$node; exec slurmd"
done
until [[ $(sinfo --noheader --states=idle --format=%D) == "$last" ]]; do sleep 0.05; done
touch "$folder/ready"
exec "$@"
