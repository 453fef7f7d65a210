/** The titles of tests, as they are written in a file. */
import { readFileSync } from 'node:fs';
import ts from 'typescript';

const TESTS = new URL('../', import.meta.url);

/**
 * Returns the titles in a file below `test/`, those with placeholders as they are written. A call
 * with a text and a function has a title: `it`, `test.each(…)` and their like.
 */
export function titlesOf(file: string): ReadonlySet<string> {
  const titles = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const [title, ...rest] = node.arguments;
      if (title && ts.isStringLiteralLike(title) && rest.some(isFunction)) titles.add(title.text);
    }
    node.forEachChild(visit);
  };
  const text = readFileSync(new URL(file, TESTS), 'utf8');
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest));
  return titles;
}

function isFunction(node: ts.Node): boolean {
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node);
}
