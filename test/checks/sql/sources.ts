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

/**
 * Returns every use of Prisma that is not `prisma.model.method({ where: { teamId … } })`, as
 * `line: text`. Raw SQL and models under another name are among them.
 */
export function unboundPrismaCalls(source: ts.SourceFile): string[] {
  return nodesIn(source).flatMap((name) => {
    if (!ts.isIdentifier(name) || name.text !== 'prisma') return [];
    const isProperty = ts.isPropertyAccessExpression(name.parent) && name.parent.name === name;
    const method = (isProperty ? name.parent : name).parent.parent;
    const call = method.parent;
    const isCall = ts.isCallExpression(call) && call.expression === method;
    if (isCall && isBoundToTeam(call.arguments[0], source)) return [];
    const { line } = source.getLineAndCharacterOfPosition(name.getStart(source));
    return [`${line + 1}: ${method.getText(source)}`];
  });
}

/** Reads are bound by `where`, creations by `data`. */
function isBoundToTeam(argument: ts.Expression | undefined, source: ts.SourceFile): boolean {
  if (!argument || !ts.isObjectLiteralExpression(argument)) return false;
  const where = propertyOf(argument, 'where') ?? propertyOf(argument, 'data');
  return where !== undefined && namesTeam(where, source);
}

function namesTeam(node: ts.Expression, source: ts.SourceFile): boolean {
  if (ts.isParenthesizedExpression(node)) return namesTeam(node.expression, source);
  if (ts.isObjectLiteralExpression(node))
    return propertyOf(node, 'teamId')?.getText(source) === 'teamId';
  // A function of this file may make the condition; it gets the team as its first argument.
  if (!ts.isCallExpression(node) || node.arguments[0]?.getText(source) !== 'teamId') return false;
  const made = nodesIn(source).find(
    (other) =>
      ts.isVariableDeclaration(other) &&
      other.name.getText(source) === node.expression.getText(source),
  );
  const body = made && ts.isVariableDeclaration(made) ? made.initializer : undefined;
  if (!body || !ts.isArrowFunction(body) || ts.isBlock(body.body)) return false;
  return body.parameters[0]?.name.getText(source) === 'teamId' && namesTeam(body.body, source);
}

function propertyOf(object: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  const property = object.properties.find(
    (one) => one.name && ts.isIdentifier(one.name) && one.name.text === name,
  );
  if (property && ts.isShorthandPropertyAssignment(property)) return property.name;
  return property && ts.isPropertyAssignment(property) ? property.initializer : undefined;
}

function lastName(node: ts.Expression): string {
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  return ts.isIdentifier(node) ? node.text : '';
}

function callsIn(source: ts.SourceFile): ts.CallExpression[] {
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
