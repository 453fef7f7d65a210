/**
 * What readers ask for who should find a part of the documentation: words of other services, of the
 * question instead of the answer, and German ones. A query that is like one of these phrases leads
 * there. What a single word means anywhere is in `assets/synonyms.js`.
 */
import { STATUS_CODES } from 'node:http';
import { PROBLEMS } from '../core/problem.ts';
import type { Operation } from './reference/operations.ts';
import { pathOfOperation } from './reference/paths.ts';

/** By the path of the English page, and the id of the part. German pages have the same ids. */
const WORDS: Readonly<Record<string, string>> = {
  '/docs':
    'overview, what is this api, about the api, rest api, getting started, base url, start ' +
    'page',
  '/docs#what-to-know-first':
    'base url, host address, date format, time zone, iso 8601 timestamp, id format, id ' +
    'prefix, null values, empty values, unknown fields, enum values, json conventions, snake ' +
    'case, response language, accept-language, encoding utf-8, content type header, datum ' +
    'zeitangaben, sprache',
  '/docs#for-programs-that-read-documentation':
    'postman, import into postman, insomnia, swagger file, openapi spec, download openapi, ' +
    'json schema, generate client code, codegen, markdown docs, llms.txt, ai agent, ai ' +
    'assistant documentation, chatgpt, cursor, copilot, claude, mcp, machine readable ' +
    'documentation',
  '/docs/quickstart':
    'sample code, code examples, example code, example app, tutorial, hello world, getting ' +
    'started, how to start, first steps, beginner guide, example project, einstieg',
  '/docs/quickstart#get-a-test-key':
    'register for an account, create developer account, get an api key, obtain test key, sign ' +
    'up, create account, where do i find my key, request access, testschlüssel',
  '/docs/quickstart#make-the-first-call':
    'curl example, first request, call the api, send a request, hello world, try the api',
  '/docs/quickstart#receive-the-first-webhook':
    'receive webhook locally, test webhook on localhost, webhook receiver example, ngrok ' +
    'tunnel, webhook not arriving, simple webhook server',
  '/docs/quickstart#fail-and-recover':
    'practice errors, simulate an outage, error handling example, retry after failure, ' +
    'rehearse 503',
  '/docs/quickstart#switch-to-live':
    'go live, production key, switch to production, from test to live',
  '/docs/quickstart#where-to-go-next': 'next steps, further reading',
  '/docs/sandbox':
    'test data, test mode, test environment, staging environment, sandbox account, demo data, ' +
    'mock server, fake data, playground, development environment, dry run, try without real ' +
    'users, testumgebung',
  '/docs/sandbox#open-it':
    'sandbox key, create a sandbox, enable sandbox, test key, test team, activate test mode',
  '/docs/sandbox#what-is-in-it':
    'sample data, demo team, seed data, fixtures, which users are in the sandbox',
  '/docs/sandbox#what-it-refuses': 'sandbox limits, not allowed in test mode, live key in sandbox',
  '/docs/sandbox#play':
    'simulate event, trigger event, fake event, time travel, simulate error, scenario, test ' +
    'rate limit, inject failure, complete a training in the sandbox',
  '/docs/sandbox#what-is-different':
    'difference between sandbox and live, is the sandbox like production, emails in the ' +
    'sandbox, sandbox rate limit',
  '/docs/sandbox#go-live': 'go live checklist, move to production, launch',
  '/docs/authentication':
    'how to authenticate, authorization header, bearer token, api token, api key header, ' +
    'login, oauth, jwt, access token, credentials, basic auth, username password, sso, saml, ' +
    'unauthenticated request, api key in url, query parameter key, who can call the api, ' +
    'anmelden',
  '/docs/authentication#keys':
    'create api key, generate credentials, secret key, key format, key prefix, key ' +
    'expiration, how long is a key valid, expired token, key validity, expiry date, restrict ' +
    'key to ip, ip allowlist, whitelist server, store the key, share key securely, send key ' +
    'by mail, cors, use in browser, frontend javascript, mobile app, key owner, key of a ' +
    'person who left, how many keys, create key programmatically, abgelaufener schlüssel',
  '/docs/authentication#scopes':
    'permissions, key permissions, access rights, missing scope, which scope do i need, read ' +
    'only key, least privilege, allow write, change scopes of a key, berechtigungen',
  '/docs/authentication#change-a-key':
    'rotate key, rotate api key, renew key, replace token, roll key, revoke key, revoke ' +
    'access of a key, leaked key, key compromised, key stolen, lost key, key on github, ' +
    'delete api key, regenerate token, rotation without downtime, grace period, schlüssel ' +
    'sperren',
  '/docs/authentication#when-it-fails':
    'key not accepted, invalid key, bad token, invalid api key, wrong key, key not working, ' +
    '401 unauthorized, 403 forbidden, access denied, authentication failed, token rejected, ' +
    'ip blocked',
  '/docs/pagination':
    'page token, number of results, pagination, paging, next page, cursor, offset, page size, ' +
    'page limit, has_more, next_cursor, total count, sort order, newest first, list more ' +
    'results, maximum page size, date range, seitenweise abrufen, blättern',
  '/docs/pagination#read-all-pages':
    'read all pages, page through results, iterate over all, loop over pages, last page, ' +
    'fetch everything, export all data, invalid cursor, cursor expired, load all records, ' +
    'next_cursor null',
  '/docs/pagination#synchronize-by-polling':
    'polling, incremental sync, delta sync, updated since, modified since, only changed ' +
    'records, only new records, changes since last sync, since parameter, watermark, how ' +
    'often to poll',
  '/docs/pagination#synchronize-every-night':
    'nightly sync, full sync, daily job, cron job, etl, map our ids, external id, own ' +
    'reference, match records',
  '/docs/pagination#synchronize-by-webhooks':
    'webhooks instead of polling, webhook vs polling, keep copy up to date, real time sync, ' +
    'mirror data',
  '/docs/pagination#catch-up-after-an-outage':
    'catch up, replay events, recover after downtime, our server was down, missed events, ' +
    'backfill, resume after outage, service outage, maintenance window',
  '/docs/pagination#deletions':
    'deleted records, deleted objects, detect deletions, soft delete, tombstones, are ' +
    'trainings deleted, removed members in sync, invitation accepted, member came back, ' +
    'member returned, invited again',
  '/docs/idempotency':
    'idempotency, idempotent request, retry safely, safe retry, duplicate request, same ' +
    'request twice, double submit, avoid duplicates, request timed out',
  '/docs/idempotency#what-is-safe-to-repeat':
    'which methods are idempotent, safe methods, is delete idempotent, retry put, retry get, ' +
    'repeat a patch',
  '/docs/idempotency#the-idempotency-key':
    'idempotency key header, uuid per request, reuse idempotency key, key valid 24 hours, ' +
    'idempotency key expired, post twice, idempotent post',
  '/docs/idempotency#what-to-do-with-each-response':
    'retry logic, retry strategy, exponential backoff, when to retry, which errors to retry, ' +
    'jitter, network error, connection reset, connection timeout, retry 500, retry 503, ' +
    'gateway timeout 504',
  '/docs/conditional-requests':
    'etag, etags, if-match, if-none-match, conditional get, caching, cache headers, version ' +
    'of an object',
  '/docs/conditional-requests#read-only-what-is-new':
    '304 not modified, cache responses, avoid downloading unchanged data, save bandwidth',
  '/docs/conditional-requests#change-only-what-you-have-read':
    'optimistic locking, lost update, concurrent update, race condition, two admins edit, ' +
    'overwrite changes, 412 precondition failed, locking',
  '/docs/conditional-requests#compression':
    'gzip, brotli, compression, accept-encoding, response size, compressed response',
  '/docs/rate-limits':
    'too many calls, rate limit, 429, too many requests, requests per minute, requests per ' +
    'second, quota, throttling, api limits, how many calls, rate limit headers, ' +
    'ratelimit-remaining, ratelimit-reset, burst, parallel requests, increase limit, anfragen ' +
    'pro minute',
  '/docs/rate-limits#when-a-limit-is-reached':
    'rate limit exceeded, limit reached, retry-after, how long to wait, wait after 429',
  '/docs/rate-limits#stay-below-the-limits':
    'avoid rate limit, reduce requests, fewer calls, bulk requests, performance tips, api too ' +
    'slow',
  '/docs/rate-limits#other-limits':
    'maximum body size, request too large, payload too big, 413, how many webhook endpoints, ' +
    'maximum number of endpoints, batch size limit, invitations per hour, max length, file ' +
    'size',
  '/docs/errors':
    'error codes, fehlercodes, list of errors, http status codes, error handling, error ' +
    'format, problem json, rfc 9457, error response, validation errors, invalid json, json ' +
    'parse error, field errors, german error messages, language of error messages, request id, ' +
    'contact support, troubleshooting',
  '/docs/errors#not_found':
    '404, not found, does not exist, member not found, unknown id, no such object',
  '/docs/errors#unauthorized': '401, unauthorized',
  '/docs/errors#forbidden': '403, forbidden',
  '/docs/errors#validation_error':
    '422, validation failed, invalid field, wrong parameter, bad value, missing required ' +
    'field',
  '/docs/errors#bad_request': '400, malformed json, invalid request, syntax error',
  '/docs/errors#conflict': '409, conflict, already exists, email already used',
  '/docs/errors#idempotency_mismatch': 'same idempotency key with a different body',
  '/docs/errors#internal': '500, internal server error, something went wrong',
  '/docs/errors#unavailable': '503, service unavailable, overloaded, maintenance, server down',
  '/docs/errors#seat_limit_reached':
    'no seats left, seats full, license limit, cannot invite more users',
  '/docs/errors#last_admin': 'last admin, remove the only admin',
  '/docs/errors#owner': 'remove owner, owner cannot be changed',
  '/docs/errors#privacy_restricted': 'privacy restricted, names hidden 403',
  '/docs/errors#api_disabled': 'api disabled, plan without api, team suspended',
  '/docs/client':
    'javascript library, javascript sdk, typescript types, node sdk, npm install, npm ' +
    'package, install the library, deno, bun, minimum node version, node 20, generated ' +
    'client, api wrapper, typed models, bibliothek',
  '/docs/client#call-the-api':
    'client usage, create client, configure base url, client options, import the client, ' +
    'client example',
  '/docs/client#read-lists':
    'iterate with the client, for await, async iterator, list all with javascript, auto ' +
    'pagination',
  '/docs/client#errors':
    'catch errors, exception handling javascript, error class, error message request id',
  '/docs/client#retries':
    'automatic retries, client timeout, retry budget, abort signal, cancel request, max ' +
    'retries',
  '/docs/client#see-what-happens':
    'log requests of the client, debug client, logging, hooks, middleware, interceptors, ' +
    'deprecation warning, response headers',
  '/docs/client#follow-what-happens':
    'stream of events, follow events, event loop, resume position, subscribe in code',
  '/docs/client#receive-webhooks':
    'verify webhook javascript, express middleware, express handler, fastify, next.js ' +
    'webhook, webhook node',
  '/docs/client#events-on-your-own-machine':
    'command line tool, cli listen, trigger from terminal, install cli',
  '/docs/python':
    'python library, python sdk, pip install, pypi, python client, python package, python ' +
    'example, jupyter notebook, pandas',
  '/docs/python#call-the-api': 'python usage, python configure, call from python',
  '/docs/python#read-lists': 'iterate in python, python generator, python pagination',
  '/docs/python#errors': 'python exceptions, try except',
  '/docs/python#retries': 'python retry, python timeout',
  '/docs/python#use-asyncio': 'python async, asyncio, await in python, aiohttp',
  '/docs/python#receive-webhooks':
    'verify webhook python, flask webhook, django, django view, fastapi webhook',
  '/docs/privacy':
    'gdpr, data protection, personal data, privacy settings, what data is shared, compliance, ' +
    'anonymize users, hide names, pii, works council, team settings privacy, dsgvo, ' +
    'datenschutz, betriebsrat',
  '/docs/privacy#member-detail-enabled':
    'hide email addresses, member names missing, name is null, email is null, anonymous ' +
    'members, pseudonymous members, individual results hidden',
  '/docs/privacy#leaderboard-enabled':
    'leaderboard, ranking, rank of users, top performers, points table, rangliste',
  '/docs/privacy#when-people-leave':
    'data of people who left, erase personal data, right to be forgotten, delete user data, ' +
    'former members, retention after leaving, article 17, ausgeschiedene mitarbeiter',
  '/docs/versioning':
    'api version, versioning, breaking changes, backward compatibility, stability, v2, which ' +
    'version, deprecation policy, deprecated endpoint',
  '/docs/versioning#what-changes-within-v1':
    'new fields, unknown field in response, additive changes, non breaking changes, tolerant ' +
    'reader',
  '/docs/versioning#how-a-version-ends':
    'sunset header, deprecation header, end of life, shutdown, how long is a version ' +
    'supported, migration period, notice',
  '/docs/versioning#versions-of-events':
    'webhook payload version, event version, api_version of events, schema change of webhooks',
  '/docs/webhooks':
    'webhooks, what is a webhook, callbacks, push notifications, subscribe to events, real ' +
    'time events, get notified, event notification',
  '/docs/webhooks#receive':
    'webhook address, webhook url validation, allowed webhook urls, webhook port, webhook ' +
    'body, webhook headers, webhook request format, webhook payload, receive webhooks, ' +
    'register callback url, webhook url must be https, webhook redirect, what ip addresses do ' +
    'webhooks come from, source ip of webhooks, private address, webhook registration',
  '/docs/webhooks#verify':
    'verify payload, webhook authentication, authenticate webhook, authorize webhook, is the ' +
    'webhook really from you, verify signature, webhook signature, hmac, hmac sha256, hash ' +
    'algorithm, signing secret, check svc-signature, raw body, replay attack, signature ' +
    'mismatch, invalid signature, timestamp tolerance, webhook security, secure webhooks, ' +
    'validate webhook, verify webhook php, verify webhook java, verify webhook c#, verify ' +
    'webhook go, verify webhook ruby, csharp, dotnet, golang, verify webhook python, signatur ' +
    'überprüfen, signatur prüfen',
  '/docs/webhooks#with-libraries-that-you-know':
    'svix, standard webhooks, stripe library, stripe compatible signature, existing webhook ' +
    'libraries',
  '/docs/webhooks#respond-fast':
    'webhook response code, which status to return, webhook timeout, how fast to respond, ' +
    'respond 200, return 2xx, acknowledge webhook, webhook queue, slow handler, webhook ' +
    'processing time, background job',
  '/docs/webhooks#duplicates-and-order':
    'duplicate webhook, same event twice, ignore duplicate event, webhook order, out of order ' +
    'events, exactly once, at least once, event id, deduplicate, store processed events, ' +
    'event arrives before response',
  '/docs/webhooks#traces':
    'traceparent, trace id, tracing, opentelemetry, correlation id, distributed tracing',
  '/docs/webhooks#retries-and-pause':
    'webhook delivery failed, webhook retries, retry schedule, how often are webhooks ' +
    'retried, webhook stopped, webhook stopped working, endpoint paused, endpoint disabled, ' +
    'webhook deactivated, webhook failed, failing webhook, webhook not firing, unpause ' +
    'webhook, resume webhook, webhook 410, webhook 500, receiver down, give up after',
  '/docs/webhooks#test-and-inspect':
    'webhook test event, test webhook, send test event, webhook log, delivery history, ' +
    'inspect delivery, why did the webhook fail, debug webhook, webhook not delivered, ' +
    'webhook not received, ssl certificate error, tls error, dns error, webhook wird nicht ' +
    'zugestellt',
  '/docs/webhooks#on-your-own-machine':
    'webhook on localhost, local development, forward webhooks, listen on my machine, cli for ' +
    'webhooks, tunnel, develop locally, command line',
  '/docs/webhooks#send-again':
    'resend webhook, redeliver, retry webhook manually, replay failed deliveries, send failed ' +
    'webhooks again, erneut senden',
  '/docs/webhooks#what-have-i-missed':
    'missed webhooks, lost events, check for gaps, reconcile, which events did i miss',
  '/docs/webhooks#change-the-secret':
    'webhook secret, rotate webhook secret, new signing secret, lost webhook secret, leaked ' +
    'webhook secret, two signatures during rotation, geheimnis ändern',
  '/docs/events':
    'event types, list of events, all events, event payload, sample webhook payload, event ' +
    'schema, event data, personal data in events, filter event types',
  '/docs/events#training.completed':
    'training webhook, training completed event, notify when training finished, training ' +
    'done, training ended, user finished training',
  '/docs/events#evaluation.completed':
    'evaluation webhook, evaluation completed event, notify when score is ready, result ' +
    'available, training scored',
  '/docs/events#assignment.created': 'assignment created event, notify when assigned, new task',
  '/docs/events#assignment.completed':
    'assignment webhook, assignment completed event, task done, assignment fulfilled, user ' +
    'completed assignment',
  '/docs/events#member.joined': 'member joined event, new user event, user signed up',
  '/docs/events#member.removed': 'member removed event, user deleted event, user left event',
  '/docs/events#crm.sync.failed':
    'crm sync failed, crm connection broken, salesforce sync error, hubspot sync failed',
  '/docs/events#ping': 'ping event, test event payload',
  '/docs/nightly':
    'nightly synchronization program, nightly job example, sync to data warehouse, export ' +
    'every night, scheduled export, write to database',
  '/docs/low-score':
    'low scores, bad score, assign training after low score, score below threshold, automatic ' +
    'assignment, rule for bad results, follow up training, automate practice',
  '/docs/joiners-and-leavers':
    'onboarding, offboarding, hr system, hris, lms, learning management system, scim, user ' +
    'provisioning, deprovisioning, directory sync, azure ad, entra, okta, personio, workday, ' +
    'sap, bamboohr, import users, csv import of users, sync employees, new hire gets ' +
    'training, new employee, employee left company, personio integration',
  '/docs/automation-tools':
    'zapier, make, make.com, n8n, no code, low code, power automate, integromat, workflow ' +
    'automation, connect slack, microsoft teams message, google sheets automation',
  '/docs/automation-tools#in-a-step-with-code':
    'code step, javascript in zapier, verify signature in zapier',
  '/docs/automation-tools#what-to-expect': 'zapier limits, zap runs twice',
  '/docs/power-bi':
    'power bi, excel, tableau, looker, dashboard, reporting, spreadsheet, business ' +
    'intelligence, weekly report, monthly report, bericht',
  '/docs/power-bi#power-query': 'power query, m script, connect excel',
  '/docs/power-bi#a-csv': 'csv export, export to csv, download results, google sheets',
  '/docs/changelog':
    "changelog, release notes, what's new, recent changes, new features, api updates",
  '/docs/versions':
    'current version, supported versions, deprecated operations, status of versions',
  '/docs/reference':
    'all endpoints, list of endpoints, api reference, available operations, resources',
  '/docs/reference/me-get':
    'who am i, current user, current team, check api key, test connection, health check, team ' +
    'name, number of seats, scopes of my key, plan of the team, account info, team settings, ' +
    'my rate limit',
  '/docs/reference/requests-get':
    'look up a request, request log, request id lookup, debug a request, what happened to my ' +
    'request',
  '/docs/reference/members-list':
    'user status, member status, list users, list members, get all members, get all users, ' +
    'find user by email, search member, filter members by role, employees, user directory, ' +
    'pending invitations',
  '/docs/reference/members-get':
    'get user, get member by id, user profile, user details, email of a member, name of a ' +
    'member',
  '/docs/reference/members-create':
    'invite user, invite member, add user, add employee, create user, create test user, send ' +
    'invitation, resend invitation, benutzer anlegen, mitglied einladen',
  '/docs/reference/members-update':
    'change role, make admin, promote user, update user, edit member, change email of member, ' +
    'rename member, user role',
  '/docs/reference/members-remove':
    'delete user, remove member, remove employee from team, deactivate user, kick user, ' +
    'terminate access, free a seat, offboard user, mitarbeiter löschen',
  '/docs/reference/trainings-list':
    'list trainings, trainings of a user, completed trainings, training history, training ' +
    'sessions, conversations, filter trainings by status, trainings since a date, include ' +
    'evaluation',
  '/docs/reference/trainings-get':
    'get training by id, training details, training duration, single training',
  '/docs/reference/evaluations-list':
    'list evaluations, list scores, results of trainings, get results of a user, scores ' +
    'since, new evaluations, evaluation results, score of a training',
  '/docs/reference/evaluations-get':
    'get evaluation by id, evaluation details, evaluation dimensions, tips, feedback text, ' +
    'transcript',
  '/docs/reference/assignments-list':
    'list assignments, assignments of a member, get all assignments of a member, open ' +
    'assignments, overdue assignments, filter by status, filter by due date, find by external ' +
    'id, late assignments',
  '/docs/reference/assignments-create':
    'create assignment, assign training, assign course to user, set due date, set deadline, ' +
    'homework, assignment with goal, our own id for an assignment, training zuweisen',
  '/docs/reference/assignments-create-batch':
    'bulk assignments, create many assignments, assign to multiple users, assign to several ' +
    'people, assign to whole team, batch create, mass assignment',
  '/docs/reference/assignments-get':
    'get assignment by id, assignment status, assignment progress, assignment details',
  '/docs/reference/assignments-update':
    'update assignment, update due date, extend deadline, postpone assignment, change goal',
  '/docs/reference/assignments-remove':
    'delete assignment, cancel assignment, withdraw assignment, unassign training, revoke ' +
    'assignment',
  '/docs/reference/cases-list': 'scenarios, list cases, our scenarios, all scenarios, team cases',
  '/docs/reference/cases-get': 'get case, case details',
  '/docs/reference/cases-create':
    'create case, create scenario, custom scenario, own training content, upload content, ' +
    'import cases, add roleplay',
  '/docs/reference/cases-update': 'edit case, update scenario, archive case',
  '/docs/reference/cases-remove': 'delete case, remove scenario',
  '/docs/reference/catalog-get':
    'catalog, available trainings, list of courses, goals, allowed values, available ' +
    'personas, training types',
  '/docs/reference/analytics-team':
    'team analytics, average score, statistics, kpi, team performance, progress of the team, ' +
    'usage report',
  '/docs/reference/crm-list-deals':
    'deal data, crm deals, hubspot deals, salesforce opportunities, pipedrive, deal stage, ' +
    'pipeline, opportunity',
  '/docs/reference/crm-list-objections':
    'crm objections, customer objections, lost reasons, einwände',
  '/docs/reference/webhooks-list-endpoints': 'list webhook endpoints, my webhooks, registered urls',
  '/docs/reference/webhooks-create-endpoint':
    'create webhook, register webhook, add webhook url, subscribe to webhook, set up webhook, ' +
    'webhook registration api',
  '/docs/reference/webhooks-get-endpoint': 'get webhook endpoint, status of a webhook endpoint',
  '/docs/reference/webhooks-update-endpoint':
    'disable an endpoint, deactivate webhook, update webhook url, change webhook events, ' +
    'disable webhook, disable webhook endpoint, enable webhook, pause webhook, reactivate ' +
    'webhook endpoint, edit webhook',
  '/docs/reference/webhooks-remove-endpoint':
    'delete webhook, remove webhook endpoint, unsubscribe, stop webhooks, unregister webhook',
  '/docs/reference/webhooks-rotate-secret': 'rotate secret of an endpoint by api',
  '/docs/reference/webhooks-test-endpoint':
    'trigger test webhook by api, ping webhook, fire sample event',
  '/docs/reference/webhooks-list-deliveries':
    'list deliveries, deliveries of an endpoint, failed deliveries, delivery attempts, ' +
    'delivery status, webhook history',
  '/docs/reference/webhooks-retry-delivery': 'retry one delivery, redeliver single event',
  '/docs/reference/webhooks-resend-deliveries':
    'resend all failed deliveries, bulk redelivery, resend deliveries since',
  '/docs/reference/webhooks-get-resend': 'resend progress, status of a resend',
  '/docs/reference/webhooks-cancel-resend': 'cancel resend, stop resending',
  '/docs/reference/events-list':
    'list events, events api, event log, audit log, activity feed, how long are events ' +
    'stored, event retention, read past events, events after an id, poll events',
  '/docs/reference/sandbox-get': 'sandbox status, show sandbox',
  '/docs/reference/sandbox-reset':
    'reset sandbox, reset test data, clear test data, start over, empty the sandbox, ' +
    'testdaten zurücksetzen',
  '/docs/reference/sandbox-simulate':
    'simulate training completed, trigger event by api, play an event',
  '/docs/reference/sandbox-update': 'speed up time, sandbox speed, faster clock, time factor',
  '/docs/reference/sandbox-mails':
    'emails of the sandbox, invitation mail in test mode, test inbox',
  '/docs/objects/member': 'member object, user object, fields of a user, user schema',
  '/docs/objects/training': 'training object, fields in training object, training schema',
  '/docs/objects/evaluation': 'evaluation object, fields of an evaluation, score fields',
  '/docs/objects/assignment': 'assignment object, fields of an assignment, assignment schema',
  '/docs/objects/webhook-delivery': 'delivery object, fields of a delivery',
  '/docs/objects/event': 'event object, event envelope, event fields',
  '/docs/objects/problem': 'error object, problem object, error schema',
};

