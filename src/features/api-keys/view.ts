import type { z } from 'zod';
import type { Language, Localized } from '../../core/language.ts';
import type { Mode } from '../../core/sandbox.ts';
import { SCOPE_DESCRIPTIONS, scopesOf, type Scope } from '../../core/scopes.ts';
import type { firstKey, revokedKey } from './platform-schema.ts';
import type { apiKey, createdApiKey, templates } from './schema.ts';
import type { KeyRow } from './store.ts';

/** A key as the app shows it. */
export function toApiKey(row: KeyRow): z.input<typeof apiKey> {
  const { creator_id, creator_email, scopes, allowed_ips, ...shown } = row;
  return {
    ...shown,
    scopes: [...scopes],
    creator: { member_id: creator_id, email: creator_email },
    allowed_ips: allowed_ips && [...allowed_ips],
  };
}

/** With the whole key, which no other response shows. */
export function toCreatedApiKey(issued: {
  readonly row: KeyRow;
  readonly key: string;
}): z.input<typeof createdApiKey> {
  return { ...toApiKey(issued.row), key: issued.key };
}

/** A first key, for the service that has made it. */
export function toFirstKey({
  row,
  key,
}: {
  readonly row: KeyRow;
  readonly key: string;
}): z.input<typeof firstKey> {
  const { id, creator_id, name, prefix, scopes, expires_at } = row;
  return {
    key_id: id,
    owner_member_id: creator_id,
    name,
    prefix,
    scopes: [...scopes],
    expires_at,
    key,
  };
}

/** A key that was revoked, for the service that has revoked it. */
export function toRevokedKey(row: KeyRow): z.input<typeof revokedKey> {
  const { id, name, prefix, state, revoked_at } = row;
  return { key_id: id, name, prefix, state, revoked_at };
}

/** The templates with their names in that language, and the scopes of keys of this mode. */
export function toTemplates(
  language: Language,
  mode: Mode,
  offered: readonly {
    readonly id: string;
    readonly name: Localized;
    readonly purpose: Localized;
    readonly scopes: readonly Scope[];
  }[],
): z.input<typeof templates> {
  return {
    templates: offered.map(({ id, name, purpose, scopes }) => ({
      id,
      name: name[language],
      purpose: purpose[language],
      scopes: [...scopes],
    })),
    scopes: scopesOf(mode).map((scope) => ({
      scope,
      description: SCOPE_DESCRIPTIONS[scope],
    })),
  };
}
