// What the admin page says a privacy switch concerns, compared with what the operations declare.
import { describe, expect, it } from 'vitest';
import { CONCERNED_SCOPES } from '../../src/admin-ui/lib/privacy-scopes.ts';
import { privateFieldsOf } from '../../src/core/private-fields.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';

const reads = ENDPOINTS.filter(({ method, mode }) => method === 'GET' && mode === null);
const scopesOf = (endpoints: typeof ENDPOINTS) =>
  [...new Set(endpoints.map(({ scope }) => String(scope)))].toSorted();

describe('the permissions that the page names for a privacy switch', () => {
  it('of the details of members are those to read something personal', () => {
    const concerned = reads.filter(({ output }) =>
      privateFieldsOf(output).some(({ kind }) => kind === 'personal'),
    );
    expect<string[]>(CONCERNED_SCOPES.member_detail_enabled.toSorted()).toEqual(
      scopesOf(concerned),
    );
  });

  it('of the comparison are those to read a list that is named after it', () => {
    const concerned = reads.filter(({ output }) =>
      privateFieldsOf(output).some(({ path }) => path.startsWith('members')),
    );
    expect<string[]>(CONCERNED_SCOPES.leaderboard_enabled.toSorted()).toEqual(scopesOf(concerned));
  });
});
