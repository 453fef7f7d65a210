// The container's health check: whether the process beside it answers. It asks nothing about the
// database: a process that waits for Postgres needs no restart, and /readyz tells balancers.
const { PORT = '3000', METRICS_PORT } = process.env;
const addresses = [`http://127.0.0.1:${PORT}/healthz`];
// A worker has no other port.
if (METRICS_PORT) addresses.push(`http://127.0.0.1:${METRICS_PORT}/`);

const answers = await Promise.all(
  addresses.map((address) =>
    fetch(address, { signal: AbortSignal.timeout(3_000) }).then(
      () => true,
      () => false,
    ),
  ),
);
process.exitCode = answers.includes(true) ? 0 : 1;
