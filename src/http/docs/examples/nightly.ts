import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import {
  createClient,
  type Assignment,
  type Member,
  type Training,
} from '@team-customer-api/client';

interface Copy {
  // When the last run began.
  at: string | null;
  trainings: Record<string, Training>;
  assignments: Record<string, Assignment>;
  members: Record<string, Member>;
}

// The file stands for your database.
const FILE = 'copy.json';
const EMPTY = { at: null, trainings: {}, assignments: {}, members: {} };
// For what was being stored when the last run began, and for a clock that is wrong.
const OVERLAP_MS = 3_600_000;

const client = createClient({
  apiKey: process.env['API_KEY'] ?? '',
  baseUrl: process.env['API_URL'] ?? 'https://api.example.com/api/public/v1',
  onRetry: ({ operation, error, waitMs }) => console.error(operation, error.message, waitMs),
});

const copy: Copy = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : EMPTY;
const began = new Date().toISOString();
const since = new Date(copy.at === null ? 0 : Date.parse(copy.at) - OVERLAP_MS);
const changed = { updated_since: since.toISOString(), limit: 200 };

for await (const training of client.evaluations.list({ ...changed, include: 'evaluation' }))
  copy.trainings[training.id] = training;
for await (const assignment of client.assignments.list(changed))
  copy.assignments[assignment.id] = assignment;
copy.members = {};
for await (const member of client.members.list({ limit: 200 })) copy.members[member.id] = member;

// Only now: after an error, the next run begins where this one did.
copy.at = began;
writeFileSync(`${FILE}.new`, JSON.stringify(copy));
renameSync(`${FILE}.new`, FILE);
