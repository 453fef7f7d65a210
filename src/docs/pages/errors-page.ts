/**
 * The page of all problem codes. The `type` of a problem links to the element whose id is the code,
 * so these ids must stay.
 */
import { PROBLEMS, type ProblemCode } from '../../core/problem.ts';
import type { Language } from '../../core/language.ts';
import { block, heading, type Block } from '../block.ts';
import { guideFileOf, guidePage } from '../guides.ts';
import { html, withCode, type Html } from '../html.ts';
import { tableHtml } from '../markdown.ts';
import type { Page, Site } from '../page.ts';
import { WORDS } from '../words.ts';

const PATH = '/docs/errors';

const ENGLISH = {
  title: 'Errors',
  description: 'How errors look, and every code with its cause and what to do.',
};

export function errorsPage(site: Site, texts = ENGLISH): Page {
  const guide = { ...texts, path: site.pathOf(PATH), file: guideFileOf(PATH) };
  const { language } = site;
  return guidePage(site, guide, () => {
    const codes = Object.keys(PROBLEMS) as ProblemCode[];
    return [
      heading(2, WORDS[language].allCodes, 'all-codes'),
      overview(codes, language),
      ...codes.map((code) => describeProblem(code, language)),
    ];
  });
}

function overview(codes: readonly ProblemCode[], language: Language): Block {
  const words = WORDS[language];
  return block(
    () =>
      tableHtml(
        html`<tr>
          <th scope="col">${words.status}</th>
          <th scope="col">${words.code}</th>
          <th scope="col">${words.title}</th>
        </tr>`,
        codes.map(
          (code) =>
            html`<tr>
              <td class="status">${PROBLEMS[code].status}</td>
              <td>
                <a href="#${code}"><code>${code}</code></a>
              </td>
              <td>${PROBLEMS[code].title[language]}</td>
            </tr>`,
        ),
      ),
    '',
  );
}

/** English readers see both languages: `title` is German unless they ask for English. */
function describeProblem(code: ProblemCode, language: Language): Block {
  const { status, title, cause, remedy } = PROBLEMS[code];
  const words = WORDS[language];
  const languages: readonly Language[] = language === 'en' ? ['en', 'de'] : ['de'];
  return {
    render: () =>
      html`<section class="problem" id="${code}">
        <h3>
          <a href="#${code}"><code>${code}</code></a> <span class="status">${status}</span>
        </h3>
        <div class="languages">${languages.map((one) => inLanguage(code, one))}</div>
      </section> `,
    markdown: ({ hasAllPages = false }) =>
      hasAllPages
        ? `- \`${code}\` (${status}): ${cause[language]} ${remedy[language]}`
        : [
            `### ${code}`,
            language === 'en'
              ? `Status ${status}, “${title.en}” (German: „${title.de}“).`
              : `Status ${status}, „${title.de}“.`,
            `- ${words.cause}: ${cause[language]}`,
            `- ${words.remedy}: ${remedy[language]}`,
          ].join('\n\n'),
    headings: [{ level: 3, id: code, text: code }],
  };
}

function inLanguage(code: ProblemCode, language: Language): Html {
  const { title, cause, remedy } = PROBLEMS[code];
  const words = WORDS[language];
  return html`<div lang="${language}">
    <p class="title">${title[language]}</p>
    <dl>
      <dt>${words.cause}</dt>
      <dd>${withCode(cause[language])}</dd>
      <dt>${words.remedy}</dt>
      <dd>${withCode(remedy[language])}</dd>
    </dl>
  </div> `;
}
