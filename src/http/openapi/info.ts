import type { oas31 } from 'zod-openapi';
import { PERSONAL_EVENT_FIELDS } from '../../core/events.ts';
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../../core/page.ts';
import { SCOPE_DESCRIPTIONS } from '../../core/scopes.ts';
import { listFields } from './webhooks.ts';

/** The version of the document's content; the path version is in `servers`. */
const VERSION = '1.0.0';

const TAGS: Readonly<Record<string, string>> = {
  Account: 'The key in use.',
  Members: 'Who belongs to the team: invite, change roles, remove.',
  Trainings: 'Training sessions, as metadata: transcripts are not part of v1.',
  Evaluations: 'What a scored training showed: score, dimensions, tips.',
  Assignments: 'Trainings that members are asked to do.',
  Cases: 'Cases that the team shares. Private cases of members are never visible.',
  Catalog:
    "Situations, personalities, industries, roles and methodologies within the team's policy.",
  Analytics: 'Aggregated figures of the team.',
  CRM: 'Deals and objections synchronized from the CRM, read-only. Connections are set up in the app.',
  Webhooks: 'Where events are sent, and what became of them.',
  Events: 'What webhook endpoints receive.',
};

/** The tags in use, with what each groups. */
export function describeTags(names: Iterable<string>): oas31.TagObject[] {
  return [...new Set(names)].map((name) => {
    const description = TAGS[name];
    return description === undefined ? { name } : { name, description };
  });
}

export const SECURITY_SCHEMES: Readonly<Record<string, oas31.SecuritySchemeObject>> = {
  ApiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'svck_live_<key_prefix>_<secret_part>',
    description:
      'An API key of the team, made in the app. Enter the whole key, beginning with `svck_live_`.',
  },
};

/** The introduction. `docsUrl` is where the developer pages are. */
export function describeApi(docsUrl: string): oas31.InfoObject {
  const info: oas31.InfoObject & { readonly summary: string } = {
    title: 'Team Customer API',
    version: VERSION,
    summary: "A team's members, trainings, evaluations, assignments and cases, for programs.",
    description: introduction(docsUrl),
    license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
  };
  return info;
}

const scopeTable = Object.entries(SCOPE_DESCRIPTIONS)
  .map(([scope, description]) => `| \`${scope}\` | ${description} |`)
  .join('\n');

function introduction(docsUrl: string): string {
  return `
With this API a program reads and changes what belongs to **one team**: members, trainings and evaluations, assignments, cases, the
catalog, analytics, CRM data and webhooks. Bodies are JSON in UTF-8, dates and times are ISO 8601 (in responses UTC, with milliseconds and \`Z\`).

## Authentication

Send the key with every request:

\`\`\`
curl {base_url}/me -H 'Authorization: Bearer svck_live_…'
\`\`\`

- Keys are made in the app by an admin or the owner of a team on the plan Team or Enterprise. The secret part is shown once.
- A key belongs to the team, not to a person, and no path or body ever names a team. What belongs to another team answers 404, exactly as
  if it never existed.
- Scopes are fixed when the key is made; every operation but \`GET /me\` names the one that it needs. A key may also be limited to IP
  addresses and in time. Revocation takes effect at once; for a rotation, two keys can overlap.
- Keys do not belong in browsers: there is no CORS.

| Scope | Allows |
| --- | --- |
${scopeTable}

## Pagination

Lists answer \`{ "data": […], "next_cursor": "…" }\`. Pass \`next_cursor\` unchanged as \`cursor\` for the next page; \`null\` means there is none.
\`limit\` is ${PAGE_LIMIT_DEFAULT} unless you say otherwise, and ${PAGE_LIMIT_MAX} at most. Lists are newest first; what is added or removed meanwhile never makes a page
repeat or skip an entry that stays.

## Errors

Errors are \`application/problem+json\` (RFC 9457). Match on \`code\`, which never changes and is never translated; \`title\` follows
\`Accept-Language\` (\`de\` or \`en\`, anything else is German). Every code has its cause and remedy on the [error page](${docsUrl}/errors), where \`type\`
leads. A method that a path does not have answers 405 with \`Allow\` and the code \`bad_request\`. When you ask support, name the \`request_id\`.

## Idempotency

Every POST takes an \`Idempotency-Key\` of up to 100 characters. Within 24 hours the same key with the same body returns the first response again,
with \`Idempotency-Replayed: true\`, and does nothing a second time; with another body or operation it is 422 \`idempotency_mismatch\`, and while the
first call still runs it is 409 \`conflict\`. So after a timeout or a 503, repeat the call with the same key.

## Rate limits

A key may make 120 requests per minute, and all keys of a team together as many as \`rate_limit_per_min\` in \`GET /me\` says. \`RateLimit-Limit\`,
\`RateLimit-Remaining\` and \`RateLimit-Reset\` (seconds) on every response show the tighter of the two. Beyond it the answer is 429 \`rate_limited\`
with \`Retry-After\`. Invitations are limited to 60 per hour and team.

## Privacy

A team can switch off the details of its members (\`member_detail_enabled\`, shown by \`GET /me\`). Then members come without \`email\`, deals without
\`owner_user_id\`, analytics without \`members\`; trainings, evaluations and single assignments and cases answer 403 \`privacy_restricted\`; and events come
without ${listFields(PERSONAL_EVENT_FIELDS)}.

## Webhooks

Events are sent by POST to endpoints that you register; the section *Webhooks* of this document describes each. Delivery is at least once and in no
particular order: recognize repetitions by \`Svc-Event-Id\`. To verify a delivery, take \`t\` and \`v1\` from \`Svc-Signature: t=<unix time>,v1=<hex>\`,
compute the lowercase hex HMAC-SHA256 of \`<t>.<raw body>\` with the endpoint's \`secret\` as key, compare in constant time, and refuse a \`t\` older than
five minutes. Answer 2xx within 10 seconds; anything else is repeated after 1 min, 5 min, 30 min, 2 h, 6 h, 12 h and 24 h. The
[webhook page](${docsUrl}/webhooks) has code for it.

## Versioning

The version is part of the path. Within v1 changes are only additive: new fields, routes, event types and error codes, so ignore what you
do not know. A breaking change comes as v2 beside v1, for at least twelve months, announced by the headers \`Deprecation\` and \`Sunset\` and by mail to every
admin with an active key.
`.trim();
}
