import { Link } from '@tanstack/react-router';
import { useTexts } from '../i18n/language.ts';
import { isAddressHidden } from './member-name.ts';

/** Says why addresses are missing, if they are, and where that can be changed. */
export function HiddenAddresses({
  people,
}: {
  readonly people: readonly { readonly email?: string | null | undefined }[];
}) {
  const t = useTexts();
  if (!isAddressHidden(people)) return null;
  return (
    <p className="notice">
      {t.members.hidden} <Link to="/privacy">{t.members.hiddenWhere}</Link>
    </p>
  );
}
