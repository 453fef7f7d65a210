import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { LIMITS } from '../lib/attention-limits.ts';
import { useLastFailure } from '../lib/last-failure.ts';
import { optimistic } from '../lib/optimistic.ts';
import { SandboxNote } from '../ui/band.tsx';
import { Choice, FormProblem, Group } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { Loaded, PageHead } from '../ui/states.tsx';
import { ALERT_KINDS, withAlert, type AlertChange, type AlertKind } from './alert-kinds.ts';

/** One after the other: the list is read and then set as a whole. */
const SCOPE = { id: 'alerts' };

/** Which alerts the reader gets by mail. */
export function AlertsPage() {
  const t = useTexts();
  const format = useFormat();
  const alerts = useQuery(api.admin.alerts.get.queryOptions({}));
  const set = useSet();
  const failure = useLastFailure(SCOPE);
  const hints: Readonly<Record<AlertKind, string>> = {
    webhooks: t.alerts.hints.webhooks,
    errors: t.alerts.hints.errors(format.percent(LIMITS.errorShare), LIMITS.requestsMin),
    keys: t.alerts.hints.keys(LIMITS.keyEndsWithinDays),
  };
  return (
    <>
      <PageHead title={t.alerts.title} intro={t.alerts.intro} />
      <SandboxNote>
        {t.sandbox.alertsNote} <Link to="/play">{t.nav.sandbox}</Link>.
      </SandboxNote>
      <Loaded query={alerts} rows={3}>
        {({ kinds }) => (
          <form className="form">
            <Group legend={t.alerts.legend}>
              {ALERT_KINDS.map((kind) => (
                <Choice
                  key={kind}
                  kind="checkbox"
                  checked={kinds.includes(kind)}
                  label={t.alerts.kinds[kind]}
                  hint={hints[kind]}
                  onChange={(isWanted) => set.mutate({ kind, isWanted })}
                />
              ))}
            </Group>
            <p className="hint">{t.alerts.rhythm}</p>
            <FormProblem error={failure} />
          </form>
        )}
      </Loaded>
    </>
  );
}

function useSet() {
  const t = useTexts();
  return useMutation({
    ...optimistic(
      () => api.admin.alerts.get.queryKey({}),
      withAlert,
      () => announce(t.common.undone),
    ),
    scope: SCOPE,
    mutationFn: async (change: AlertChange) =>
      client.admin.alerts.set.mutate(withAlert(await client.admin.alerts.get.query({}), change)),
    onSuccess: () => announce(t.common.saved),
  });
}
