// JavaScript, and loaded by npm's scripts with --import: an old Node does not even read the TypeScript of an entry.
// `npm ci` installs Node 24 as a dependency and npm's scripts then run on it; with --ignore-scripts its install step
// is skipped, and the machine's own Node is used without a word.
const required = 24;

if (Number.parseInt(process.versions.node, 10) < required) {
  process.stderr.write(
    `This needs Node ${required}, but runs on ${process.versions.node}.\n` +
      'Node comes as a dependency whose install script puts it in place, so run "npm ci" WITHOUT --ignore-scripts, and\n' +
      'start through npm ("npm start"). Where install scripts are off (npm config get ignore-scripts), run once:\n' +
      '  npm ci --ignore-scripts=false\n',
  );
  process.exit(1);
}
