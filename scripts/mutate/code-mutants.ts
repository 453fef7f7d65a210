// Mutants of TypeScript: finds them in a file's syntax tree, and writes all of them into one copy
// of the file. There, each stands behind a switch, `__mutant(n) ? mutated : original`, so that one
// copy serves every mutant and also tells which ones a test reaches.
import ts from 'typescript';

export interface CodeMutant {
  /** Top-level declaration that holds it. */
  readonly declaration: string;
  /** Text of that declaration: while it stays the same, so does the mutant. */
  readonly context: string;
  readonly line: number;
  readonly original: string;
  readonly replacement: string;
  readonly node: ts.Node;
}

const SWAPPED_OPERATORS: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.PlusToken]: '-',
  [ts.SyntaxKind.MinusToken]: '+',
  [ts.SyntaxKind.AsteriskToken]: '/',
  [ts.SyntaxKind.SlashToken]: '*',
  [ts.SyntaxKind.PercentToken]: '*',
  [ts.SyntaxKind.GreaterThanGreaterThanToken]: '<<',
  [ts.SyntaxKind.PlusEqualsToken]: '-=',
  [ts.SyntaxKind.MinusEqualsToken]: '+=',
  [ts.SyntaxKind.AsteriskEqualsToken]: '/=',
  [ts.SyntaxKind.SlashEqualsToken]: '*=',
};

const SWAPPED_METHODS: ReadonlyMap<string, string> = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
  ['floor', 'ceil'],
  ['ceil', 'floor'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
]);

const DROPPED_METHODS: ReadonlySet<string> = new Set(
  'filter slice sort toSorted reverse toReversed trim toLowerCase toUpperCase'.split(' '),
);

/** Texts for people, which no rule reads. */
const DOCUMENTATION: ReadonlySet<string> = new Set(
  'description title summary example examples trigger'.split(' '),
);

export function findCodeMutants(file: string, text: string): CodeMutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: CodeMutant[] = [];
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)) continue;
    const declaration = nameOf(statement);
    const visit = (node: ts.Node): void => {
      if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || isDocumentation(node)) return;
      for (const replacement of replacementsOf(node)) {
        const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
        const context = statement.getText();
        const original = node.getText();
        found.push({ declaration, context, line, original, replacement, node });
      }
      // Of `schema.meta({ … })` only the schema is behaviour.
      if (isDocumentingCall(node)) visit(node.expression.expression);
      else ts.forEachChild(node, visit);
    };
    visit(statement);
  }
  return found;
}

/** The file's text with every mutant in it; `numberOf` says behind which number each stands. */
export function instrument(
  text: string,
  mutants: readonly CodeMutant[],
  numberOf: (mutant: CodeMutant) => number,
) {
  const root = mutants[0]?.node.getSourceFile();
  if (!root) return text;
  const byNode = Map.groupBy(mutants, (mutant) => mutant.node);
  const emit = (node: ts.Node): string => {
    let inner = '';
    let at = node.getStart();
    ts.forEachChild(node, (child) => {
      inner += text.slice(at, child.getStart()) + emit(child);
      at = child.getEnd();
    });
    inner += text.slice(at, node.getEnd());
    const switches = (byNode.get(node) ?? []).map((mutant) => ({
      mutant,
      on: `globalThis.__mutant?.(${numberOf(mutant)})`,
    }));
    if (switches.length === 0) return inner;
    if (ts.isThrowStatement(node))
      return `if (!(${switches.map(({ on }) => on).join(' || ')})) { ${inner} }`;
    const choices = switches.map(({ mutant, on }) => `${on} ? (${mutant.replacement}) : `);
    return `(${choices.join('')}(${inner}))`;
  };
  return text.slice(0, root.getStart()) + emit(root) + text.slice(root.getEnd());
}

function nameOf(statement: ts.Statement): string {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations
      .map((declaration) => declaration.name.getText())
      .join(',');
  }
  const { name } = statement as { name?: ts.Node };
  return name?.getText() ?? 'module';
}

function isDocumentation(node: ts.Node): boolean {
  return ts.isPropertyAssignment(node) && DOCUMENTATION.has(node.name.getText());
}

function isDocumentingCall(
  node: ts.Node,
): node is ts.CallExpression & { expression: ts.PropertyAccessExpression } {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  return ['meta', 'describe'].includes(node.expression.name.text);
}

function replacementsOf(node: ts.Node): string[] {
  // A part of `a?.b().c` cannot be put in brackets without ending the chain there.
  if (node.flags & ts.NodeFlags.OptionalChain) return [];
  if (isCondition(node)) return replacementsOfCondition(node);
  if (ts.isBinaryExpression(node)) return replacementsOfBinary(node);
  if (ts.isPrefixUnaryExpression(node)) return replacementsOfUnary(node);
  if (ts.isNumericLiteral(node)) return replacementsOfNumber(node);
  if (node.kind === ts.SyntaxKind.TrueKeyword) return ['false'];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return ['true'];
  if (ts.isRegularExpressionLiteral(node)) return replacementsOfRegex(node.text);
  if (ts.isCallExpression(node)) return [...replacementsOfCall(node), ...removals(node)];
  if (ts.isThrowStatement(node)) return isGuarded(node) ? [] : [''];
  return [];
}

