// Finds the code in a source file that declares or sends SQL.
import ts from 'typescript';

/** Names of our `Db`, whose queries only take statements. Any other `query` may take a text. */
const DATABASES = new Set(['db', 'tx']);
const QUERIES = new Set(['query', 'queryFirst']);

/** Parses a TypeScript source, with links from each node to its parent. */
export function parseSource(name: string, text: string): ts.SourceFile {
  return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
}

/**
 * Returns the names of the statements that the file declares. Of a name that is computed, it
 * returns the text at its start; it throws if there is none.
 */
export function namesOfStatements(source: ts.SourceFile): string[] {
  return callsIn(source).flatMap(({ expression, arguments: [name] }) => {
    if (!ts.isIdentifier(expression) || expression.text !== 'statement' || !name) return [];
    const start = firstText(name);
    if (!start) throw new Error(`${source.fileName}: a statement whose name begins with a value`);
    return [start];
  });
}

export function firstText(node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) return node.head.text;
  // ['trainings.list', ...named].join('.')
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const list = node.expression.expression;
    const first = ts.isArrayLiteralExpression(list) ? list.elements[0] : undefined;
    return first && firstText(first);
  }
  return undefined;
}

/** Returns the text of the calls that can send SQL without `statement`. */
export function otherWays(source: ts.SourceFile): string[] {
  // A file that imports pg may have a pg client named `db`.
  const knowsPg = source.statements.some(
    (node) => ts.isImportDeclaration(node) && /^'pg'$/.test(node.moduleSpecifier.getText(source)),
  );
  const calls = callsIn(source).filter(({ expression, arguments: [what] }) => {
    if (!ts.isPropertyAccessExpression(expression) || !what) return false;
    // `query` of a tRPC procedure takes a function.
    if (!QUERIES.has(expression.name.text) || ts.isArrowFunction(what)) return false;
    const isName =
      ts.isIdentifier(what) ||
      ts.isElementAccessExpression(what) ||
      ts.isPropertyAccessExpression(what);
    return knowsPg || !isName || !DATABASES.has(lastName(expression.expression));
  });
  return calls.map(({ expression }) => expression.getText(source));
}

function lastName(node: ts.Expression): string {
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  return ts.isIdentifier(node) ? node.text : '';
}

export function callsIn(source: ts.SourceFile): ts.CallExpression[] {
  return nodesIn(source).filter((node) => ts.isCallExpression(node));
}

function nodesIn(node: ts.Node): ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (one: ts.Node): void => {
    found.push(one);
    ts.forEachChild(one, visit);
  };
  visit(node);
  return found;
}
