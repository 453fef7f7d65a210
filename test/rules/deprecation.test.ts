import { describe, expect, it } from 'vitest';
import {
  deprecationHeaders,
  effectiveDeprecation,
  isLongEnough,
} from '../../src/core/deprecation.ts';

describe('the deprecation of an operation', () => {
  const own = { since: '2027-03-01', sunset: '2028-03-01', link: '/docs/own' };
  const version = { since: '2027-01-01', sunset: '2029-01-01', link: '/docs/v2' };

  it('is its own or that of its version, if there is only one', () => {
    expect(effectiveDeprecation(null, null)).toBeNull();
    expect(effectiveDeprecation(own, null)).toEqual(own);
    expect(effectiveDeprecation(null, version)).toEqual(version);
  });

  it('has the earlier dates of both, and its own link', () => {
    expect(effectiveDeprecation(own, version)).toEqual({
      since: '2027-01-01',
      sunset: '2028-03-01',
      link: '/docs/own',
    });
  });

  it('has the link of the version if it has none', () => {
    const { link: _link, ...withoutLink } = own;
    expect(effectiveDeprecation(withoutLink, version)?.link).toBe('/docs/v2');
  });
});

describe('the headers of a deprecated operation', () => {
  it('name both dates at the start of the day in UTC', () => {
    expect(deprecationHeaders({ since: '2027-01-01', sunset: '2028-02-29' })).toEqual({
      Deprecation: '@1798761600',
      Sunset: 'Tue, 29 Feb 2028 00:00:00 GMT',
    });
  });

  it('link to the page that says what to use instead', () => {
    const headers = deprecationHeaders({
      since: '2027-01-01',
      sunset: '2027-01-01',
      link: '/docs/v2',
    });
    expect(headers['Link']).toBe('</docs/v2>; rel="deprecation"; type="text/html"');
  });

  it.each([
    ['a sunset before the deprecation', '2027-01-02', '2027-01-01', /is before the deprecation/],
    ['a day that does not exist', '2027-02-29', '2028-01-01', /2027-02-29 is no date/],
    ['a month of a year beyond 9999', '+020270-01', '+020270-02', /is no date/],
    ['a date with a time', '2027-01-01', '2028-01-01T00:00:00Z', /is no date/],
  ])('throw for %s', (_what, since, sunset, message) => {
    expect(() => deprecationHeaders({ since, sunset })).toThrow(message);
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
