// The catalog of the demo team: situations, personalities, industries, roles and methodologies.
import { DEMO_TEAM_ID } from './demo-team.ts';
import type { SeedFileInput } from './schema.ts';

type Entry = NonNullable<SeedFileInput['catalog']>[number];
type Line = readonly [id: string, de: string, en: string, icon: string];

const SITUATIONS: readonly Line[] = [
  ['sit_cold', 'Kaltakquise', 'Cold call', 'phone'],
  ['sit_first_meeting', 'Erstgespräch', 'First meeting', 'handshake'],
  ['sit_needs_analysis', 'Bedarfsanalyse', 'Needs analysis', 'search'],
  ['sit_product_demo', 'Produktvorführung', 'Product demo', 'presentation'],
  ['sit_price_talk', 'Preisgespräch', 'Price negotiation', 'coins'],
  ['sit_closing', 'Abschlussgespräch', 'Closing', 'signature'],
  ['sit_follow_up', 'Nachfassen', 'Follow-up', 'repeat'],
  ['sit_complaint', 'Reklamation', 'Complaint', 'alert'],
];

const PERSONALITIES: readonly Line[] = [
  ['per_calm', 'Ruhig', 'Calm', 'leaf'],
  ['per_analytical', 'Analytisch', 'Analytical', 'chart'],
  ['per_dominant', 'Dominant', 'Dominant', 'bolt'],
  ['per_friendly', 'Freundlich', 'Friendly', 'smile'],
  ['per_sceptical', 'Skeptisch', 'Sceptical', 'question'],
  ['per_hurried', 'Unter Zeitdruck', 'In a hurry', 'clock'],
  ['per_silent', 'Wortkarg', 'Taciturn', 'dots'],
];

const INDUSTRIES: readonly Line[] = [
  ['ind_saas', 'Software', 'Software', 'code'],
  ['ind_manufacturing', 'Maschinenbau', 'Mechanical engineering', 'gear'],
  ['ind_logistics', 'Logistik', 'Logistics', 'truck'],
  ['ind_health', 'Gesundheitswesen', 'Health care', 'heart'],
  ['ind_finance', 'Finanzdienstleistungen', 'Financial services', 'bank'],
  ['ind_retail', 'Handel', 'Retail', 'cart'],
  ['ind_public', 'Öffentlicher Dienst', 'Public sector', 'building'],
  ['ind_gambling', 'Glücksspiel', 'Gambling', 'dice'],
];

const ROLES: readonly Line[] = [
  ['rol_ceo', 'Geschäftsführung', 'Managing director', 'crown'],
  ['rol_buyer', 'Einkauf', 'Procurement', 'clipboard'],
  ['rol_it', 'IT-Leitung', 'Head of IT', 'server'],
  ['rol_sales', 'Vertriebsleitung', 'Head of sales', 'target'],
  ['rol_hr', 'Personalleitung', 'Head of HR', 'people'],
  ['rol_user', 'Fachanwenderin', 'Specialist user', 'person'],
];

const METHODOLOGIES: readonly Line[] = [
  ['met_spin', 'SPIN', 'SPIN', 'spiral'],
  ['met_challenger', 'Challenger', 'Challenger', 'flag'],
  ['met_meddic', 'MEDDIC', 'MEDDIC', 'list'],
  ['met_bant', 'BANT', 'BANT', 'filter'],
  ['met_sandler', 'Sandler', 'Sandler', 'compass'],
  ['met_value', 'Wertorientierter Verkauf', 'Value selling', 'gem'],
];

export const DEMO_CATALOG: readonly Entry[] = [
  ...toEntries('situation', SITUATIONS),
  ...toEntries('personality', PERSONALITIES),
  ...toEntries('industry', INDUSTRIES),
  ...toEntries('role', ROLES),
  ...toEntries('methodology', METHODOLOGIES),
  {
    kind: 'situation',
    id: 'sit_trade_fair',
    name: { de: 'Messegespräch (Hansa)', en: 'Trade fair talk (Hansa)' },
    icon: 'tent',
    team: DEMO_TEAM_ID,
  },
];

export const DEMO_RULES: NonNullable<SeedFileInput['catalog_rules']> = [
  { situation: 'sit_cold', industry: 'ind_public' },
  { situation: 'sit_complaint', personality: 'per_friendly' },
  { situation: 'sit_price_talk', personality: 'per_hurried', industry: 'ind_health' },
];

function toEntries(kind: Entry['kind'], lines: readonly Line[]): Entry[] {
  return lines.map(([id, de, en, icon]) => ({ kind, id, name: { de, en }, icon }));
}
