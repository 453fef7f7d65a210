import { KEY_PLACEHOLDER } from '../highlight.ts';
import { jsonText } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

/** Java 17 or newer with its own library. `java Example.java` runs it. */
export const java: SampleLanguage = {
  id: 'java',
  label: 'Java',
  grammar: 'java',
  write: ({ method, url, body, isIdempotent }) => {
    const margin = ' '.repeat(12);
    const text = jsonText(body, margin).replaceAll('\\', '\\\\');
    const publisher =
      body === null
        ? 'BodyPublishers.noBody()'
        : `BodyPublishers.ofString("""\n${margin}${text}\n${margin}""")`;
    const steps = [
      `.header("Authorization", "Bearer ${KEY_PLACEHOLDER}")`,
      ...(body === null ? [] : ['.header("Content-Type", "application/json")']),
      ...(isIdempotent ? ['.header("Idempotency-Key", UUID.randomUUID().toString())'] : []),
      ...(method === 'GET' ? [] : [`.method("${method}", ${publisher})`]),
      '.build();',
    ];
    return `import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
${method === 'GET' ? '' : 'import java.net.http.HttpRequest.BodyPublishers;\n'}import java.net.http.HttpResponse.BodyHandlers;
${isIdempotent ? 'import java.util.UUID;\n' : ''}
public class Example {
  public static void main(String[] args) throws Exception {
    var request = HttpRequest.newBuilder(URI.create("${url}"))
${steps.map((step) => `        ${step}\n`).join('')}    var response = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
    if (response.statusCode() >= 400) throw new RuntimeException(response.body());
    System.out.println(response.body());
  }
}
`;
  },
};
