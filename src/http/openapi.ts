export function openApiDocument(publicUrl: string): object {
  return { openapi: '3.1.0', info: { title: 'Team Customer API', version: '1' }, servers: [{ url: publicUrl }], paths: {} };
}
