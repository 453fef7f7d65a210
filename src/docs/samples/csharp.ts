import { KEY_PLACEHOLDER } from '../highlight.ts';
import { indented, lines } from './lines.ts';
import { jsonText } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

const MARGIN = ' '.repeat(12);

/** C# with its own library, for .NET, .NET Framework 4.8 and Mono. */
export const csharp: SampleLanguage = {
  id: 'csharp',
  label: 'C#',
  grammar: 'csharp',
  write: ({ method, url, body, isIdempotent }) => {
    const text = jsonText(body, MARGIN).replaceAll('"', '""');
    const steps = [
      `request.Headers.Add("Authorization", "Bearer ${KEY_PLACEHOLDER}");`,
      isIdempotent && 'request.Headers.Add("Idempotency-Key", Guid.NewGuid().ToString());',
      body !== null &&
        `request.Content = new StringContent(@"${text}", Encoding.UTF8, "application/json");`,
      'var response = await client.SendAsync(request);',
      'var text = await response.Content.ReadAsStringAsync();',
      'if (!response.IsSuccessStatusCode) throw new Exception(text);',
      'Console.WriteLine(text);',
    ];
    return lines([
      'using System;',
      'using System.Net.Http;',
      body !== null && 'using System.Text;',
      'using System.Threading.Tasks;',
      '',
      'class Example',
      '{',
      '    public static async Task Main()',
      '    {',
      '        using (var client = new HttpClient())',
      `        using (var request = new HttpRequestMessage(new HttpMethod("${method}"),`,
      `            "${url}"))`,
      '        {',
      indented(steps, MARGIN),
      '        }',
      '    }',
      '}',
    ]);
  },
};
