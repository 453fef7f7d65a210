import { KEY_PLACEHOLDER } from '../highlight.ts';
import { indented, lines } from './lines.ts';
import { jsonText } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

const MARGIN = ' '.repeat(12);

/** Java 17 or newer with its own library. `java Example.java` runs it. */
export const java: SampleLanguage = {
  id: 'java',
  label: 'Java',
  grammar: 'java',
  write: ({ method, url, body, isIdempotent }) => {
    const text = jsonText(body, MARGIN).replaceAll('\\', '\\\\');
    const publisher = body === null ? 'noBody()' : `ofString("""\n${MARGIN}${text}\n${MARGIN}""")`;
    const steps = [
      `.header("Authorization", "Bearer ${KEY_PLACEHOLDER}")`,
      body !== null && '.header("Content-Type", "application/json")',
      isIdempotent && '.header("Idempotency-Key", UUID.randomUUID().toString())',
      method !== 'GET' && `.method("${method}", BodyPublishers.${publisher})`,
      '.build();',
    ];
    return lines([
      'import java.net.URI;',
      'import java.net.http.HttpClient;',
      'import java.net.http.HttpRequest;',
      method !== 'GET' && 'import java.net.http.HttpRequest.BodyPublishers;',
      'import java.net.http.HttpResponse.BodyHandlers;',
      isIdempotent && 'import java.util.UUID;',
      '',
      'public class Example {',
      '  public static void main(String[] args) throws Exception {',
      `    var request = HttpRequest.newBuilder(URI.create("${url}"))`,
      indented(steps, '        '),
      '    var response = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());',
      '    if (response.statusCode() >= 400) throw new RuntimeException(response.body());',
      '    System.out.println(response.body());',
      '  }',
      '}',
    ]);
  },
};
