import type { ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { Actions, Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { FormProblem } from './field.tsx';

/** Asks before something that cannot be undone, and says what it does. */
export function Confirm({
  title,
  hint,
  action,
  mutation,
  onConfirm,
  onClose,
  look = 'danger',
  wide = false,
  children,
}: {
  readonly title: string;
  readonly hint: string;
  readonly action: string;
  readonly mutation: { readonly isPending: boolean; readonly error: unknown };
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly look?: 'danger' | 'main';
  readonly wide?: boolean;
  readonly children?: ReactNode;
}) {
  const t = useTexts();
  return (
    <Dialog title={title} wide={wide} onClose={onClose}>
      {children}
      <p>{hint}</p>
      <FormProblem error={mutation.error} />
      <Actions>
        <Button onClick={onClose}>{t.common.cancel}</Button>
        <Button look={look} busy={mutation.isPending} onClick={onConfirm}>
          {action}
        </Button>
      </Actions>
    </Dialog>
  );
}
