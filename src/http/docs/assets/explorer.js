// @ts-nocheck -- runs in the browser; the project's types are those of Node.
// Shows the published document with Swagger UI. Readers can try the operations on the service that
// served this page.
const explorer = document.getElementById('explorer');
const { document: documentUrl, server } = explorer.dataset;

start().catch((error) => {
  explorer.textContent = `The document could not be loaded: ${error.message}`;
});

async function start() {
  const response = await fetch(documentUrl);
  if (!response.ok) throw new Error(`${documentUrl} answered ${response.status}`);
  SwaggerUIBundle({
    domNode: explorer,
    spec: prepare(await response.json()),
    layout: 'BaseLayout',
    deepLinking: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    docExpansion: 'list',
    // A key must not outlive the page.
    persistAuthorization: false,
    validatorUrl: null,
  });
}

function prepare(spec) {
  // Use the origin of this page: the API has no CORS, and its public address may be another origin.
  spec.servers = [{ url: new URL(server, location.href).href }];
  // Swagger UI would show it as a link to another site.
  delete spec.info.license;
  spec.info.description = foldSections(spec.info.description);
  // Swagger UI sends examples as values: a made-up cursor would be refused, and a repeated
  // Idempotency-Key would replay an earlier response.
  const operations = Object.values(spec.paths).flatMap((path) => Object.values(path));
  const parameters = [
    ...Object.values(spec.components.parameters),
    ...operations.flatMap((operation) => operation.parameters ?? []),
  ];
  for (const parameter of parameters) if (!parameter.required) delete parameter.example;
  return spec;
}

/**
 * The introduction is long, so each section opens on demand. Swagger UI renders HTML within
 * Markdown and sanitizes it.
 */
function foldSections(markdown) {
  const [beginning, ...sections] = markdown.split(/^## /m);
  const folded = sections.map((section) => {
    const end = section.indexOf('\n');
    const [title, text] = [section.slice(0, end), section.slice(end)];
    return `<details><summary>${title}</summary>\n\n${text}\n\n</details>`;
  });
  return [beginning, ...folded].join('\n\n');
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followScheme);
followScheme();
