/** Whole programs in several languages. They are files in `examples/`, and tests run them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LANGUAGES } from './languages.ts';
import type { Sample } from './sample-tabs.ts';

const FOLDER = join(import.meta.dirname, '../examples');
/** The base URL in the files. */
const EXAMPLE_URL = 'https://api.example.com/api/public/v1';

export interface Program {
  /** The id of its language. */
  readonly id: string;
  readonly file: string;
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

export function programSamples(programs: readonly Program[], apiUrl: string): Sample[] {
  return programs.map(({ id, file, command }) => {
    const language = LANGUAGES.find((one) => one.id === id);
    if (language === undefined) throw new Error(`no language ${id}`);
    const { label, grammar } = language;
    const code = readExample(file).replaceAll(EXAMPLE_URL, apiUrl);
    return { id, label, grammar, code, file, ...(command === undefined ? {} : { command }) };
  });
}

/** Reads a file of `examples/`. */
export function readExample(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8');
}
