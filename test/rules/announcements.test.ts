import { describe, expect, it, test } from 'vitest';
import {
  announcementId,
  requireAnnouncement,
  type Announcement,
} from '../../src/features/announcements/rules.ts';

const VALID: Announcement = { version: 'v1', since: '2027-01-01', sunset: '2028-01-01' };

describe('an announcement', () => {
  it('names a version, and leaves twelve months between its dates', () => {
    expect(requireAnnouncement(VALID)).toEqual(VALID);
  });

  it.each<[string, Partial<Announcement>, RegExp]>([
    ['a version that does not exist', { version: 'v2' }, /no version v2/],
    ['less than twelve months', { sunset: '2027-12-31' }, /at least 12 months/],
    ['a sunset before the deprecation', { sunset: '2026-12-31' }, /at least 12 months/],
    ['a day that does not exist', { since: '2027-02-29' }, /2027-02-29 is no date/],
  ])('cannot have %s', (_what, fields, message) => {
    expect(() => requireAnnouncement({ ...VALID, ...fields })).toThrow(message);
  });

  test.each<[string, Partial<Announcement>]>([
    ['version', { version: 'v2' }],
    ['deprecation', { since: '2026-12-01' }],
    ['sunset', { sunset: '2028-02-01' }],
  ])('with another %s is another one, so that everybody is told again', (_what, fields) => {
    expect(announcementId({ ...VALID })).toBe(announcementId(VALID));
    expect(announcementId({ ...VALID, ...fields })).not.toBe(announcementId(VALID));
  });
});
