/** The errors of the Python client: a class for each code that the document names. */
import type { oas31 } from 'zod-openapi';
import { PROBLEMS, type ProblemCode } from '../../src/core/problem.ts';
import { docstring, literal, schemasOf, toClassName } from './schema.ts';

/** Returns the text of errors.py. */
export function errorsModule(document: oas31.OpenAPIObject): string {
  const codes = schemasOf(document)['Problem']?.properties?.['code']?.anyOf?.[0]?.enum ?? [];
  if (codes.length === 0) throw new Error('The document names no codes.');
  const classes = (codes as readonly ProblemCode[]).map((code) => {
    const { status, title, cause, remedy } = PROBLEMS[code];
    const about = [`\`${code}\` (${status}): ${title.en}.`, cause.en, remedy.en];
    return {
      name: classNameOf(code),
      entry: `    ${literal(code)}: ${classNameOf(code)},\n`,
      text: `class ${classNameOf(code)}(ApiError):\n${docstring(about, '    ')}`,
    };
  });
  const names = classes.map(({ name }) => `    ${literal(name)},\n`).toSorted();
  return `"""Why the API refuses a call: a class for each code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._errors import ApiError

__all__ = [
${names.join('')}]


${classes.map(({ text }) => text).join('\n\n')}

_BY_CODE: dict[str, type[ApiError]] = {
${classes.map(({ entry }) => entry).join('')}}


def error_of(problem: Mapping[str, Any]) -> ApiError:
    """Makes the error of a problem. An unknown code makes an ApiError."""
    return _BY_CODE.get(problem["code"], ApiError)(problem)
`;
}

function classNameOf(code: string): string {
  const name = toClassName(code);
  return name.endsWith('Error') ? name : `${name}Error`;
}
