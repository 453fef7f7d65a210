import { KEY_PLACEHOLDER } from '../highlight.ts';
import { jsonText } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

/** C# with its own library, for .NET, .NET Framework 4.8 and Mono. */
export const csharp: SampleLanguage = {
  id: 'csharp',
  label: 'C#',
  grammar: 'csharp',
  write: ({ method, url, body, isIdempotent }) => {
    const margin = ' '.repeat(12);
    const text = jsonText(body, margin).replaceAll('"', '""');
    const content = `            request.Content = new StringContent(@"${text}", Encoding.UTF8, "application/json");\n`;
    const key = `            request.Headers.Add("Idempotency-Key", Guid.NewGuid().ToString());\n`;
    return `using System;
using System.Net.Http;
${body === null ? '' : 'using System.Text;\n'}using System.Threading.Tasks;

class Example
{
    static async Task Main()
    {
        using (var client = new HttpClient())
        using (var request = new HttpRequestMessage(new HttpMethod("${method}"),
            "${url}"))
        {
            request.Headers.Add("Authorization", "Bearer ${KEY_PLACEHOLDER}");
${isIdempotent ? key : ''}${body === null ? '' : content}            var response = await client.SendAsync(request);
            var text = await response.Content.ReadAsStringAsync();
            if (!response.IsSuccessStatusCode) throw new Exception(text);
            Console.WriteLine(text);
        }
    }
}
`;
  },
};
