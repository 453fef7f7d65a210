import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTexts } from '../i18n/language.ts';
import { ACCESS_TO_WITHDRAW } from '../lib/key-right.ts';
import { LINKS, type Subject } from '../lib/links.ts';
import { useWhyNot } from '../lib/rights.ts';
import { Button } from '../ui/button.tsx';
import { FormProblem } from '../ui/field.tsx';

/** Ends a link that nobody has opened. `of` names it where there are several. */
export function WithdrawLink({
  kind,
  id,
  of,
}: {
  readonly kind: Subject['kind'];
  readonly id: string;
  readonly of?: string;
}) {
  const t = useTexts();
  const why = useWhyNot(ACCESS_TO_WITHDRAW[kind]);
  const cache = useQueryClient();
  const links = LINKS[kind];
  const withdraw = useMutation({
    mutationFn: () => links.withdraw({ handover_id: id }),
    onSuccess: async (changed) => {
      // As it is then: somebody may have opened it just before.
      cache.setQueryData(links.keyOf(id), changed);
      await cache.invalidateQueries(links.lists());
    },
  });
  return (
    <>
      <FormProblem error={withdraw.error} />
      <Button
        why={why}
        busy={withdraw.isPending}
        aria-label={of === undefined ? undefined : `${t.handover.withdraw}: ${of}`}
        onClick={() => withdraw.mutate()}
      >
        {t.handover.withdraw}
      </Button>
    </>
  );
}
