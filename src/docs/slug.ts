/** `What a 409 means` → `what-a-409-means`, for ids and addresses. */
export function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/&#?\w+;/g, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '');
}
