// The words of generated rows. They are short, because a million evaluations may contain them.

import type { Goal, ObjectionCategory, TrainingSource } from '../core/vocabularies.ts';

type Words<Word = string> = readonly [Word, ...Word[]];

export const FIRST_NAMES = wordsOf(
  'anna ben clara david emma felix greta hannah ida jonas karla leon mia noah olivia paul ' +
    'rosa simon tom vera alice charlie daisy george harry isla jack lucy oscar ruby',
);

export const LAST_NAMES = wordsOf(
  'schmidt weber fischer becker hoffmann koch richter klein wolf neumann schwarz krueger ' +
    'braun smith jones taylor brown wilson evans walker wright hughes green clarke cooper ' +
    'ward turner',
);

/** A word that is listed twice is picked twice as often. */
export const GENERATED_GOALS: Words<Goal> = ['reached', 'partial', 'partial', 'missed'];
export const GENERATED_SOURCES: Words<TrainingSource> = ['app', 'app', 'app', 'api'];
export const STAGES: Words = ['qualified', 'demo', 'proposal', 'negotiation'];
export const GENERATED_CATEGORIES: Words<ObjectionCategory> = [
  'price',
  'timing',
  'competitor',
  'authority',
  'need',
  'trust',
];

type Tip = Readonly<Record<'issue' | 'moment' | 'principle' | 'rewrite' | 'impact', string>>;

interface Vocabulary {
  readonly titles: Words;
  readonly caseTitles: Words;
  readonly companies: Words;
  readonly dealTitles: Words;
  readonly lostReasons: Words;
  readonly objections: Words;
  readonly tips: readonly [Tip, ...Tip[]];
}

export const VOCABULARY: Readonly<Record<'de' | 'en', Vocabulary>> = {
  de: {
    titles: [
      'Kaltakquise mit Einwand',
      'Preisgespräch führen',
      'Bedarf sauber klären',
      'Abschluss im ersten Termin',
      'Nutzen statt Merkmale',
      'Rückruf nach Angebot',
    ],
    caseTitles: [
      'Einkauf will Rabatt',
      'Wechsel vom Wettbewerber',
      'Verlängerung steht an',
      'Neuer Ansprechpartner',
      'Pilot mit drei Standorten',
    ],
    companies: [
      'Nordwerk GmbH',
      'Alpenlicht AG',
      'Hansa Logistik',
      'Rheintal Medizintechnik',
      'Sauerland Bau',
      'Elbe Software',
    ],
    dealTitles: ['Jahreslizenz', 'Erweiterung', 'Pilotprojekt', 'Rahmenvertrag', 'Verlängerung'],
    lostReasons: ['Budget gestrichen', 'Wettbewerber günstiger', 'kein Bedarf mehr'],
    objections: [
      'Das ist uns zu teuer.',
      'Wir haben gerade keine Zeit dafür.',
      'Ihr Wettbewerber kann das auch.',
      'Das muss ich erst intern klären.',
      'Wir sind zufrieden, wie es ist.',
    ],
    tips: [
      {
        issue: 'Zu früh über den Preis',
        moment: 'Minute 3',
        principle: 'Erst Nutzen, dann Preis',
        rewrite: 'Was kostet Sie das heute?',
        impact: 'Weniger Rabattdruck',
      },
      {
        issue: 'Geschlossene Fragen',
        moment: 'Bedarf',
        principle: 'Offen fragen',
        rewrite: 'Wie läuft das bei Ihnen?',
        impact: 'Mehr Informationen',
      },
      {
        issue: 'Einwand übergangen',
        moment: 'Minute 7',
        principle: 'Erst verstehen',
        rewrite: 'Was genau macht Sorge?',
        impact: 'Vertrauen',
      },
      {
        issue: 'Kein nächster Schritt',
        moment: 'Schluss',
        principle: 'Immer verabreden',
        rewrite: 'Passt Dienstag um zehn?',
        impact: 'Mehr Abschlüsse',
      },
      {
        issue: 'Merkmale aufgezählt',
        moment: 'Vorstellung',
        principle: 'Nutzen nennen',
        rewrite: 'Damit sparen Sie zwei Tage.',
        impact: 'Klarer Wert',
      },
      {
        issue: 'Zu viel Redeanteil',
        moment: 'durchgehend',
        principle: 'Zuhören',
        rewrite: 'Erzählen Sie mehr davon.',
        impact: 'Besserer Bedarf',
      },
    ],
  },
  en: {
    titles: [
      'Cold call with objection',
      'Hold the price',
      'Find the real need',
      'Close in the first meeting',
      'Benefits, not features',
      'Call back after the offer',
    ],
    caseTitles: [
      'Procurement wants a discount',
      'Switch from a competitor',
      'Renewal is due',
      'New contact person',
      'Pilot with three sites',
    ],
    companies: [
      'Northfield Ltd',
      'Bright & Sons',
      'Harbour Logistics',
      'Thames Medical',
      'Peak Construction',
      'Oakwood Software',
    ],
    dealTitles: ['annual licence', 'expansion', 'pilot', 'framework contract', 'renewal'],
    lostReasons: ['budget cut', 'competitor was cheaper', 'no need any more'],
    objections: [
      'That is too expensive.',
      'We have no time for this now.',
      'Your competitor does that, too.',
      'I need to ask my boss first.',
      'We are fine as we are.',
    ],
    tips: [
      {
        issue: 'Price came too early',
        moment: 'Minute 3',
        principle: 'Value before price',
        rewrite: 'What does it cost you today?',
        impact: 'Less pressure',
      },
      {
        issue: 'Closed questions',
        moment: 'Needs',
        principle: 'Ask openly',
        rewrite: 'How does that work for you?',
        impact: 'More to work with',
      },
      {
        issue: 'Objection ignored',
        moment: 'Minute 7',
        principle: 'Understand first',
        rewrite: 'What worries you most?',
        impact: 'Trust',
      },
      {
        issue: 'No next step',
        moment: 'End',
        principle: 'Always agree on one',
        rewrite: 'Does Tuesday at ten suit you?',
        impact: 'More deals',
      },
      {
        issue: 'Listed features',
        moment: 'Pitch',
        principle: 'Name the benefit',
        rewrite: 'This saves you two days.',
        impact: 'Clear value',
      },
      {
        issue: 'Talked too much',
        moment: 'Throughout',
        principle: 'Listen',
        rewrite: 'Tell me more about that.',
        impact: 'Better needs',
      },
    ],
  },
};

function wordsOf(text: string): Words {
  return text.split(' ') as [string, ...string[]];
}
