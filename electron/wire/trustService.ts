import type { SignedEntry } from './generated/roomful/v1/roster.ts';
import { type Presence, type SealedAuthority, type TrustServer, TrustService } from './generated/roomful/v1/trust.ts';
import { unaryHandler } from './unaryHandler.ts';
import type { ServedService } from './wireServer.ts';

/** What a member answers to questions of trust. What these throw reaches the caller as CallRefused with its `kind`. */
export interface TrustHandlers {
  /** Takes what `peer` knows, answers what it may know. The only one that a certificate alone lets in. */
  syncRoster(entries: SignedEntry[], peer: string): Promise<SignedEntry[]>;
  /** PEM. */
  renew(peer: string, hosts: readonly string[]): Promise<string>;
  rename(name: string, peer: string): Promise<void>;
  leave(peer: string): Promise<void>;
  takeAuthority(sealed: SealedAuthority, peer: string): Promise<void>;
  meet(presence: Presence, peer: string): Promise<Presence>;
  /** PEM. */
  rekey(certificateRequest: Uint8Array, peer: string): Promise<string>;
  /** Whether a member is in the pool, as far as this one knows. */
  admits(peer: string): boolean;
}

/** The Trust service of a member. */
export function trustService(handlers: TrustHandlers): ServedService {
  const implementation: TrustServer = {
    syncRoster: unaryHandler(async ({ entries }, peer) => ({ entries: await handlers.syncRoster(entries, peer) })),
    renew: unaryHandler(async ({ hosts }, peer) => ({ certificate: await handlers.renew(peer, hosts) })),
    rename: unaryHandler(async ({ name }, peer) => {
      await handlers.rename(name, peer);
      return {};
    }),
    leave: unaryHandler(async (_request, peer) => {
      await handlers.leave(peer);
      return {};
    }),
    takeAuthority: unaryHandler(async (sealed, peer) => {
      await handlers.takeAuthority(sealed, peer);
      return {};
    }),
    meet: unaryHandler((presence, peer) => handlers.meet(presence, peer)),
    rekey: unaryHandler(async ({ certificateRequest }, peer) => ({
      certificate: await handlers.rekey(certificateRequest, peer),
    })),
  };
  return {
    definition: TrustService,
    handlers: { ...implementation },
    admits: (member, path) => path === TrustService.syncRoster.path || handlers.admits(member),
  };
}
