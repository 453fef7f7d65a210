// Refuses to run on an old Node. It is JavaScript, and npm's scripts load it with --import, because
// an old Node cannot read the TypeScript of an entry. `npm ci` installs Node 24 as a dependency,
// and npm's scripts run on it. With --ignore-scripts that installation is skipped, and npm silently
// uses the machine's own Node.
const required = 24;

if (Number.parseInt(process.versions.node, 10) < required) {
  process.stderr.write(
    `This needs Node ${required}, but runs on ${process.versions.node}.\n` +
      'Node is a dependency of this project, and an install script sets it up. So run "npm ci"\n' +
      'WITHOUT --ignore-scripts, and start through npm ("npm start"). If install scripts are\n' +
      'disabled (npm config get ignore-scripts), run once:\n' +
      '  npm ci --ignore-scripts=false\n',
  );
  process.exit(1);
}
