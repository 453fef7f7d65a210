/** The introduction of the OpenAPI document, in Markdown: what holds for all operations. */
import { PERSONAL_EVENT_FIELDS } from '../../core/events.ts';
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../../core/page.ts';
import { SCOPE_DESCRIPTIONS } from '../../core/scopes.ts';
import { listFields } from './webhooks.ts';

/** Returns the introduction. `docsUrl` is the address of the developer pages. */
export function introduction(docsUrl: string): string {
  return [
    describeOverview(docsUrl),
    AUTHENTICATION,
    PAGINATION,
    describeErrors(docsUrl),
    IDEMPOTENCY,
    CONDITIONS,
    RATE_LIMITS,
    PRIVACY,
    describeVerification(docsUrl),
    VERSIONING,
  ]
    .map((section) => section.trim())
    .join('\n\n');
}

function describeOverview(docsUrl: string): string {
  return `
With this API, your program reads and changes the data of **one team**: members, trainings,
evaluations, assignments, cases, the catalog, analytics, CRM data and webhooks.

Bodies are JSON in UTF-8. Dates and times are ISO 8601; in responses they are in UTC, with
milliseconds and \`Z\`.

The [quickstart](${docsUrl}/quickstart) leads to a first webhook in minutes. The guides explain how
to [keep a copy of the data](${docsUrl}/pagination), [retry](${docsUrl}/idempotency) and
[handle webhooks](${docsUrl}/webhooks).
`;
}

const SCOPES = Object.entries(SCOPE_DESCRIPTIONS)
  .map(([scope, description]) => `| \`${scope}\` | ${description} |`)
  .join('\n');

const AUTHENTICATION = `
## Authentication

Send the API key with every request:

\`\`\`
curl {base_url}/me -H 'Authorization: Bearer svck_live_…'
\`\`\`

- Keys of the team's sandbox begin with \`svck_test_\`. Everything works there as in the live team.
- An admin or the owner of the team creates keys in the app. The team needs the plan Team or
  Enterprise. The secret part of a key is shown only once.
- A key belongs to the team, not to a person. No path and no body names a team. For data of another
  team the response is 404, exactly as if the data did not exist.
- Scopes are fixed when the key is created. Every operation names the scope that it needs.
- A key can be limited to IP addresses, and it can have an end date.
- A revoked key stops working at once. To rotate a key, let the old and the new one overlap.
- Do not use a key in a browser. There is no CORS.

| Scope | Allows |
| --- | --- |
${SCOPES}
`;

const PAGINATION = `
## Pagination

Lists respond with \`{ "data": […], "next_cursor": "…" }\`. For the next page, send
\`next_cursor\` unchanged as \`cursor\`. If it is \`null\`, there is no next page.
\`limit\` is ${PAGE_LIMIT_DEFAULT} by default and ${PAGE_LIMIT_MAX} at most.
A page can hold fewer, or none, and one of very large entries ends after about 256 KB: only
\`next_cursor\` tells whether another page follows.

Lists are sorted newest first. If entries are added or removed while you read the pages, no other
entry is repeated or skipped.
`;

function describeErrors(docsUrl: string): string {
  return `
## Errors

Errors are \`application/problem+json\` (RFC 9457). Match on \`code\`: it never changes and is never
translated. \`title\` follows \`Accept-Language\`: \`de\` or \`en\`; anything else is German.

The [error page](${docsUrl}/errors) explains the cause and the remedy of every code. \`type\` links
to it. If a path does not have the method, the response is 405 with \`Allow\` and the code
\`bad_request\`. When you contact support, tell them the \`request_id\`.

A query parameter that an operation does not know is no error. The header
\`Svc-Ignored-Parameters\` names it. An unknown field of a body is a \`validation_error\`.
`;
}

const IDEMPOTENCY = `
## Idempotency

Every POST accepts the header \`Idempotency-Key\`, a text of up to 100 characters; an empty one
counts as none. Within 24 hours, the same key with the same body returns the first response again,
with \`Idempotency-Replayed: true\`, and the action is not repeated. So after a timeout or a 503,
repeat the call with the same key. The reset of a sandbox frees most keys.

- A repeated call shows emails only while \`member_detail_enabled\` is on, and only while the
  membership exists. It shows a \`secret\` only to the API key that made the first call, and
  only while the webhook endpoint exists. The rest of the response stays the same.
- The same key with another body or operation is 422 \`idempotency_mismatch\`.
- The same key while the first call is still running is 409 \`conflict\` with \`Retry-After\`. A
  409 without that header stays with its key: once the cause is gone, call with a new one.
`;

const CONDITIONS = `
## Conditional requests

Every read has an \`ETag\`. Send it as \`If-None-Match\` with the same read: the response is 304
without a body if nothing has changed. Send it as \`If-Match\` with PATCH or DELETE: the response is
412 \`precondition_failed\`, and nothing is written, if the object has changed meanwhile. A PATCH
answers with the new \`ETag\`.

Reads of 4 KB and more are compressed with \`Accept-Encoding: gzip\` or \`br\`, those of webhook
endpoints never.
`;

const RATE_LIMITS = `
## Rate limits

A key may make 120 requests per minute. All keys of a team together may make as many as
\`rate_limit_per_min\` in \`GET /me\`. Every response has the headers \`RateLimit-Limit\`,
\`RateLimit-Remaining\` and \`RateLimit-Reset\` (in seconds). They describe the tighter of the two
limits; without a valid key, that of the caller's address. Above a limit the response is 429
\`rate_limited\` with \`Retry-After\`.

A team may send 60 invitations per hour.
`;

const PRIVACY = `
## Privacy

A team can switch off the details of its members. \`GET /me\` shows the switch as
\`member_detail_enabled\`. While it is off:

- Members have no \`email\`, deals no \`owner_user_id\` and analytics no \`members\`.
- In responses that contain an assignment, \`member_email\` is null.
- Trainings, evaluations, GET on assignments and cases, \`GET /sandbox/mails\`, and \`GET /users\`
  with \`email\` respond with 403 \`privacy_restricted\`.
- Events do not have ${listFields(PERSONAL_EVENT_FIELDS)}.
`;

function describeVerification(docsUrl: string): string {
  return `
## Webhooks

Register a webhook endpoint, and events are sent to it by POST. The section *Webhooks* of this
document describes each event. An event is delivered at least once, and events come in no particular
order. Use \`Svc-Event-Id\` to recognize a repetition.

To verify a delivery:

1. Take \`t\` and every \`v1\` from \`Svc-Signature: t=<unix time>,v1=<hex>\`. There are several
   while an earlier secret is valid.
2. Compute the HMAC-SHA256 of \`<t>.<raw body>\` in lowercase hex. The key is the \`secret\` of the
   webhook endpoint.
3. Compare it with each \`v1\` in constant time: one must match.
4. Refuse the delivery if \`t\` is older than five minutes.

Respond with 2xx within 10 seconds. After any other result the delivery is repeated after 1 min,
5 min, 30 min, 2 h, 6 h, 12 h and 24 h. The [webhook page](${docsUrl}/webhooks) has code samples.
`;
}

const VERSIONING = `
## Versioning

The path contains the version. Changes within v1 only add: new fields, routes, event types and error
codes, and new values of fields such as \`status\`. Ignore what you do not know. A breaking change
comes as v2. It runs beside v1 for at least twelve months. It is announced by the headers
\`Deprecation\` and \`Sunset\`, and by mail to every admin with an active key.
`;
