import { toneOf } from '../lib/status.ts';
import { Badge } from '../ui/states.tsx';

/** The status of a response, with a colour for what it means. */
export function RequestStatus({ status }: { readonly status: number }) {
  return <Badge tone={toneOf(status)}>{status}</Badge>;
}
