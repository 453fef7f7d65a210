import type { TeamPrisma } from './team-prisma.ts';

/**
 * Offers Prisma, which is made when somebody asks for it. The base of objects that each request
 * makes: V8 keeps a getter of an object literal in the old generation, and with it all that the
 * getter knows of its request, until the next major garbage collection.
 */
export class OffersPrisma {
  readonly #open: () => TeamPrisma;

  constructor(open: () => TeamPrisma) {
    this.#open = open;
  }

  get prisma(): TeamPrisma {
    return this.#open();
  }
}
