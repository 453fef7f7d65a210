import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTexts } from '../i18n/language.ts';
import { api, type RouterOutputs } from '../lib/api.ts';
import { useWhyNotKeys } from '../lib/rights.ts';
import { Button } from '../ui/button.tsx';
import { FormProblem } from '../ui/field.tsx';

export type Handover = RouterOutputs['admin']['handovers']['get'];

/** Ends a link that nobody has opened. `of` names it where there are several. */
export function WithdrawLink({
  id,
  of,
  onChanged,
}: {
  readonly id: string;
  readonly of?: string;
  /** Gets the link as it is then: somebody may have opened it just before. */
  readonly onChanged?: (handover: Handover) => void;
}) {
  const t = useTexts();
  const why = useWhyNotKeys();
  const cache = useQueryClient();
  const withdraw = useMutation(
    api.admin.handovers.withdraw.mutationOptions({
      onSuccess: async (changed) => {
        cache.setQueryData(api.admin.handovers.get.queryKey({ handover_id: id }), changed);
        onChanged?.(changed);
        await cache.invalidateQueries(api.admin.handovers.list.pathFilter());
      },
    }),
  );
  return (
    <>
      <FormProblem error={withdraw.error} />
      <Button
        why={why}
        busy={withdraw.isPending}
        aria-label={of === undefined ? undefined : `${t.handover.withdraw}: ${of}`}
        onClick={() => withdraw.mutate({ handover_id: id })}
      >
        {t.handover.withdraw}
      </Button>
    </>
  );
}
