import { urlencoded } from 'express';
import { overLimit, ProblemError } from '../../core/problem.ts';
import type { AppExchange } from './admission.ts';

/** A token has less than a kilobyte, and a path of the page not much more. */
const FORM_MAX = '16kb';
const FORM_MAX_FIELDS = 10;

const parseForm = urlencoded({
  extended: false,
  limit: FORM_MAX,
  parameterLimit: FORM_MAX_FIELDS,
});

/** Returns the fields of a form. Throws `bad_request` for what is no form. */
export async function readForm({
  options,
  request,
  response,
}: AppExchange): Promise<Record<string, unknown>> {
  const error = await new Promise<unknown>((done) => parseForm(request, response, done));
  if (error === undefined) return (request.body ?? {}) as Record<string, unknown>;
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 500;
  if (status >= 500) throw new Error('the form was not read', { cause: error });
  const problem = new ProblemError('bad_request', { status, detail: 'The form cannot be read.' });
  if (status !== 413) throw problem;
  options.observeRefusal('body_size', null);
  throw overLimit('body_size', problem);
}
