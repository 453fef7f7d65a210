// The floor's answers to the admin page's searches: a token is verified, and one statement finds
// the admin and what they search. The addresses are those of the API.
import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type pg from 'pg';
import { DELIVERY_FIELDS, MEMBER_FIELDS } from './floor-tables.ts';

const PREFIX = '/trpc/';
const LIMIT = 50;

const IS_ADMIN = `exists (
      select
      from floor.member a
      where a.tenant_id = $1 and a.user_id = $2 and a.status = 'active' and a.role <> 'member'
    )`;

/** What is called → its statement. $1: the team, $2: the person, $3: the limit. */
const SEARCHES: Readonly<Record<string, string>> = {
  'admin.members.search': `
  select ${MEMBER_FIELDS}
  from floor.member m
  where tenant_id = $1 and status <> 'ended'
    and (strpos(lower(id), $4) > 0
      or strpos(lower(user_id), $4) > 0
      or strpos(lower(email), $4) > 0)
    and ${IS_ADMIN}
  order by created_at desc, id desc
  limit $3`,
  'admin.deliveries.list': `
  select ${DELIVERY_FIELDS}
  from floor.delivery d
  where tenant_id = $1 and status in ('retrying', 'gave_up') and event_type = $4
    and ${IS_ADMIN}
  order by created_at desc, id desc
  limit $3`,
};

/** The input of either search. */
interface Wanted {
  readonly text?: string;
  readonly event_type?: string;
  readonly limit?: number;
}

export function isSearch({ url }: IncomingMessage): boolean {
  return url?.startsWith(PREFIX) ?? false;
}

/** Returns the body of the answer; null for a token that is not valid. */
export async function search(pool: pg.Pool, request: IncomingMessage): Promise<object | null> {
  const admin = readToken(request.headers.authorization?.slice('Bearer '.length) ?? '');
  if (admin === null) return null;
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://floor');
  const name = pathname.slice(PREFIX.length);
  const wanted = JSON.parse(searchParams.get('input') ?? '{}') as Wanted;
  const { text, event_type: type, limit = LIMIT } = wanted;
  const { rows } = await pool.query({
    name,
    text: SEARCHES[name] ?? '',
    values: [admin.team_id, admin.sub, limit + 1, text ?? type],
  });
  const last = rows.length > limit ? rows[limit - 1] : null;
  if (last) rows.length = limit;
  const cursor = last && Buffer.from(String(last.id)).toString('base64url');
  return { result: { data: { data: rows, next_cursor: cursor } } };
}

interface Claims {
  readonly sub: string;
  readonly team_id: string;
  readonly exp: number;
}

function readToken(token: string): Claims | null {
  const [head = '', payload = '', signature = ''] = token.split('.');
  const secret = process.env['APP_AUTH_SECRET'] ?? '';
  const wanted = createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url');
  if (signature !== wanted) return null;
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
  return claims.exp * 1000 > Date.now() ? claims : null;
}
