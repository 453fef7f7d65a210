#!/bin/sh
# In nginx's container: `nginx-server api1 down` sends no more requests to that API process,
# `nginx-server api1 up` waits until it is ready, for a minute at most, and sends them again.
# Requests in flight are finished.
set -eu
case ${2:-} in
  down) sed -i "s/^\(server $1:.*[^n]\);/\1 down;/" /tmp/servers.conf ;;
  up)
    # nginx does not ask. A process that is healthy may still wait for a migration.
    address=$(sed -n "s/^server \($1:[0-9]*\) .*/\1/p" /tmp/servers.conf)
    test -n "$address" || { echo "There is no server $1." >&2; exit 64; }
    curl --fail --silent --show-error --output /dev/null --max-time 5 \
      --retry 60 --retry-delay 1 --retry-max-time 60 --retry-all-errors "http://$address/readyz"
    sed -i "s/^\(server $1:.*\) down;/\1;/" /tmp/servers.conf
    ;;
  *)
    echo 'Usage: nginx-server NAME up|down' >&2
    exit 64
    ;;
esac
exec nginx -s reload
