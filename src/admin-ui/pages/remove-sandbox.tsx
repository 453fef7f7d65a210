import { useMutation } from '@tanstack/react-query';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { loadSession } from '../lib/session.ts';
import { Confirm } from '../ui/confirm.tsx';
import { announce } from '../ui/notice.tsx';

/** Removes the sandbox of the team. Only the live team can. */
export function RemoveSandbox({ onClose }: { readonly onClose: () => void }) {
  const t = useTexts();
  const remove = useMutation(
    api.admin.sandbox.remove.mutationOptions({
      onSuccess: async () => {
        // It says whether there is a sandbox.
        await loadSession();
        announce(t.sandbox.removed);
        onClose();
      },
    }),
  );
  return (
    <Confirm
      title={t.sandbox.removeTitle}
      hint={t.sandbox.removeHint}
      action={t.sandbox.remove}
      mutation={remove}
      onConfirm={() => remove.mutate({})}
      onClose={onClose}
    />
  );
}
