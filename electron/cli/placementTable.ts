import { formatBytes } from '../planner/formatBytes.ts';
import type { PlacedStage } from '../planner/placedStage.ts';
import { textTable } from './textTable.ts';

/** Where the layers of a pipeline lie, for a terminal. */
export function placementTable(placement: readonly PlacedStage[]): string {
  const rows = placement.map(({ member, startLayer, endLayer, bytes }, index) => [
    member,
    endLayer - startLayer === 1 ? `${startLayer}` : `${startLayer} to ${endLayer - 1}`,
    formatBytes(bytes),
    index === 0 ? '' : '1',
  ]);
  const bytes = placement.reduce((sum, stage) => sum + stage.bytes, 0);
  const layers = placement.reduce((sum, stage) => sum + stage.endLayer - stage.startLayer, 0);
  return textTable(
    ['member', 'layers', 'bytes', 'hops'],
    [...rows, ['together', `${layers}`, formatBytes(bytes), `${placement.length - 1}`]],
  );
}
