// What the admin page takes from the host application that shows it in a frame.
import { describe, expect, test } from 'vitest';
import { readHostMessage } from '../../src/admin-ui/lib/host-message.ts';

describe('a message of the host application', () => {
  test('is taken as it is, if all of it is right', () => {
    const settings = {
      type: 'svc:settings',
      token: 'ey',
      theme: 'dark',
      language: 'de',
      colors: { light: {} },
      navigation: ['keys'],
    };
    expect(readHostMessage(settings)).toEqual({ message: settings, problems: [] });
    const go = { type: 'svc:go', path: '/deliveries?status=failed' };
    expect(readHostMessage(go)).toEqual({ message: go, problems: [] });
  });

  test.each([
    [null, 'type'],
    ['svc:settings', 'type'],
    [{ type: 'svc:port' }, 'type'],
    [{ type: 'svc:go' }, 'path'],
    [{ type: 'svc:go', path: 'keys' }, 'path'],
    [{ type: 'svc:go', path: '//elsewhere.test' }, 'path'],
    [{ type: 'svc:go', path: 'https://elsewhere.test' }, 'path'],
  ])('such as %j is refused, and its %s is named', (data, field) => {
    const { message, problems } = readHostMessage(data);
    expect(message).toEqual({ type: 'nothing' });
    expect(problems.map((problem) => problem.field)).toEqual([field]);
  });

  test.each([
    { token: 3 },
    { token: '' },
    { theme: 'green' },
    { language: 'fr' },
    { colors: 'red' },
    { navigation: 'keys' },
    { navigation: ['keys', 'nothing'] },
    { size: 3 },
  ])('with %j is taken without that, which is named', (wrong) => {
    const { message, problems } = readHostMessage({ type: 'svc:settings', ...wrong });
    expect(message).toEqual({ type: 'svc:settings' });
    expect(problems.map(({ field }) => field)).toEqual(Object.keys(wrong));
    expect(problems[0]?.message).toMatch(/^(must be|is not one of) /);
  });
});
