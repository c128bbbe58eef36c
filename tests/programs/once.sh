# Runs a command once, in a new folder of its own below $RUNS: out, err and status are what it left.
#   sh once.sh 'COMMAND'      as the harness starts it, alone or as the program of `byteways watch`
#
# $COUNTER, a library that counts calls, is loaded after what the environment preloads: it sees what that calls.
folder=$(mktemp -d "$RUNS/XXXXXXXX") && mkdir "$folder/work" && cd "$folder/work" || exit 125
[ -z "${COUNTER:-}" ] || export LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$COUNTER"
sh -c "$1" >../out 2>../err </dev/null
status=$?
echo "$status" >../status
exit "$status"
