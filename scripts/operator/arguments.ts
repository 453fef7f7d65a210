/** Reads the arguments of a command. Its options are the fields of its procedure's input. */
import { parseArgs } from 'node:util';
import type { AnyProcedure } from '@trpc/server';
import { z } from 'zod';
import { platform } from '../../src/routers/routers.ts';
import { usageError } from '../../src/runtime/arguments.ts';
import { COMMANDS, type Command } from './commands.ts';

/** What an operator wants. */
export interface Wanted {
  readonly command: Command;
  readonly teamId: string;
  /** What the procedure gets. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly isDryRun: boolean;
  readonly isJson: boolean;
  /** The team's id, to confirm without being asked. */
  readonly confirmed: string | null;
  /** How the audit log names the operator. */
  readonly operator: string | null;
}

const PROGRAM = 'run';
const OPERATOR = /^[\w.-]{1,40}$/;

const GENERAL = {
  'dry-run': { type: 'boolean' },
  yes: { type: 'string' },
  as: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Returns what is wanted, or a text to print. Throws a usage error. */
export function readArguments(args: readonly string[]): Wanted | string {
  const [first = '', second = '', ...rest] = args;
  const command = COMMANDS.find(({ name }) => name === `${first} ${second}`);
  if (!command) {
    const named = COMMANDS.filter(({ name }) => name.split(' ')[0] === first);
    if (args.some(isHelp) || args.length === 0) return helpOf(named.length > 0 ? named : COMMANDS);
    throw usageError(`There is no command "${first} ${second}". ${PROGRAM} operator --help`);
  }
  if (rest.some(isHelp)) return helpOf([command]);
  const flags = flagsOf(command);
  const { values, positionals } = parse(flags, rest);
  const [teamId, ...others] = positionals;
  if (teamId === undefined || others.length > 0)
    throw usageError(`"${command.name}" takes the id of one team: ${exampleOf(command)}`);
  const operator = textOf(values['as']);
  if (operator !== null && !OPERATOR.test(operator))
    throw usageError('--as takes up to 40 letters, digits, dots, hyphens and underscores.');
  return {
    command,
    teamId,
    input: inputOf(command, { flags, teamId, values }),
    isDryRun: values['dry-run'] === true,
    isJson: values['json'] === true,
    confirmed: textOf(values['yes']),
    operator,
  };
}

/** How an operator says a field of the input, for instance `--owner-email`. */
export function optionOf(path: readonly PropertyKey[]): string {
  if (path[0] === 'team_id') return 'TEAM';
  const steps = path.filter((step) => typeof step === 'string');
  return steps.length === 0 ? 'The options' : `--${steps.join('-').replaceAll('_', '-')}`;
}

type JsonSchema = z.core.JSONSchema.JSONSchema;

/** An option that is a field of the input. */
interface Flag {
  readonly path: readonly string[];
  readonly kind: 'text' | 'number' | 'list';
  readonly isRequired: boolean;
  readonly values: readonly string[];
  readonly fallback: unknown;
}

function isHelp(arg: string): boolean {
  return arg === '--help' || arg === '-h';
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function shapeOf({ procedure }: Command): z.ZodObject {
  const procedures = platform._def.procedures as unknown as Record<string, AnyProcedure>;
  const { inputs = [] } = (procedures[procedure]?._def ?? {}) as { inputs?: z.ZodObject[] };
  const [shape] = inputs;
  if (!shape) throw new Error(`platform.${procedure} has no input`);
  return shape;
}

function flagsOf(command: Command): readonly Flag[] {
  if (command.sets !== null) return [];
  const schema = z.toJSONSchema(shapeOf(command), { io: 'input', unrepresentable: 'any' });
  // The status has commands of its own.
  return fieldsOf(schema, []).filter(
    ({ path: [first = ''] }) => first !== 'team_id' && first !== 'status',
  );
}

function fieldsOf({ properties = {}, required = [] }: JsonSchema, path: readonly string[]): Flag[] {
  return Object.entries(properties).flatMap(([name, given]): Flag[] => {
    const [choice] = (given as JsonSchema).anyOf ?? [given];
    const schema = choice as JsonSchema;
    const steps = [...path, name];
    if (schema.type === 'object') return fieldsOf(schema, steps);
    const { type, enum: values, items } = schema;
    return [
      {
        path: steps,
        kind: type === 'array' ? 'list' : type === 'integer' ? 'number' : 'text',
        isRequired: required.includes(name) && schema.default === undefined,
        values: (values ?? (items as JsonSchema | undefined)?.enum ?? []).map(String),
        fallback: schema.default,
      },
    ];
  });
}

type Values = Readonly<Record<string, unknown>>;

function parse(
  flags: readonly Flag[],
  args: readonly string[],
): { readonly values: Values; readonly positionals: readonly string[] } {
  const own = Object.fromEntries(
    flags.map(({ path }) => [optionOf(path).slice(2), { type: 'string' as const }]),
  );
  const options = { ...GENERAL, ...own };
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error));
  }
}

