# A server of Redis, which Debian links to jemalloc: large and small values, a save in a forked child, and the end.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
redis-server --port 0 --unixsocket "$folder/socket" --dir "$folder" --save '' --daemonize no --logfile "$folder/log" &
server=$!
ask() { redis-cli -s "$folder/socket" "$@"; }
for _ in $(seq 200); do
  [ "$(ask ping 2>/dev/null)" = PONG ] && break
  sleep 0.1
done
ask set seed 1
for number in $(seq 15); do
  head -c $((number * 60000)) /dev/zero | tr '\0' x | redis-cli -s "$folder/socket" -x set "big$number"
done
ask setrange big7 2000000 end
ask eval 'local sum = 0; for _, key in ipairs(redis.call("keys", "big*")) do
  sum = sum + redis.call("strlen", key) end; return sum' 0
ask bgsave >/dev/null
for _ in $(seq 200); do
  [ "$(ask info persistence | grep -c 'rdb_bgsave_in_progress:0')" = 1 ] && break
  sleep 0.1
done
ask info persistence | grep -E 'last_bgsave_status' | tr -d '\r'
ask dbsize
ask shutdown nosave
wait "$server"
echo "ended with $?"
