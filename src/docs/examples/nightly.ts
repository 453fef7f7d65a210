import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import {
  createClient,
  type Assignment,
  type Member,
  type Training,
} from '@team-customer-api/client';

interface Copy {
  // The first `Date` of the last run.
  at: string | null;
  trainings: Record<string, Training>;
  assignments: Record<string, Assignment>;
  members: Record<string, Member>;
}

// The file stands for your database.
const FILE = 'copy.json';
const EMPTY = { at: null, trainings: {}, assignments: {}, members: {} };
// For what was being stored when the last run began.
const OVERLAP_MS = 300_000;
// By the API's clock: that of this machine may be wrong.
const dates: string[] = [];

const client = createClient({
  apiKey: process.env['API_KEY'] ?? '',
  baseUrl: process.env['API_URL'] ?? 'https://api.example.com/api/public/v1',
  onResponse: ({ status, headers }) => {
    if (status === 200) dates.push(headers.get('date') ?? '');
  },
  onRetry: ({ operation, error, waitMs }) => console.error(operation, error.message, waitMs),
});

const copy: Copy = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : EMPTY;
const since = new Date(copy.at === null ? 0 : Date.parse(copy.at) - OVERLAP_MS);
const changed = { updated_since: since.toISOString(), limit: 200 };

// First, so that whoever joins while the job runs is new to the next run.
const members: Copy['members'] = {};
for await (const member of client.members.list({ limit: 200 })) members[member.id] = member;

for await (const training of client.evaluations.list({ ...changed, include: 'evaluation' }))
  copy.trainings[training.id] = training;
for await (const assignment of client.assignments.list(changed))
  copy.assignments[assignment.id] = assignment;

// Somebody who comes back has old results, which do not count as changed.
for (const { id, user_id } of Object.values(members)) {
  if (copy.at === null || user_id === null || copy.members[id]?.user_id === user_id) continue;
  const theirs = { user_id, status: 'scored', include: 'evaluation', limit: 200 } as const;
  for await (const training of client.trainings.list(theirs))
    copy.trainings[training.id] = training;
}
copy.members = members;

// Only now: after an error, the next run begins where this one did.
copy.at = new Date(dates[0] ?? '').toISOString();
writeFileSync(`${FILE}.new`, JSON.stringify(copy));
renameSync(`${FILE}.new`, FILE);
