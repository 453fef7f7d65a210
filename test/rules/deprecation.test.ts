import { describe, expect, it } from 'vitest';
import {
  deprecationHeaders,
  deprecationOf,
  isLongEnough,
  requireOperations,
  type Deprecation,
} from '../../src/core/deprecation.ts';

const USERS = { method: 'GET', path: '/users' };

describe('the deprecation of an operation', () => {
  const own = { since: '2027-03-01', sunset: '2028-03-01', link: 'https://a.test/own' };
  const version = { since: '2027-01-01', sunset: '2029-01-01', link: 'https://a.test/v2' };
  const of = (mine: Deprecation | null, versions: Deprecation | null) =>
    deprecationOf({ version: versions, operations: mine ? { 'GET /users': mine } : {} }, USERS);

  it('is its own or that of its version, if there is only one', () => {
    expect(of(null, null)).toBeNull();
    expect(of(own, null)).toEqual(own);
    expect(of(null, version)).toEqual(version);
    const others = { version: null, operations: { 'POST /users': own, 'GET /users/{id}': own } };
    expect(deprecationOf(others, USERS)).toBeNull();
  });

  it('has the earlier dates of both, and its own link', () => {
    expect(of(own, version)).toEqual({ ...own, since: '2027-01-01' });
  });

  it('has the link of the version if it has none', () => {
    const { link: _link, ...withoutLink } = own;
    expect(of(withoutLink, version)?.link).toBe('https://a.test/v2');
  });

  it('must be of an operation that exists', () => {
    const deprecations = { version: null, operations: { 'GET /users': own, 'GET /user': own } };
    expect(() => requireOperations(deprecations, [USERS])).toThrow(
      /no operation of v1: GET \/user$/,
    );
  });
});

describe('the headers of a deprecated operation', () => {
  it('name both dates at the start of the day in UTC, and the guide', () => {
    const dates = { since: '2027-01-01', sunset: '2028-02-29' };
    expect(deprecationHeaders(dates, 'https://a.test')).toEqual({
      Deprecation: '@1798761600',
      Sunset: 'Tue, 29 Feb 2028 00:00:00 GMT',
      Link: '<https://a.test/docs/versioning>; rel="deprecation"; type="text/html"',
    });
  });

  it('link to the page that says what to use instead', () => {
    const link = 'https://b.test/v2';
    const headers = deprecationHeaders({ since: '2027-01-01', sunset: '2028-01-01', link }, '');
    expect(headers['Link']).toBe('<https://b.test/v2>; rel="deprecation"; type="text/html"');
  });
});

describe('two versions in parallel', () => {
  it.each([
    ['2027-01-01', '2027-12-31', false],
    ['2027-01-01', '2028-01-01', true],
    ['2027-01-01', '2030-01-01', true],
    // A year after 29 February is 1 March.
    ['2028-02-29', '2029-02-28', false],
    ['2028-02-29', '2029-03-01', true],
  ])('from %s to %s last twelve months: %s', (since, sunset, expected) => {
    expect(isLongEnough({ since, sunset })).toBe(expected);
  });
});
