// The words of generated rows. They are short, because a million evaluations may contain them.

import type { Goal, ObjectionCategory, TrainingSource } from '../core/vocabularies.ts';

type Words<Word = string> = readonly [Word, ...Word[]];

export const FIRST_NAMES = split('anna|ben|clara|emma|felix|greta|jonas|mia|alice|charlie|lucy');
export const LAST_NAMES = split('schmidt|fischer|koch|wolf|neumann|smith|jones|taylor|evans|ward');

/** A word that is listed twice is picked twice as often. */
export const GENERATED_GOALS: Words<Goal> = ['reached', 'partial', 'partial', 'missed'];
export const GENERATED_SOURCES: Words<TrainingSource> = ['app', 'app', 'app', 'api'];
export const STAGES = split('qualified|demo|proposal|negotiation');
export const GENERATED_CATEGORIES: Words<ObjectionCategory> = ['price', 'timing', 'need', 'trust'];

/** The texts of a tip are in the order of their names. */
const TIP = ['issue', 'moment', 'principle', 'rewrite', 'impact'];

export const VOCABULARY = {
  de: {
    titles: split('Kaltakquise mit Einwand|Preisgespräch führen|Bedarf sauber klären'),
    caseTitles: split('Einkauf will Rabatt|Verlängerung steht an|Neuer Ansprechpartner'),
    companies: split('Nordwerk GmbH|Alpenlicht AG|Elbe Software'),
    dealTitles: split('Jahreslizenz|Erweiterung|Pilotprojekt'),
    lostReasons: split('Budget gestrichen|Wettbewerber günstiger'),
    objections: split('Das ist uns zu teuer.|Das muss ich intern klären.|Das kann jeder.'),
    tips: [
      tip('Zu früh über den Preis|Minute 3|Erst Nutzen|Was kostet Sie das heute?|Weniger Druck'),
      tip('Geschlossene Fragen|Bedarf|Offen fragen|Wie läuft das bei Ihnen?|Mehr Wissen'),
      tip('Einwand übergangen|Minute 7|Erst verstehen|Was genau macht Sorge?|Vertrauen'),
      tip('Kein nächster Schritt|Schluss|Verabreden|Passt Dienstag um zehn?|Mehr Abschlüsse'),
      tip('Merkmale aufgezählt|Vorstellung|Nutzen nennen|Damit sparen Sie zwei Tage.|Wert'),
    ],
  },
  en: {
    titles: split('Cold call with objection|Hold the price|Find the real need'),
    caseTitles: split('Procurement wants a discount|Renewal is due|New contact person'),
    companies: split('Northfield Ltd|Bright & Sons|Oakwood Software'),
    dealTitles: split('annual licence|expansion|pilot'),
    lostReasons: split('budget cut|competitor was cheaper'),
    objections: split('That is too expensive.|I need to ask my boss.|Anybody can do that.'),
    tips: [
      tip('Price came too early|Minute 3|Value first|What does it cost you today?|Less pressure'),
      tip('Closed questions|Needs|Ask openly|How does that work for you?|Better needs'),
      tip('Objection ignored|Minute 7|Understand first|What worries you most?|Trust'),
      tip('No next step|End|Always agree on one|Does Tuesday at ten suit you?|More deals'),
      tip('Listed features|Pitch|Name the benefit|This saves you two days.|Clear value'),
    ],
  },
} as const;

function split(text: string): Words {
  return text.split('|') as [string, ...string[]];
}

function tip(texts: string): Readonly<Record<string, string>> {
  return Object.fromEntries(split(texts).map((text, place) => [TIP[place], text]));
}
