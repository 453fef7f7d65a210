import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTexts } from '../i18n/language.ts';
import { LINKS, type Handover, type Subject } from '../lib/links.ts';
import { useWhyNotKeys } from '../lib/rights.ts';
import { Button } from '../ui/button.tsx';
import { FormProblem } from '../ui/field.tsx';

/** Ends a link that nobody has opened. `of` names it where there are several. */
export function WithdrawLink({
  kind,
  id,
  of,
  onChanged,
}: {
  readonly kind: Subject['kind'];
  readonly id: string;
  readonly of?: string;
  /** Gets the link as it is then: somebody may have opened it just before. */
  readonly onChanged?: (handover: Handover) => void;
}) {
  const t = useTexts();
  const whyNotKeys = useWhyNotKeys();
  const cache = useQueryClient();
  const links = LINKS[kind];
  const withdraw = useMutation({
    mutationFn: () => links.withdraw({ handover_id: id }),
    onSuccess: async (changed) => {
      cache.setQueryData(links.keyOf(id), changed);
      onChanged?.(changed);
      await cache.invalidateQueries(links.lists());
    },
  });
  return (
    <>
      <FormProblem error={withdraw.error} />
      <Button
        why={kind === 'key' ? whyNotKeys : null}
        busy={withdraw.isPending}
        aria-label={of === undefined ? undefined : `${t.handover.withdraw}: ${of}`}
        onClick={() => withdraw.mutate()}
      >
        {t.handover.withdraw}
      </Button>
    </>
  );
}
