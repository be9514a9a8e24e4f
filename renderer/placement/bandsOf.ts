import type { PlacedStage } from '../../electron/planner/placedStage.ts';
import { PALETTE_SIZE } from '../planner/graph/palette.ts';

export interface Band {
  member: string;
  layers: number;
  startLayer: number;
  /** Inclusive, as people count. */
  lastLayer: number;
  bytes: number;
  /** Where the band begins and how wide it is, as fractions of the whole model's bytes. */
  offset: number;
  width: number;
  /** Index into the palette. */
  color: number;
}

/** The stages as bands that follow each other, each as wide as its share of the bytes. */
export function bandsOf(placement: readonly PlacedStage[]): Band[] {
  const total = placement.reduce((sum, stage) => sum + stage.bytes, 0);
  const share = (bytes: number) => (total === 0 ? 1 / placement.length : bytes / total);
  let offset = 0;
  return placement.map((stage, index) => {
    const band: Band = {
      member: stage.member,
      layers: stage.endLayer - stage.startLayer,
      startLayer: stage.startLayer,
      lastLayer: stage.endLayer - 1,
      bytes: stage.bytes,
      offset,
      width: share(stage.bytes),
      color: index % PALETTE_SIZE,
    };
    offset += band.width;
    return band;
  });
}
