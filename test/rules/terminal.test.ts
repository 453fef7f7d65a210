// What commands print of rows: ids and names of the host application, answers of mail servers.
import { expect, test } from 'vitest';
import { printable, printableJson, printableLines } from '../../src/core/terminal.ts';
import { reportJson, reportText } from '../../src/doctor/report.ts';

const ACTS = [
  ['a\u001b[2Jb', 'a\\u{1b}[2Jb'],
  ['a\u007f\u009bb', 'a\\u{7f}\\u{9b}b'],
  ['a\rb\tc', 'a\\u{d}b\\u{9}c'],
  ['a\u200e\u200f\u061cb', 'a\\u{200e}\\u{200f}\\u{61c}b'],
  ['a\u2028\u2029b', 'a\\u{2028}\\u{2029}b'],
  ['a\u202a\u202b\u202c\u202d\u202eb', 'a\\u{202a}\\u{202b}\\u{202c}\\u{202d}\\u{202e}b'],
  ['a\u2066\u2067\u2068\u2069b', 'a\\u{2066}\\u{2067}\\u{2068}\\u{2069}b'],
] as const;

test.each(ACTS)('%j is shown as %s, and nothing acts', (text, shown) => {
  expect(printable(`${text}\n`)).toBe(`${shown}\\u{a}`);
  expect(printableLines(`${text}\n${text}`)).toBe(`${shown}\n${shown}`);
  const json = printableJson(JSON.stringify({ text }, null, 2));
  expect(JSON.parse(json)).toEqual({ text });
  const examined = [
    { id: 'jobs', section: 'JobsLate', findings: [{ level: 'warn', text, remedy: text } as const] },
  ];
  expect(reportText(examined)).toContain(`${shown}. ${shown} (runbook: JobsLate)\n`);
  for (const all of [json, reportText(examined), reportJson(examined)])
    expect(all).not.toMatch(/[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u);
});

test.each(['ünïcode', 'שלום', 'مرحبا', '用户', 'a\u200db', '🎯'])(
  '%s is shown as it is',
  (text) => {
    expect(printableLines(text)).toBe(text);
  },
);
