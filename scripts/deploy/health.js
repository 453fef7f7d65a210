// The container's health check: whether the process beside it answers. It asks nothing about the
// database: a process that waits for Postgres needs no restart, and /readyz tells balancers.
const { PORT, HOST, METRICS_PORT, METRICS_HOST } = process.env;
/**
 * The address at which this container reaches a process that listens at `host`. An empty variable
 * counts as not set.
 */
const reach = (host = HOST || '127.0.0.1') => {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host.includes(':') ? `[${host === '::' ? '::1' : host}]` : host;
};
const addresses = [`http://${reach()}:${PORT || '3000'}/healthz`];
// A worker has no other port.
if (METRICS_PORT) addresses.push(`http://${reach(METRICS_HOST || undefined)}:${METRICS_PORT}/`);

const answers = await Promise.all(
  addresses.map((address) =>
    fetch(address, { signal: AbortSignal.timeout(3_000) }).then(
      () => true,
      () => false,
    ),
  ),
);
process.exitCode = answers.includes(true) ? 0 : 1;
