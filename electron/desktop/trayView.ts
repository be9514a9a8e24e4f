import type { MemberState } from '../gateway/memberApi.ts';

export interface TrayView {
  icon: 'idle' | 'serving';
  /** The first line of the menu and the tooltip. */
  title: string;
}

/** What the tray says about the member. */
export function trayView({ pipelines }: MemberState): TrayView {
  const serving = pipelines.filter(({ state }) => state === 'serving');
  const [first, ...others] = serving;
  if (first === undefined) return { icon: 'idle', title: 'Roomful: no model is serving' };
  if (others.length > 0) return { icon: 'serving', title: `Roomful: serving ${serving.length} models` };
  const members = new Set(first.placement.map(({ member }) => member)).size;
  const where = members === 1 ? 'one member' : `${members} members`;
  return { icon: 'serving', title: `Roomful: serving ${first.modelId} on ${where}` };
}
