import type { RejectionReason } from '../admit/gates.ts';
import { formatBytes } from '../formatBytes.ts';

/** Why a member holds no layer, for people, as the rest of a sentence. */
export function reasonText(reason: RejectionReason): string {
  switch (reason.kind) {
    case 'Excluded':
      return 'you chose others';
    case 'Paused':
      return 'sharing is paused there';
    case 'Stale':
      return 'it has not been heard of lately';
    case 'BuildMismatch':
      return `it runs llama.cpp ${reason.found}, the pool runs ${reason.expected}`;
    case 'NotDataPlaneReachable':
      return reason.reachability === 'RelayOnly'
        ? 'it is reached only through a relay, and activations need a direct connection'
        : 'no direct connection leads there and back, and activations need one';
    case 'InsufficientMemory':
      return `it shares ${formatBytes(reason.offered)}, and even the smallest part needs ${formatBytes(reason.needed)}`;
    case 'TooManyMembers':
      return `the model can be cut into ${reason.parts} parts, too few for ${reason.members} members`;
  }
}
