/** Samples in several languages: of a request, and of `examples/`, whose programs tests run. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LANGUAGES } from './languages.ts';
import type { SampleRequest } from './sample-request.ts';
import { container, fence } from '../markdown.ts';

const FOLDER = join(import.meta.dirname, '../examples');
/** The base URL in the files. */
const EXAMPLE_URL = 'https://api.example.com/api/public/v1';

export interface Program {
  /** The id of its language. */
  readonly id: string;
  readonly file: string;
  /** If it is not that of the language. */
  readonly label?: string;
  /** How a reader starts it. */
  readonly command?: string;
}

/** Receivers of webhooks on port 4000. */
export const RECEIVERS: readonly Program[] = [
  { id: 'javascript', file: 'receiver.mjs', command: 'node receiver.mjs' },
  { id: 'python', file: 'receiver.py', command: 'python3 receiver.py' },
  { id: 'php', file: 'receiver.php', command: 'php -S 127.0.0.1:4000 receiver.php' },
  { id: 'java', file: 'Receiver.java', command: 'java Receiver.java' },
  { id: 'csharp', file: 'Receiver.cs', command: 'dotnet run' },
  { id: 'go', file: 'receiver.go', command: 'go run receiver.go' },
  { id: 'ruby', file: 'receiver.rb', command: 'ruby receiver.rb' },
];

/** Programs that read all pages of a list. Languages without JSON in their library are left out. */
export const READERS: readonly Program[] = [
  { id: 'javascript', file: 'read-all.mjs' },
  { id: 'python', file: 'read_all.py' },
  { id: 'php', file: 'read_all.php' },
  { id: 'go', file: 'read_all.go' },
  { id: 'ruby', file: 'read_all.rb' },
];

const TYPESCRIPT = { id: 'javascript', label: 'TypeScript' };

/** What people build, by the name in a guide. The first one is shown to all other languages. */
export const PROGRAMS = {
  nightly: [
    { ...TYPESCRIPT, file: 'nightly.ts', command: 'node nightly.ts' },
    { id: 'python', file: 'nightly.py', command: 'python3 nightly.py' },
  ],
  'low-score': [
    { ...TYPESCRIPT, file: 'low-score.ts', command: 'node low-score.ts' },
    { id: 'python', file: 'low_score.py', command: 'python3 low_score.py' },
  ],
  members: [{ id: 'python', file: 'sync_members.py', command: 'python3 sync_members.py' }],
  'code-step': [
    { id: 'javascript', file: 'code-step.js' },
    { id: 'python', file: 'code_step.py' },
  ],
  export: [{ id: 'python', file: 'export_csv.py', command: 'python3 export_csv.py' }],
} as const satisfies Readonly<Record<string, readonly Program[]>>;

/** As a container of samples. `run` comes before the command that starts each. */
export function programSamples(programs: readonly Program[], apiUrl: string, run: string): string {
  const samples = readPrograms(programs, apiUrl).map(({ grammar, label, file, code, command }) => {
    const start = command === undefined ? '' : `\n${run}: \`${command}\``;
    return fence(code, grammar, `${label}, ${file}`) + start;
  });
  return container('samples', samples.join('\n'));
}

/** The programs with the address of this service. */
export function readPrograms(programs: readonly Program[], apiUrl: string) {
  return programs.map(({ id, file, label, command }) => {
    const language = LANGUAGES.find((one) => one.id === id);
    if (language === undefined) throw new Error(`no language ${id}`);
    const code = readExample(file).replaceAll(EXAMPLE_URL, apiUrl);
    const { grammar } = language;
    return { id, label: label ?? language.label, grammar, code, file, command };
  });
}

/** Reads a file of `examples/`. */
export function readExample(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8');
}

/** The request in every language, as a container of samples. */
export function requestSamples(request: SampleRequest): string {
  const samples = LANGUAGES.map(({ label, grammar, write }) =>
    fence(write(request), grammar, label),
  );
  return container('samples', samples.join('\n'));
}
