import type { Epoch } from './generated/roomful/v1/ring.ts';
import { CallRefused } from './wireError.ts';

/** Throws CallRefused('WrongMember') for an order that is given in the name of another coordinator. */
export function assertCoordinator({ coordinator }: Epoch, peer: string): void {
  if (coordinator !== peer)
    throw new CallRefused('WrongMember', `Member ${peer} gives orders in the name of ${coordinator}.`);
}
