import type { Scope } from '../../core/scopes.ts';
import type { RouterOutputs } from './api.ts';

type Switch = keyof RouterOutputs['admin']['team']['privacy']['get'];

/**
 * The permissions to read something that a privacy switch can hide.
 * `test/contract/privacy-scopes.test.ts` compares them with the declarations of the operations.
 */
export const CONCERNED_SCOPES: Readonly<Record<Switch, readonly Scope[]>> = {
  member_detail_enabled: [
    'users:read',
    'trainings:read',
    'evaluations:read',
    'assignments:read',
    'cases:read',
    'analytics:read',
    'webhooks:manage',
  ],
  leaderboard_enabled: ['analytics:read'],
};
