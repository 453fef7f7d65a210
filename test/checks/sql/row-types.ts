// Reads the row types that a source gives its statements, by the compiler's API.
import ts from 'typescript';
import { VOCABULARIES } from '../../support/vocabularies.ts';
import type { Nullness } from './nulls.ts';
import { firstText } from './sources.ts';

/** What the type of a row says of one column. */
export interface TypedColumn {
  readonly name: string;
  /** `string`, `number`, `boolean`, `Buffer`, `T[]`, `json`; null is apart. */
  readonly kinds: ReadonlySet<string>;
  /** A text is one of these; null: any text. */
  readonly words: readonly string[] | null;
  readonly isNullable: boolean;
  /** The statement need not have it. */
  readonly isOptional: boolean;
}

/** A call of `statement`. */
export interface Declaration {
  readonly file: string;
  /** The text at the start of its name. */
  readonly start: string;
  readonly isWholeName: boolean;
  /** null: a type parameter. */
  readonly columns: readonly TypedColumn[] | null;
}

/** Returns the declarations of the files. Throws if they do not compile. */
export function readDeclarations(root: string, files: readonly string[]): Declaration[] {
  const config = ts.readConfigFile(`${root}/tsconfig.json`, (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root, {}, undefined);
  const program = ts.createProgram(files, options);
  const checker = program.getTypeChecker();
  return files.flatMap((file) => {
    const source = program.getSourceFile(file);
    if (!source) throw new Error(`there is no ${file}`);
    const found: Declaration[] = [];
    const visit = (node: ts.Node): void => {
      if (
        ts.isCallExpression(node) &&
        ts.isIdentifier(node.expression) &&
        node.expression.text === 'statement'
      ) {
        const [name] = node.arguments;
        if (name)
          found.push({
            file,
            start: firstText(name) ?? '',
            isWholeName: ts.isStringLiteralLike(name),
            columns: rowOf(checker.getTypeAtLocation(node), checker),
          });
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
  });
}

function rowOf(statement: ts.Type, checker: ts.TypeChecker): readonly TypedColumn[] | null {
  const [row] = checker.getTypeArguments(statement as ts.TypeReference);
  if (!row || row.flags & (ts.TypeFlags.TypeParameter | ts.TypeFlags.Unknown)) return null;
  const members = row.isUnion() ? row.types : [row];
  const names = new Set(members.flatMap((one) => checker.getPropertiesOfType(one)).map(nameOf));
  return [...names].map((name) => {
    const symbols = members.map((one) => checker.getPropertyOfType(one, name));
    const types = symbols.flatMap((one) => (one ? partsOf(checker.getTypeOfSymbol(one)) : []));
    const isAbsent = ({ flags }: ts.Type): boolean =>
      (flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)) !== 0;
    return {
      name,
      kinds: new Set(types.filter((one) => !isAbsent(one)).map((one) => kindOf(one, checker))),
      words: wordsOf(types.filter((one) => one.flags & ts.TypeFlags.StringLike)),
      // A member of a union that does not have the column says nothing of it.
      isNullable: symbols.includes(undefined) || types.some(mayBeNull),
      isOptional: symbols.some((one) => one && one.flags & ts.SymbolFlags.Optional),
    };
  });
}

const nameOf = ({ name }: ts.Symbol): string => name;
const partsOf = (type: ts.Type): readonly ts.Type[] => (type.isUnion() ? type.types : [type]);
const mayBeNull = ({ flags }: ts.Type): boolean =>
  (flags & (ts.TypeFlags.Null | ts.TypeFlags.Unknown | ts.TypeFlags.Any)) !== 0;

/** The texts, if each type is one text. */
function wordsOf(texts: readonly ts.Type[]): readonly string[] | null {
  const words = texts.flatMap((one) => (one.isStringLiteral() ? [one.value] : []));
  return words.length > 0 && words.length === texts.length ? words : null;
}

function kindOf(type: ts.Type, checker: ts.TypeChecker): string {
  if (type.flags & ts.TypeFlags.StringLike) return 'string';
  if (type.flags & ts.TypeFlags.NumberLike) return 'number';
  if (type.flags & ts.TypeFlags.BooleanLike) return 'boolean';
  if (type.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) return 'json';
  if (type.symbol?.name === 'Buffer') return 'Buffer';
  if (checker.isArrayType(type)) {
    const [element] = checker.getTypeArguments(type as ts.TypeReference);
    const kinds = new Set(element ? partsOf(element).map((one) => kindOf(one, checker)) : []);
    return `${[...kinds].join('|')}[]`;
  }
  return 'json';
}

/** A column of a result, as Postgres describes it. */
export interface DescribedColumn {
  readonly name: string;
  /** Of pg_type: `text`, `_text`. */
  readonly type: string;
  readonly nulls: Nullness;
  /** Those that the `CHECK` of its column lists; null: any text; unknown: it is no column. */
  readonly words: readonly string[] | null | 'unknown';
}

/** What is wrong with a row type, one line for each fault. */
export function faultsOf(
  typed: readonly TypedColumn[],
  described: readonly DescribedColumn[],
): string[] {
  const columns = new Map(typed.map((one) => [one.name, one]));
  const missing = typed.filter(
    ({ name, isOptional }) => !isOptional && described.every((one) => one.name !== name),
  );
  return [
    ...missing.map(({ name }) => `${name}: no such column`),
    ...described.flatMap(({ name, type, nulls, words }) => {
      const column = columns.get(name);
      if (!column) return [`${name}: not in the type`];
      const kind = kindRead(type);
      const others = [...column.kinds].filter((one) => kind !== 'json' && one !== kind);
      return [
        ...others.map((one) => `${name}: ${kind}, not ${one}`),
        ...(column.words === null ? [] : missingWords(column.words, words)).map(
          (word) => `${name}: may be ${word}`,
        ),
        ...(nulls === 'maybe' && !column.isNullable ? [`${name}: may be null`] : []),
      ];
    }),
  ];
}

function missingWords(typed: readonly string[], words: DescribedColumn['words']): string[] {
  const missing = (known: readonly string[]) => known.filter((word) => !typed.includes(word));
  if (words !== 'unknown') return words ? missing(words) : ['any text'];
  // An expression, or a column of several SELECTs, is believed to have all words of some column.
  return Object.values(VOCABULARIES).some((one) => missing(one).length === 0) ? [] : ['any text'];
}

/** What `wire/types.ts` makes of a type of Postgres. */
function kindRead(type: string): string {
  if (type.startsWith('_')) return `${kindRead(type.slice(1))}[]`;
  if (/^(?:int2|int4|oid|float4|float8)$/.test(type)) return 'number';
  if (type === 'bool') return 'boolean';
  if (type === 'bytea') return 'Buffer';
  return /^jsonb?$/.test(type) ? 'json' : 'string';
}
