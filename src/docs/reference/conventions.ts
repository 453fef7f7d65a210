/** What holds for all operations or for a kind of them: said once to who reads all pages. */
import { IMPLIED_ERRORS, impliedCauses, impliedCodes } from '../../core/implied-errors.ts';
import type { Operation, OperationError } from './operations.ts';

/** The errors of the operation that `CONVENTIONS` do not tell. */
export function ownErrors(operation: Operation): OperationError[] {
  const codes = new Set<string>(impliedCodes(operation));
  const causes: Readonly<Record<string, string>> = impliedCauses(operation);
  return operation.errors.filter(
    ({ code, cause }) => !codes.has(code) || (causes[code] ?? cause) !== cause,
  );
}

const errorLines = IMPLIED_ERRORS.map(({ of, codes, cause }) =>
  errorLine(of, codes, cause?.('id')),
);

function errorLine(of: string, codes: readonly string[], cause: string | undefined): string {
  const names = codes.map((code) => `\`${code}\``).join(', ');
  return `  - ${of}: ${names}${cause === undefined ? '' : `, if ${asClause(cause)}`}`;
}

/** The sentence without its capital and its full stop. */
function asClause(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '');
}

/** Sentences of descriptions, and what is left of them. */
export const SAID_ONCE: readonly (readonly [said: RegExp, brief: string])[] = [
  [/; a date-time with an offset\./g, '.'],
  [/ Encode the `\+` of an offset as `%2B`\./g, ''],
  // The guide says it.
  [/ (?:With a filter, a|A) page can hold fewer entries than `limit`, or none[^.]*\./g, ''],
  [
    /This operation is an addition of this service to the specification of the API\./g,
    'An addition of this service.',
  ],
];

/** What llms-full.txt begins with. */
export const CONVENTIONS = `
# How to read this file

- An operation has its method and path, its scope, what it does, what it takes, its response and the
  errors that are its own. The id in a path is what its name says, as responses have it.
- A field without a type is a string, \`?\` stands for “or null”. What you send is optional
  unless it says \`required\`, what you get is there unless it says \`optional\`. “As in” and “as
  above” mean the type and the text of the field of that name, \`a\` … \`z\` (_Page_) the list of
  values there.
- A moment in a query is a date-time with an offset, whose \`+\` is \`%2B\` there. “An addition
  of this service” is none of the specification of the API.
- Examples of bodies and responses are on the pages of the operations, which llms.txt lists.
- Every operation takes \`Accept-Language\`, every GET also \`If-None-Match\` (_Conditional
  requests_), PATCH and DELETE \`If-Match\`, POST \`Idempotency-Key\` (_Idempotency and
  retries_). A list with pages takes \`cursor\` and \`limit\` (_Pagination and synchronization_).
- These errors are said here once. _Errors_ explains each code.
${errorLines.join('\n')}
`.trim();