/** Throws a usage error that names each option whose value the procedure would refuse. */
function inputOf(
  command: Command,
  {
    flags,
    teamId,
    values,
  }: {
    readonly flags: readonly Flag[];
    readonly teamId: string;
    readonly values: Values;
  },
): Wanted['input'] {
  const input: Record<string, unknown> = { team_id: teamId };
  if (command.sets !== null) input['status'] = command.sets;
  const missing: string[] = [];
  for (const { path, kind, isRequired } of flags) {
    const text = textOf(values[optionOf(path).slice(2)]);
    if (text !== null) setAt(input, path, valueOf(kind, text));
    else if (isRequired) missing.push(`${optionOf(path)} is required.`);
  }
  if (missing.length > 0) throw usageError(missing.join('\n'));
  const { error } = shapeOf(command).safeParse(input);
  if (!error) {
    if (changesNothing(flags, values))
      throw usageError(`"${command.name}" needs an option: ${exampleOf(command)}`);
    return input;
  }
  const faults = error.issues.map(({ path, message }) => `${optionOf(path)}: ${message}`);
  throw usageError([...new Set(faults)].join('\n'));
}

/** Whether a command that does only what its options say was given none. */
function changesNothing(flags: readonly Flag[], values: Values): boolean {
  const isOptional = ({ isRequired, fallback }: Flag) => !isRequired && fallback === undefined;
  const isGiven = ({ path }: Flag) => values[optionOf(path).slice(2)] !== undefined;
  return flags.length > 0 && flags.every(isOptional) && !flags.some(isGiven);
}

function valueOf(kind: Flag['kind'], text: string): unknown {
  if (kind === 'list') return text.split(',').map((part) => part.trim());
  return kind === 'number' && /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

function setAt(
  target: Record<string, unknown>,
  [first = '', ...rest]: readonly string[],
  value: unknown,
): void {
  if (rest.length === 0) target[first] = value;
  else setAt((target[first] ??= {}) as Record<string, unknown>, rest, value);
}

function exampleOf({ name, example }: Command): string {
  return `${PROGRAM} ${name} TEAM ${example}`.trimEnd();
}

function helpOf(commands: readonly Command[]): string {
  const parts = commands.map((command) => {
    const { does, warning } = command;
    const options = flagsOf(command).map((flag) => `      ${describe(flag)}`);
    const asks = warning === null ? '' : ' Asks for a confirmation.';
    return [`  ${exampleOf(command)}`, `      ${does}${asks}`, ...options].join('\n');
  });
  return `Usage: ${PROGRAM} COMMAND TEAM [OPTIONS], or npm run operator -- COMMAND TEAM [OPTIONS]

${parts.join('\n\n')}

Options of all:
  --dry-run    does it in a transaction that is rolled back, and says what it would do
  --yes TEAM   confirms without being asked; needed where there is no terminal
  --as NAME    names the operator in the team's audit log, which its admins can read
  --json       prints one JSON object

Exit code: 0 done, or nothing to do; 1 refused; 64 wrong arguments.
It needs DATABASE_URL and APP_SECRET, and no API that runs.`;
}

function describe({ path, kind, isRequired, values, fallback }: Flag): string {
  const what = kind === 'list' ? 'A,B' : kind === 'number' ? 'NUMBER' : 'TEXT';
  const facts = [
    ...(isRequired ? ['required'] : []),
    ...(values.length > 0 ? [values.join(', ')] : []),
    ...(fallback === undefined ? [] : [`default ${JSON.stringify(fallback)}`]),
  ];
  return `${optionOf(path)} ${what}${facts.length > 0 ? `  (${facts.join('; ')})` : ''}`;
}
