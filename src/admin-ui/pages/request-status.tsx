import { Badge } from '../ui/states.tsx';

/** The status of a response, with a colour for what it means. */
export function RequestStatus({ status }: { readonly status: number }) {
  const tone = status < 400 ? 'good' : status >= 500 ? 'bad' : 'warn';
  return <Badge tone={tone}>{status}</Badge>;
}
