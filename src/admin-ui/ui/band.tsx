import type { ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { IS_SANDBOX } from '../lib/mode.ts';

/** In the sandbox, says that it is one. Stands above everything. */
export function Band() {
  const t = useTexts();
  if (!IS_SANDBOX) return null;
  return (
    <p className="band">
      <strong>{t.sandbox.name}:</strong> {t.sandbox.band}
    </p>
  );
}

/** Something that is so only in the sandbox. */
export function SandboxNote({ children }: { readonly children: ReactNode }) {
  return IS_SANDBOX && <p className="notice">{children}</p>;
}
