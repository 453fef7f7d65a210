import { ENCODING, faultOfEncoding } from '../../db/operator/obstacles.ts';
import { checkOfDatabase, fail, orOk, unseen } from '../check.ts';

/** Whether the database stores every text. */
export const encoding = checkOfDatabase('encoding', 'Doctor', async (ask) => {
  const { rows, silent } = await ask.everywhere<{ encoding: string }>(ENCODING.text);
  const findings = rows.flatMap(({ encoding: name, at }) => {
    const fault = faultOfEncoding(name);
    return fault === null ? [] : [fail(`${fault.says}${at}`, fault.remedy)];
  });
  return orOk([...findings, ...unseen(silent)], 'every text can be stored (UTF8)');
});
