import { faultOfCanary, READ } from '../../db/operator/app-secret.ts';
import { appSecretsOf } from '../../runtime/config.ts';
import { checkOfDatabase, fail, ok, unknown } from '../check.ts';

/** Whether APP_SECRET is the one of the database. */
export const secret = checkOfDatabase('secret', 'Rotating secrets', async (ask, { config }) => {
  if (config === null) return [unknown('the configuration is not valid')];
  const [exists] = await ask<{ there: boolean }>(
    `select to_regclass('app_secret_canary') is not null as there`,
  );
  const [canary] = exists?.there ? await ask<{ sealed: Buffer }>(READ.text) : [];
  if (!canary) return [ok('no process has used APP_SECRET here yet')];
  const fault = faultOfCanary(canary.sealed, appSecretsOf(config));
  if (fault !== null)
    return [fail('APP_SECRET is not the one of this database', 'Set the one of the processes.')];
  return [ok('APP_SECRET opens what is stored')];
});
