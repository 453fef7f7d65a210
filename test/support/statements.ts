import { declaredStatements, type Statement } from '../../src/db/statement.ts';

/** Whether a statement is the service's. Those of tests, which share the process, have `test.`. */
export const isOfService = ({ name }: Pick<Statement<unknown>, 'name'>): boolean =>
  !name.startsWith('test.');

/** The statements of the service. */
export function serviceStatements(): readonly Statement<unknown>[] {
  return declaredStatements().filter(isOfService);
}
