import { type ProcessEntry, processTree } from './processTree.ts';

/** The stage hosts of a member, by the id of its process: its own children, not those of members below it. */
export function stageHostsOf(member: number): ProcessEntry[] {
  return processTree(member).filter(({ parent, command }) => parent === member && command.includes('stageHost'));
}