/** What else a reader calls what an operation does. The name of an operation has its verb. */
const VERBS: Readonly<Record<string, string>> = {
  create: 'add new create post insert',
  get: 'get read show fetch retrieve single details by id',
  list: 'get all list show fetch retrieve find search query filter export',
  update: 'update change edit modify patch set',
  remove: 'delete remove destroy',
};

const LANGUAGE = /^\/docs\/de(?=[/#]|$)/;
const ERROR = '/docs/errors#';

/** The phrases for the part with this path, with commas between them; '' for none. */
export function otherWords(path: string, operations: readonly Operation[]): string {
  const english = path.replace(LANGUAGE, '/docs');
  const operation = operations.find(({ slug }) => english === pathOfOperation(slug));
  const problem = Object.entries(PROBLEMS).find(([code]) => english === ERROR + code)?.[1];
  return [
    ...(operation ? [wordsOfOperation(operation)] : []),
    ...(problem ? [`${problem.status} error, ${STATUS_CODES[problem.status]}`] : []),
    ...(WORDS[english] ? [WORDS[english]] : []),
  ].join(', ');
}

/** What it does, and the names of its address. */
function wordsOfOperation({ slug, path }: Operation): string {
  const verbs = slug.split('-').flatMap((word) => VERBS[word] ?? []);
  return [...verbs, ...path.split('/').filter((part) => !part.startsWith('{'))].join(' ');
}

/** The parts that have other words, for a test that they exist. */
export const NAMED_PARTS: readonly string[] = Object.keys(WORDS);
