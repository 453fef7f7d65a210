/**
 * How an output is protected while the team's `member_detail_enabled` is off. What is personal in
 * it is marked in its shape (`core/private-fields.ts`), so no work and no view reads the switch: a
 * declaration says what becomes of the marks, and one that says nothing does not load.
 */
import type { z } from 'zod';
import { requireMemberDetail, showsMemberDetail, type Privacy } from '../core/privacy.ts';
import { privateFieldsOf, withholderFor, type HasPersonal } from '../core/private-fields.ts';

/**
 *  * `refuse`: the call is refused with `privacy_restricted`. Only of a read: if the switch is
 *    turned off after the check, a change has been made by then.
 *  * `redact`: the personal fields are withheld.
 *  * `echoes`: the personal fields are withheld but for these paths. Only of a creation, whose
 *    request names the person. A change names an object, and its response would show whose it is.
 */
export type Protection = 'refuse' | 'redact' | { readonly echoes: readonly string[] };

/** The part of a declaration that says how its output is protected. */
export type ProtectionOf<O> =
  HasPersonal<O> extends true
    ? { readonly privacy: Protection }
    : { readonly privacy?: Protection };

export interface Protected {
  /** Throws `privacy_restricted` while a call is to be refused. Runs before the work. */
  readonly check: (privacy: Privacy) => void;
  /** Returns what may be shown of an output. */
  readonly show: (privacy: Privacy, output: unknown) => unknown;
}

interface Protectable {
  /** For the message of an error. */
  readonly name: string;
  readonly does: 'read' | 'create' | 'change';
  readonly output: z.ZodType;
  readonly privacy?: Protection;
}

/** Throws, while the module loads, if the output is not protected as its marks demand. */
export function protect(declaration: Protectable): Protected {
  refuseUnprotected(declaration);
  const { output: shape, privacy: protection } = declaration;
  return {
    check: (privacy) => {
      if (protection === 'refuse') requireMemberDetail(privacy);
    },
    show: showerFor(shape, echoesOf(protection)),
  };
}

/** The paths of the fields that are shown whatever the switch says. */
export function echoesOf(protection: Protection | undefined): readonly string[] {
  return typeof protection === 'object' ? protection.echoes : [];
}

/**
 * Returns what withholds the personal fields of a shape from those who may not see them, except
 * those with these paths.
 */
export function showerFor(shape: z.ZodType, except: readonly string[] = []): Protected['show'] {
  const withhold = withholderFor(shape, 'personal', except);
  return (privacy, output) => (withhold && !showsMemberDetail(privacy) ? withhold(output) : output);
}

function refuseUnprotected({ name, does, output, privacy }: Protectable): void {
  const fields = privateFieldsOf(output).filter(({ kind }) => kind === 'personal');
  const fault = (reason: string): never => {
    throw new Error(`${name} ${reason}`);
  };
  if (privacy === 'refuse') {
    if (does !== 'read') fault('is a change, which is made whatever it shows');
    return;
  }
  if (fields.length === 0) return privacy && fault('protects fields, but shows no personal ones');
  const all = fields.map(({ path }) => path);
  if (privacy === undefined)
    return fault(
      `shows personal fields (${all.join(', ')}) and needs privacy: 'refuse' or 'redact'`,
    );
  const echoes = echoesOf(privacy);
  if (does !== 'create' && echoes.length > 0)
    fault('is no creation, and echoes nothing: its request names no person');
  const idle = echoes.filter((path) => !all.includes(path));
  if (idle.length > 0) fault(`echoes ${idle.join(', ')}, which it would not withhold`);
  const open = fields.filter(({ path, canBeWithheld }) => !canBeWithheld && !echoes.includes(path));
  if (open.length > 0)
    fault(`cannot withhold ${open.map(({ path }) => path).join(', ')} and needs privacy: 'refuse'`);
}
