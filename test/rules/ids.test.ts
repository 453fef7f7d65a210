import { describe, expect, it, vi } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { timeOfRequest } from '../../src/features/requests/rules.ts';
import { madeAtMs, makeWebhookSecret, newId, newRequestId } from '../../src/core/ids.ts';

describe('an id', () => {
  it('begins with its kind, so that a reader can tell', () => {
    expect(newId('member')).toMatch(/^mem_[0-9a-z]{26}$/);
    expect(newId('webhookEndpoint')).toMatch(/^whe_[0-9a-z]{26}$/);
  });

  it('tells when it was made, unless somebody else has made it', () => {
    const before = Date.now();
    const at = madeAtMs(newId('job'));
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(Date.now());
    expect(madeAtMs('job_01jdp8s1g0e0ebbq2k5yv6fhkc')).toBe(Date.parse('2024-11-27T07:36:08.960Z'));
    for (const other of ['job_1', 'JOB', '', `job_${'i'.repeat(26)}`])
      expect(madeAtMs(other)).toBeNull();
  });

  it('of a request tells the present time, although the clock was ahead before', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      vi.setSystemTime('2026-11-02T11:00:00Z');
      newRequestId();
      vi.setSystemTime('2026-11-02T09:00:00Z');
      const ids = Array.from({ length: 1000 }, newRequestId);
      const times = new Set(ids.map((id) => timeOfRequest(id)?.toISOString()));
      expect([...times]).toEqual(['2026-11-02T09:00:00.000Z']);
      expect(new Set(ids).size).toBe(1000);
    } finally {
      vi.useRealTimers();
    }
  });

  it('of a request is a UUID of version 7', () => {
    expect(newRequestId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f-]{16}$/);
  });
});

describe("a webhook endpoint's secret", () => {
  it('has more than 256 random bits, which any base64 decoder reads alike', () => {
    for (let n = 0; n < 100; n += 1) {
      const secret = makeWebhookSecret();
      expect(secret).toMatch(/^whsec_[A-Za-z0-9]{44}$/);
      // What strict decoders want: it is written as they would write its bytes.
      const bytes = Buffer.from(secret.slice(6), 'base64');
      expect(bytes).toHaveLength(33);
      expect(bytes.toString('base64')).toBe(secret.slice(6));
      expect(bytes.toString('base64url')).toBe(secret.slice(6));
    }
    expect(makeWebhookSecret()).not.toBe(makeWebhookSecret());
  });
});

describe('the clock of a test', () => {
  it('stands still until it is advanced or set', () => {
    const clock = fixedClock(new Date('2026-11-02T09:00:00Z'));
    expect([clock.now(), clock.now()]).toEqual([clock.override(), clock.override()]);
    clock.advance(1500);
    expect(clock.now()).toEqual(new Date('2026-11-02T09:00:01.500Z'));
    clock.set(new Date('2027-01-01T00:00:00Z'));
    expect(clock.now()).toEqual(new Date('2027-01-01T00:00:00Z'));
  });
});