/** What decides a branch is made always true and always false. */
function isCondition(node: ts.Node): node is ts.Expression {
  const { parent } = node;
  if (ts.isIfStatement(parent) || ts.isWhileStatement(parent)) return parent.expression === node;
  return ts.isConditionalExpression(parent) && parent.condition === node;
}

function replacementsOfCondition(node: ts.Expression): string[] {
  // Each part of it is dropped, which needs more tests than forcing all of it.
  if (isLogical(node)) return withoutEach(node);
  const forced = ts.isWhileStatement(node.parent) ? ['false'] : ['true', 'false'];
  const isOrder = ts.isBinaryExpression(node) && /^[<>]/.test(node.operatorToken.getText());
  return isOrder ? [...forced, ...replacementsOfBinary(node)] : forced;
}

interface LogicalExpression extends ts.BinaryExpression {
  readonly operatorToken: ts.Token<
    ts.SyntaxKind.AmpersandAmpersandToken | ts.SyntaxKind.BarBarToken
  >;
}

function isLogical(node: ts.Node): node is LogicalExpression {
  if (!ts.isBinaryExpression(node)) return false;
  const { kind } = node.operatorToken;
  return kind === ts.SyntaxKind.AmpersandAmpersandToken || kind === ts.SyntaxKind.BarBarToken;
}

/** A chain of one logical operator with each of its operands left out in turn. */
function withoutEach(node: ts.BinaryExpression): string[] {
  const { kind } = node.operatorToken;
  const isSame = (other: ts.Node): other is ts.BinaryExpression =>
    ts.isBinaryExpression(other) && other.operatorToken.kind === kind;
  if (isSame(node.parent)) return [];
  const operandsOf = (part: ts.Expression): string[] =>
    isSame(part) ? [...operandsOf(part.left), ...operandsOf(part.right)] : [part.getText()];
  const operands = operandsOf(node);
  const operator = ` ${node.operatorToken.getText()} `;
  return operands.map((_operand, left) =>
    operands.filter((_other, place) => place !== left).join(operator),
  );
}

function replacementsOfBinary(node: ts.BinaryExpression): string[] {
  if (isLogical(node)) return withoutEach(node);
  const [left, right] = [node.left.getText(), node.right.getText()];
  if (node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) return [left];
  const swapped = SWAPPED_OPERATORS[node.operatorToken.kind];
  if (swapped === undefined || (node.operatorToken.getText() === '+' && isText(node))) return [];
  // Dropping an operand of `&&` is the stronger of the two.
  if (swapped.endsWith('==') && isLogical(node.parent)) return [];
  return [`${left} ${swapped} ${right}`];
}

function isText(node: ts.Expression): boolean {
  if (ts.isBinaryExpression(node)) return isText(node.left) || isText(node.right);
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

function replacementsOfUnary(node: ts.PrefixUnaryExpression): string[] {
  const isNot = node.operator === ts.SyntaxKind.ExclamationToken;
  return isNot && !isLogical(node.parent) ? [node.operand.getText()] : [];
}

function replacementsOfNumber(node: ts.NumericLiteral): string[] {
  if (ts.isPropertyAssignment(node.parent) && node.parent.name === node) return [];
  const value = Number(node.text);
  return value === 0 ? ['1'] : [String(value + 1), String(value - 1)];
}

function replacementsOfRegex(text: string): string[] {
  const end = text.lastIndexOf('/');
  const [pattern, flags] = [text.slice(1, end), text.slice(end)];
  const loosened = [];
  if (pattern.startsWith('^')) loosened.push(`/${pattern.slice(1)}${flags}`);
  if (/(?<!\\)\$$/.test(pattern)) loosened.push(`/${pattern.slice(0, -1)}${flags}`);
  return loosened;
}

function replacementsOfCall(node: ts.CallExpression): string[] {
  const { expression } = node;
  if (!ts.isPropertyAccessExpression(expression)) return [];
  const [object, method] = [expression.expression.getText(), expression.name.text];
  if (DROPPED_METHODS.has(method)) return [object];
  const swapped = SWAPPED_METHODS.get(method);
  // `z.string().min(1)` is a bound, whose number is mutated; only Math has a `min` to swap.
  if (swapped === undefined || (/^(min|max)$/.test(method) && object !== 'Math')) return [];
  return [
    `${object}.${swapped}(${node.arguments.map((argument) => argument.getText()).join(', ')})`,
  ];
}

/** A call whose result nobody uses is left out: a guard that throws, a change of state. */
function removals(node: ts.CallExpression): string[] {
  const isStatement = ts.isExpressionStatement(node.parent);
  return isStatement && !/^(console|log|logger)\b/.test(node.getText()) ? ['undefined'] : [];
}

/** `if (…) throw …` goes with its condition. */
function isGuarded(node: ts.ThrowStatement): boolean {
  const body = ts.isBlock(node.parent) && node.parent.statements.length === 1 ? node.parent : node;
  return ts.isIfStatement(body.parent);
}
