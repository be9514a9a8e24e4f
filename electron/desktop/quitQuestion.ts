import type { MemberState } from '../gateway/memberApi.ts';

/** What is asked before the app quits: only where layers on this machine serve somebody; null where nothing is lost. */
export function quitQuestion({ self, pipelines }: MemberState): { message: string; detail: string } | null {
  const here = pipelines.filter(
    ({ state, driver, placement }) =>
      (state === 'serving' || state === 'draining') &&
      (driver.id === self.id || placement.some(({ member }) => member === self.name)),
  );
  const models = [...new Set(here.map(({ modelId }) => modelId))];
  const [first] = models;
  if (first === undefined) return null;
  const others = new Set(here.flatMap(({ placement }) => placement.map(({ member }) => member)));
  others.delete(self.name);
  return {
    message: models.length === 1 ? `Quit and stop ${first}?` : `Quit and stop ${models.length} models?`,
    detail:
      others.size === 0
        ? 'It runs on this machine. Answers that are being written end.'
        : `It runs on this machine and on ${others.size === 1 ? 'another one' : `${others.size} others`}, and needs them all. Answers that are being written end, also for the others.`,
  };
}
