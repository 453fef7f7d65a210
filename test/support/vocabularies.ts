import { ACTOR_KINDS, MEMBER_STATUSES, ROLES } from '../../src/core/actor.ts';
import { CATALOG_KINDS } from '../../src/core/catalog-kinds.ts';
import { DELIVERY_STATUSES } from '../../src/core/delivery-status.ts';
import { LANGUAGES } from '../../src/core/language.ts';
import { PLANS } from '../../src/core/plans.ts';
import { ASSIGNMENT_STATUSES, SCENARIOS, TEAM_STATUSES } from '../../src/core/vocabularies.ts';
import * as connections from '../../src/features/crm/connections/rules.ts';
import { RESEND_STATES } from '../../src/features/webhook-deliveries/rules.ts';
import * as endpoints from '../../src/features/webhook-endpoints/rules.ts';

/** The words of each column that a `CHECK` lists, by its table and name. */
export const VOCABULARIES: Readonly<Record<string, readonly string[]>> = {
  'assignment status': ASSIGNMENT_STATUSES,
  'audit_log actor_kind': ACTOR_KINDS,
  'catalog_entry kind': CATALOG_KINDS,
  'crm_connection status': connections.STATUSES,
  'member language': LANGUAGES,
  'member role': ROLES,
  'member status': MEMBER_STATUSES,
  'sandbox scenario': SCENARIOS,
  'team language': LANGUAGES,
  'team plan': PLANS,
  'team status': TEAM_STATUSES,
  'team_catalog_entry kind': CATALOG_KINDS,
  'webhook_delivery status': DELIVERY_STATUSES,
  'webhook_endpoint status': endpoints.STATUSES,
  'webhook_resend state': RESEND_STATES,
};
