import { KEY_PLACEHOLDER } from '../highlight.ts';
import { jsonText } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

/** Go with its own library. `go run main.go` runs it. */
export const go: SampleLanguage = {
  id: 'go',
  label: 'Go',
  grammar: 'go',
  write: ({ method, url, body, isIdempotent }) => {
    const imports = [
      ...(isIdempotent ? ['crypto/rand', 'encoding/hex'] : []),
      'fmt',
      'io',
      'log',
      'net/http',
      ...(body === null ? [] : ['strings']),
    ];
    // A raw string cannot hold a backtick.
    const text = jsonText(body, '\t').replaceAll('`', '` + "`" + `');
    const reader = body === null ? 'nil' : 'body';
    const key = `	key := make([]byte, 16)
	if _, err := rand.Read(key); err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Idempotency-Key", hex.EncodeToString(key))
`;
    return `package main

import (
${imports.map((name) => `\t"${name}"\n`).join('')})

func main() {
${body === null ? '' : `\tbody := strings.NewReader(\`${text}\`)\n`}	request, err := http.NewRequest("${method}", "${url}", ${reader})
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer ${KEY_PLACEHOLDER}")
${body === null ? '' : '\trequest.Header.Set("Content-Type", "application/json")\n'}${isIdempotent ? key : ''}	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	if response.StatusCode >= 400 {
		log.Fatal(string(text))
	}
	fmt.Println(string(text))
}
`;
  },
};
