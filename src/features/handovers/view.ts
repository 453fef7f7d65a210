import type { z } from 'zod';
import type { endpointHandover, handover } from './schema.ts';
import type { ListedRow } from './store.ts';

type Shown = z.input<typeof handover>;
type ShownOfEndpoint = z.input<typeof endpointHandover>;

/** A link with its state and what it hands over. */
type Link = Omit<ListedRow, 'key_id' | 'endpoint_id' | 'is_sealed'> &
  Pick<Shown, 'state'> & { readonly subject: { readonly id: string } };

/** A link to a key as admins see it: without what it holds. */
export function toHandover(link: Link): Shown {
  return { ...toLink(link), key_id: link.subject.id };
}

/** The same in a list. */
export function toListed(link: Link & { readonly key_name: string }): Shown & { key_name: string } {
  return { ...toHandover(link), key_name: link.key_name };
}

/** A link to an endpoint's secret as admins see it. */
export function toEndpointHandover(link: Link): ShownOfEndpoint {
  return { ...toLink(link), endpoint_id: link.subject.id };
}

function toLink({ id, created_by, created_at, expires_at, opened_at, state }: Link) {
  return { id, created_by, created_at, expires_at, opened_at, state };
}
