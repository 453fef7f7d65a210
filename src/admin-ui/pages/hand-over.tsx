import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { canSeal, fragmentOf, seal, type Content, type Sealed } from '../lib/sealing.ts';
import { useSession } from '../lib/session.ts';
import { SERVICE_PATH } from '../lib/shell.ts';
import { Actions, Button } from '../ui/button.tsx';
import { FormProblem } from '../ui/field.tsx';
import { Copyable } from '../ui/secret.tsx';
import { WithdrawLink, type Handover } from './withdraw-link.tsx';

/** How often the page asks whether the link was opened. */
const LOOK_MS = 5_000;

/**
 * Makes a link that shows a new key once. The key is sealed here: neither the service nor whoever
 * only knows what it keeps can read it.
 */
export function HandOver({
  keyId,
  content,
  onHandedOver,
}: {
  readonly keyId: string;
  readonly content: Content;
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
      const asked = { handover_id: id, key_id: keyId, sealed };
      return { secret, handover: await client.admin.handovers.create.mutate(asked) };
    },
    onSuccess: () => cache.invalidateQueries(api.admin.handovers.list.pathFilter()),
  });
  const again = () => {
    made.current = null;
    onHandedOver(false);
    create.reset();
  };
  return (
    <section className="hand-over">
      <h3>{t.handover.title}</h3>
      {create.data ? (
        <MadeLink
          {...create.data}
          onCopied={() => onHandedOver(true)}
          onWithdrawn={() => onHandedOver(false)}
          onAgain={again}
        />
      ) : (
        <>
          <p className="hint">{t.handover.hint}</p>
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
  secret,
  handover,
  onCopied,
  onWithdrawn,
  onAgain,
}: {
  readonly secret: string;
  readonly handover: Handover;
  readonly onCopied: () => void;
  readonly onWithdrawn: () => void;
  readonly onAgain: () => void;
}) {
  const t = useTexts();
  const { team } = useSession();
  const { data: current } = useQuery({
    ...api.admin.handovers.get.queryOptions({ handover_id: handover.id }),
    initialData: handover,
    refetchInterval: ({ state }) => (state.data?.state === 'open' ? LOOK_MS : false),
  });
  const link = `${window.location.origin}${SERVICE_PATH}/handover#${fragmentOf(team.id, secret)}`;
  return (
    <>
      {current.state === 'open' && (
        <Copyable text={link} label={t.handover.link} onCopied={onCopied} />
      )}
      <LinkState handover={current} />
      {current.state === 'open' && (
        <WithdrawLink
          id={handover.id}
          onChanged={({ state }) => {
            if (state === 'ended') onWithdrawn();
          }}
        />
      )}
      {current.state === 'ended' && (
        <Actions>
          <Button onClick={onAgain}>{t.handover.again}</Button>
        </Actions>
      )}
    </>
  );
}

function LinkState({ handover }: { readonly handover: Handover }) {
  const t = useTexts();
  const format = useFormat();
  const { state, expires_at, opened_at } = handover;
  return (
    <p role="status" className={state === 'opened' ? 'notice good' : 'hint'}>
      {state === 'open' && t.handover.open(format.moment(expires_at))}
      {state === 'opened' && t.handover.opened(format.moment(opened_at ?? expires_at))}
      {state === 'ended' && t.handover.ended}
    </p>
  );
}
