import { declaredStatements, type Statement } from '../../src/db/statement.ts';

/** The statements of the service. Those of tests, which share the process, begin with `test.`. */
export function serviceStatements(): readonly Statement<unknown>[] {
  return declaredStatements().filter(({ name }) => !name.startsWith('test.'));
}
