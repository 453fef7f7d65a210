#!/bin/sh
# Makes a production install in the current folder, which holds the release. It needs of it
# package.json, package-lock.json, .npmrc, tsconfig.json, prisma/, openapi.v1.json and what the
# admin page and the client's types are built from. It makes `node_modules` with what the API, the
# worker and the commands need, its own Node included, the generated client in src/db/generated, and
# the admin page in build/. It takes 230 MB instead of 900.
# The Dockerfile runs it, and so does a machine without containers. It needs npm and any Node from
# version 20; afterwards neither is needed.
set -eu

npm ci
# Node's licence, which has those of what it is built from. The next line removes its download.
cp node_modules/node/node_modules/node-*/LICENSE node_modules/node/
# Prisma's generator has done its work, and production brings its own Postgres.
npm prune --omit=dev --omit=optional --ignore-scripts

cd node_modules
# Declarations, source maps and texts: nothing reads them at run time. Licences stay.
find . -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \
  -o -name '*.md' -o -name '*.markdown' \) ! -iname 'licen[sc]e*' ! -iname 'notice*' -delete
# Prisma's query compilers for other databases, and its largest twice more, for other bundlers.
find @prisma/client/runtime -type f \( -name '*mysql*' -o -name '*sqlite*' -o -name '*sqlserver*' \
  -o -name '*cockroachdb*' -o -name 'wasm-compiler-edge*' \) -delete
# A peer of packages that use its types only.
rm -rf typescript .bin/tsc .bin/tsserver
# Sources beside what was built from them.
rm -rf zod/src
# The download that node/bin/node was made from.
rm -rf node/node_modules
find . -type d -empty -delete
