import type { oas31 } from 'zod-openapi';
import { introduction } from './introduction.ts';

/** The version of the document: that of the release. That of the API is in the path. */
const VERSION = '1.0.0';

const TAGS: Readonly<Record<string, string>> = {
  Account: 'The API key in use.',
  Members: 'The members of the team: invite them, change their roles, remove them.',
  Trainings: 'Training sessions: metadata only. Transcripts are not part of v1.',
  Evaluations: 'The results of scored trainings: score, dimensions, tips.',
  Assignments: 'Trainings that members are asked to do.',
  Cases: 'Cases that the team shares. Private cases of members are never visible.',
  Catalog:
    "Situations, personalities, industries, roles and methodologies within the team's policy.",
  Analytics: 'Aggregated figures of the team.',
  CRM:
    'Deals and objections synchronized from the CRM, read-only. Connections are set up in the ' +
    'app.',
  Webhooks: 'Webhook endpoints and their deliveries.',
  Sandbox:
    'A team to rehearse on, which only test keys reach (`svck_test_…`). Everything else works ' +
    'there as in a live team.',
  Events: 'What happened: the events that webhook endpoints receive.',
};

/** Returns the tags in use with their descriptions. */
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
    bearerFormat: 'svck_<live or test>_<key_prefix>_<secret_part>',
    description:
      'An API key of the team, created in the app. Enter the whole key, including `svck_live_`, ' +
      'or `svck_test_` of the sandbox.',
  },
};

/** Returns the document's `info`. `docsUrl` is the address of the developer pages. */
export function describeApi(docsUrl: string): oas31.InfoObject {
  const info: oas31.InfoObject & { readonly summary: string } = {
    title: 'Team Customer API',
    version: VERSION,
    summary: "Read and change a team's members, trainings, evaluations, assignments and cases.",
    description: introduction(docsUrl),
    contact: { name: 'Support', url: docsUrl },
    license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
  };
  return info;
}
