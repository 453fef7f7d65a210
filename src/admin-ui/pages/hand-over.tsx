import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { LINKS, type Handover, type Subject } from '../lib/links.ts';
import { canSeal, fragmentOf, seal, type Content, type Sealed } from '../lib/sealing.ts';
import { useSession } from '../lib/session.ts';
import { SERVICE_PATH } from '../lib/shell.ts';
import { Actions, Button } from '../ui/button.tsx';
import { FormProblem } from '../ui/field.tsx';
import { Copyable } from '../ui/secret.tsx';
import { endOfLink, looksAtOneMs } from './link-state.ts';
import { WithdrawLink } from './withdraw-link.tsx';

/**
 * Makes a link that shows a new secret once. It is sealed here: neither the service nor whoever
 * only knows what it keeps can read it.
 */
export function HandOver({
  kind,
  content,
  create: send,
  onHandedOver,
}: {
  readonly kind: Subject['kind'];
  readonly content: Content;
  readonly create: (link: { handover_id: string; sealed: string }) => Promise<Handover>;
  /** Whether somebody has the link, as far as the page knows. */
  readonly onHandedOver: (isHandedOver: boolean) => void;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const made = useRef<Sealed | null>(null);
  const create = useMutation({
    mutationFn: async () => {
      // Sealed once: if the answer is lost, the next try makes the same link.
      const { secret, id, sealed } = (made.current ??= await seal(content));
      return { secret, handover: await send({ handover_id: id, sealed }) };
    },
    onSuccess: () => cache.invalidateQueries(LINKS[kind].lists()),
  });
  const again = () => {
    made.current = null;
    create.reset();
  };
  return (
    <section className="hand-over">
      <h3>{t.handover.title}</h3>
      {create.data ? (
        <MadeLink
          {...create.data}
          kind={kind}
          onCopied={() => onHandedOver(true)}
          onEnded={() => onHandedOver(false)}
          onAgain={again}
        />
      ) : (
        <>
          <p className="hint">{t.handover.of[kind].hint}</p>
          <FormProblem error={create.error} />
          <Actions>
            <Button
              busy={create.isPending}
              why={canSeal() ? null : t.handover.whyNot}
              onClick={() => create.mutate()}
            >
              {t.handover.make}
            </Button>
          </Actions>
        </>
      )}
    </section>
  );
}

function MadeLink({
  kind,
  secret,
  handover,
  onCopied,
  onEnded,
  onAgain,
}: {
  readonly kind: Subject['kind'];
  readonly secret: string;
  readonly handover: Handover;
  readonly onCopied: () => void;
  /** It was never opened, and opens nothing now. */
  readonly onEnded: () => void;
  readonly onAgain: () => void;
}) {
  const t = useTexts();
  const { team } = useSession();
  const { data: current } = useQuery({
    queryKey: LINKS[kind].keyOf(handover.id),
    queryFn: () => LINKS[kind].get({ handover_id: handover.id }),
    initialData: handover,
    refetchInterval: ({ state }) => looksAtOneMs(state.data),
  });
  const hasEnded = current.state === 'ended';
  useEffect(() => {
    if (hasEnded) onEnded();
  }, [hasEnded, onEnded]);
  const link = `${window.location.origin}${SERVICE_PATH}/handover#${fragmentOf(team.id, secret)}`;
  return (
    <>
      {current.state === 'open' && (
        <Copyable text={link} label={t.handover.link} onCopied={onCopied} />
      )}
      <LinkState kind={kind} handover={current} />
      {current.state === 'open' && <WithdrawLink kind={kind} id={handover.id} />}
      {hasEnded && (
        <Actions>
          <Button onClick={onAgain}>{t.handover.again}</Button>
        </Actions>
      )}
    </>
  );
}

function LinkState({
  kind,
  handover,
}: {
  readonly kind: Subject['kind'];
  readonly handover: Handover;
}) {
  const t = useTexts();
  const format = useFormat();
  const { state } = handover;
  const end = format.moment(endOfLink(handover));
  return (
    <p role="status" className={state === 'opened' ? 'notice good' : 'hint'}>
      {state === 'open' && t.handover.open(end)}
      {state === 'opened' && t.handover.of[kind].opened(end)}
      {state === 'ended' && t.handover.of[kind].ended}
    </p>
  );
}
