/**
 * The licences of npm's packages and fonts that the image may hold, each with what it asks of those
 * who pass the image on. None of them asks anything of our own code. A licence that is not here
 * fails the test: choose another package, or add it with its reason.
 *
 * Debian's own packages are not listed. Those of its section `main` may be passed on by the
 * guidelines of Debian. They are programs beside ours. Our process loads the C library (LGPL) and
 * the C++ library (GPL with an exception for that), unchanged and shared.
 */
export const ALLOWED: Readonly<Record<string, string>> = {
  MIT: 'the licence goes with it; install.sh and build/admin/licenses.json keep it',
  ISC: 'as MIT',
  'BSD-2-Clause': 'as MIT',
  'BSD-3-Clause': 'as MIT; the names of the authors must not advertise',
  'Apache-2.0': 'the licence and a NOTICE go with it; install.sh keeps both',
  'Python-2.0': 'as MIT; argparse, which cosmiconfig of graphile-worker brings',
  '0BSD': 'nothing',
  'MIT-0': 'nothing',
  'OFL-1.1': 'of fonts: the licence goes with them; src/docs/assets has it',
};
