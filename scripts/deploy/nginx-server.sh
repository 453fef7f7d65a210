#!/bin/sh
# In nginx's container: `nginx-server api1 down` sends no more requests to that API process,
# `nginx-server api1 up` sends them again. Requests in flight are finished.
set -eu
case ${2:-} in
  down) sed -i "s/^\(server $1:.*[^n]\);/\1 down;/" /tmp/servers.conf ;;
  up) sed -i "s/^\(server $1:.*\) down;/\1;/" /tmp/servers.conf ;;
  *)
    echo 'Usage: nginx-server NAME up|down' >&2
    exit 64
    ;;
esac
exec nginx -s reload
