#!/bin/bash
# The first process of a computer's container, as its root. Restricts the network, gives up the right to change it, and starts the computer's program,
# which becomes the computer's own user. Ends the container with 75 when its lifetime is over, with 76 when it is asked to stop, else with the program's
# own code. What the computer's programs leave behind is waited for here. src/programs/computer-init/protocol.ts has the other end.
set -u
server=/app/out/server
boot=${GANTRY_BOOT:-/run/gantry/boot.json}

if [ "${1:-}" != restricted ]; then
  node "$server/computer-init.js" "$boot" || exit 1
  exec setpriv --inh-caps=-all --bounding-set=-net_admin,-setpcap /bin/bash "$0" restricted
fi

trap 'exit 76' USR1
# An engine that ends a container, such as a cluster's: the first process of a container hears only what it asks for.
trap 'exit 143' TERM
# In a Pod its root may not look into the home of the computer's user.
cd /home/user 2>/dev/null || cd /
HOME=/home/user node "$server/hosted-device.js" "$boot" &
program=$!
timer=none
if [ -n "${GANTRY_LIFETIME:-}" ]; then
  sleep "$GANTRY_LIFETIME" &
  timer=$!
fi
while true; do
  wait -n -p ended
  code=$?
  [ "${ended:-}" = "$program" ] && exit "$code"
  [ "${ended:-}" = "$timer" ] && exit 75
done
