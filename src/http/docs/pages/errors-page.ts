/**
 * The page of all problem codes. The `type` of a problem links to the element whose id is the code,
 * so these ids must stay.
 */
import { PROBLEMS, type ProblemCode } from '../../../core/problem.ts';
import type { Language } from '../../../core/language.ts';
import { block, heading, type Block } from '../block.ts';
import { guidePage } from '../guides.ts';
import { html, withCode, type Html } from '../html.ts';
import { tableHtml } from '../markdown.ts';
import type { Page, Site } from '../page.ts';

export function errorsPage(site: Site): Page {
  const guide = {
    path: '/docs/errors',
    file: 'errors.md',
    title: 'Errors',
    description: 'How errors look, and every code with its cause and what to do.',
  };
  return guidePage(site, guide, () => {
    const codes = Object.keys(PROBLEMS) as ProblemCode[];
    return [heading(2, 'All codes', 'all-codes'), overview(codes), ...codes.map(describeProblem)];
  });
}

function overview(codes: readonly ProblemCode[]): Block {
  return block(
    () =>
      tableHtml(
        html`<tr>
          <th scope="col">Status</th>
          <th scope="col">Code</th>
          <th scope="col">Title</th>
        </tr>`,
        codes.map(
          (code) =>
            html`<tr>
              <td class="status">${PROBLEMS[code].status}</td>
              <td>
                <a href="#${code}"><code>${code}</code></a>
              </td>
              <td>${PROBLEMS[code].title.en}</td>
            </tr>`,
        ),
      ),
    '',
  );
}

const LABELS: Record<Language, { readonly cause: string; readonly remedy: string }> = {
  en: { cause: 'Cause', remedy: 'What to do' },
  de: { cause: 'Ursache', remedy: 'Abhilfe' },
};

function describeProblem(code: ProblemCode): Block {
  const { status, title, cause, remedy } = PROBLEMS[code];
  return {
    render: () =>
      html`<section class="problem" id="${code}">
        <h3>
          <a href="#${code}"><code>${code}</code></a> <span class="status">${status}</span>
        </h3>
        <div class="languages">${inLanguage(code, 'en')} ${inLanguage(code, 'de')}</div>
      </section> `,
    markdown: [
      `### ${code}`,
      `Status ${status}, “${title.en}” (German: „${title.de}“).`,
      `- Cause: ${cause.en}`,
      `- What to do: ${remedy.en}`,
    ].join('\n\n'),
    headings: [{ level: 3, id: code, text: code }],
  };
}

function inLanguage(code: ProblemCode, language: Language): Html {
  const { title, cause, remedy } = PROBLEMS[code];
  const labels = LABELS[language];
  return html`<div lang="${language}">
    <p class="title">${title[language]}</p>
    <dl>
      <dt>${labels.cause}</dt>
      <dd>${withCode(cause[language])}</dd>
      <dt>${labels.remedy}</dt>
      <dd>${withCode(remedy[language])}</dd>
    </dl>
  </div> `;
}
