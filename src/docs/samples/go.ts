import { KEY_PLACEHOLDER } from '../highlight.ts';
import { indented, lines } from './lines.ts';
import { jsonText } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

const NEW_KEY = [
  'key := make([]byte, 16)',
  'if _, err := rand.Read(key); err != nil {',
  '\tlog.Fatal(err)',
  '}',
  'request.Header.Set("Idempotency-Key", hex.EncodeToString(key))',
];

const SEND = [
  'response, err := http.DefaultClient.Do(request)',
  'if err != nil {',
  '\tlog.Fatal(err)',
  '}',
  'defer response.Body.Close()',
  'text, err := io.ReadAll(response.Body)',
  'if err != nil {',
  '\tlog.Fatal(err)',
  '}',
  'if response.StatusCode >= 400 {',
  '\tlog.Fatal(string(text))',
  '}',
  'fmt.Println(string(text))',
];

/** Go with its own library. `go run main.go` runs it. */
export const go: SampleLanguage = {
  id: 'go',
  label: 'Go',
  grammar: 'go',
  write: ({ method, url, body, isIdempotent }) => {
    // A raw string cannot hold a backtick.
    const text = jsonText(body, '\t').replaceAll('`', '` + "`" + `');
    const imports = [
      isIdempotent && '"crypto/rand"',
      isIdempotent && '"encoding/hex"',
      '"fmt"',
      '"io"',
      '"log"',
      '"net/http"',
      body !== null && '"strings"',
    ];
    const steps = [
      body !== null && `body := strings.NewReader(\`${text}\`)`,
      `request, err := http.NewRequest("${method}", "${url}", ${body === null ? 'nil' : 'body'})`,
      'if err != nil {',
      '\tlog.Fatal(err)',
      '}',
      `request.Header.Set("Authorization", "Bearer ${KEY_PLACEHOLDER}")`,
      body !== null && 'request.Header.Set("Content-Type", "application/json")',
      ...(isIdempotent ? NEW_KEY : []),
      ...SEND,
    ];
    return lines([
      'package main',
      '',
      'import (',
      indented(imports, '\t'),
      ')',
      '',
      'func main() {',
      indented(steps, '\t'),
      '}',
    ]);
  },
};
