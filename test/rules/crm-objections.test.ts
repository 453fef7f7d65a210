import { describe, expect, test } from 'vitest';
import {
  describeObjection,
  detectLanguage,
  objectionInNote,
} from '../../src/features/crm/sync/objections.ts';

describe('the category', () => {
  test.each([
    ['There is no budget for it', 'budget'],
    ['Dafür ist kein Geld da', 'budget'],
    ['That is too EXPENSIVE', 'price'],
    ['Zu teuer', 'price'],
    ['Another vendor was faster', 'competitor'],
    ['Ein anderer Anbieter', 'competitor'],
    ['Maybe next quarter', 'timing'],
    ['Auf später verschoben', 'timing'],
    ['The board said no', 'authority'],
    ['Der Chef will nicht', 'authority'],
    ['An integration is missing', 'product'],
    ['Eine Schnittstelle fehlt', 'product'],
    ['Security concerns', 'trust'],
    ['Wegen Datenschutz', 'trust'],
    ['They see no need', 'need'],
    ['Kein Bedarf', 'need'],
    ['Because', 'other'],
  ])('of "%s" is %s', (text, category) => {
    expect(describeObjection(text)).toMatchObject({ category, text });
  });

  test('is the first of several in the list', () => {
    expect(describeObjection('The price is beyond our budget').category).toBe('budget');
    expect(describeObjection('No need at that price').category).toBe('price');
  });
});

describe('the language', () => {
  test.each([
    ['Das ist uns zu teuer', 'de'],
    ['It is too much for us', 'en'],
    ['DAS IST SO', 'de'],
    ['Das ist the question, and not for us', 'en'],
    ['Kein Bedarf', 'de'],
    ['Der Zeitpunkt for now', 'de'],
    ['Preis', 'de'],
    ['Überlegt', 'de'],
    ['Price', 'en'],
    ['Vorpreis', 'en'],
    ['', 'en'],
  ])('of "%s" is %s', (text, language) => {
    expect(detectLanguage(text)).toBe(language);
  });
});

describe('a note', () => {
  test.each([
    ['Objection: too expensive', 'too expensive'],
    ['<p>OBJECTION</p> <b>too</b><br>expensive', 'too expensive'],
    ['objection – : -  late', 'late'],
    [
      'Objection: &auml;&Uuml;&szlig; &lt;5&nbsp;&gt; &quot;x&quot; &apos; &amp;',
      'äÜß <5 > "x" \' &',
    ],
    ['Objection: &#228; &#xE4; &#XE4;', 'ä ä ä'],
    ['Objection: a&#0;b &unknown; &#1114112;c', 'a\ufffdb &unknown; \ufffdc'],
    ['Objection: 3 < 4 &euro; and <a title=">">more</a>', '3 < 4 € and more'],
    ['<style>p { color: red }</style>Objection: late<!-- > no -->', 'late'],
    ['Objection: <b>late', 'late'],
    ['Objection: &#1114111;', '\u{10ffff}'],
    ['Objection: a\0b', 'ab'],
    ['Objection: a&#1;b', 'a\u0001b'],
    ['Objection: a&#xD800;b', 'a\ufffdb'],
  ])('%j has the objection %j', (html, text) => {
    expect(objectionInNote(html, 'Objection')).toBe(text);
  });

  test.each([
    ['<strong>Einwand</strong>: Zu teuer.', 'Einwand:', 'Zu teuer.'],
    ['<p><span>Einw</span><span>and:</span> Zu teuer.</p>', 'Einwand:', 'Zu teuer.'],
    ['<p>Einwand: <b>un</b>brauchbar</p>', 'Einwand:', 'unbrauchbar'],
    ['Einwand:<UL><LI>teuer</LI><LI>spät</LI></UL>', 'Einwand:', 'teuer spät'],
    ['<table><tr><td>Einwand:</td><td>zu</td><td>teuer</td></tr></table>', 'Einwand:', 'zu teuer'],
    ['Kunde<br/>sagt: nein', 'Kunde sagt:', 'nein'],
    ['Kunde sagt: nein', 'Kunde  sagt:', 'nein'],
    ['Kunde&nbsp; sagt: nein', ' Kunde \u00a0sagt: ', 'nein'],
  ])('%j, whose marker is %j, has the objection %j', (html, marker, text) => {
    expect(objectionInNote(html, marker)).toBe(text);
  });

  test('is cut, between two characters', () => {
    const text = objectionInNote(`Objection: x${'😀'.repeat(5_000)}`, 'Objection');
    expect(text).toHaveLength(4_999);
    expect(text?.isWellFormed()).toBe(true);
  });

  // What is quadratic takes minutes for these, which is longer than a test may take.
  test.each(['<', '<a ', '<!--', '&', '&#', '</', '<a b="', ' ', '<b></i>', 'x '])(
    'of nothing but %j is read in a moment',
    (part) => {
      const text = objectionInNote(`Objection ${part.repeat(300_000)}`, 'Objection');
      expect(text?.length ?? 0).toBeLessThan(5_001);
    },
  );

  test.each(['Objection', '<p>Objection: </p>', 'An Objection: late', '', 'Objectio'])(
    '%j has none',
    (html) => {
      expect(objectionInNote(html, 'Objection')).toBeNull();
    },
  );
});
