import { shortId } from './holderPeers.ts';
import { SliceError } from './sliceError.ts';

/** What a member says that a tensor should be. */
export interface HashClaim {
  member: string;
  sha256: string;
  /** Made when the file was imported, or when the tensor was received; else made from what lies on the disk now. */
  recorded: boolean;
}

export type ClaimVerdict =
  | { kind: 'Agrees' }
  /** The first that is known. */
  | { kind: 'New' }
  /** The member of the claim, or of the one before, has a damaged tensor; `expected` may have changed. */
  | { kind: 'Damaged'; member: string };

/**
 * What each tensor should hash to. The first claim counts. Claims of two members must agree; where they do not, what was
 * recorded outweighs what was made from a disk now, for the disk may have changed since. Equals that differ make the model
 * another one on one of them, and nobody can say where: that is an error, not a choice.
 */
export class ExpectedHashes {
  readonly #claims = new Map<string, HashClaim>();
  readonly #nameOf: (member: string) => string;

  /** `nameOf`: what people call a member. */
  constructor(nameOf: (member: string) => string = shortId) {
    this.#nameOf = nameOf;
  }

  get(tensor: string): string | undefined {
    return this.#claims.get(tensor)?.sha256;
  }

  /** Throws SliceError('HoldersDisagree'). */
  claim(tensor: string, claim: HashClaim): ClaimVerdict {
    const known = this.#claims.get(tensor);
    if (known === undefined) {
      this.#claims.set(tensor, claim);
      return { kind: 'New' };
    }
    if (known.sha256 === claim.sha256) {
      if (claim.recorded && !known.recorded) this.#claims.set(tensor, claim);
      return { kind: 'Agrees' };
    }
    if (known.recorded && !claim.recorded) return { kind: 'Damaged', member: claim.member };
    if (claim.recorded && !known.recorded) {
      this.#claims.set(tensor, claim);
      return { kind: 'Damaged', member: known.member };
    }
    throw new SliceError(
      'HoldersDisagree',
      `${tensor} is not the same on ${this.#nameOf(known.member)} and ${this.#nameOf(claim.member)}: verify the model on both, and import it again where it is damaged.`,
    );
  }
}
